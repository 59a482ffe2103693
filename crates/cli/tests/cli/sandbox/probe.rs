//! What is tried from inside a sandbox and needs system calls: this test binary is started there again, with
//! the name of one try in a variable.

#![allow(unsafe_code)]

use std::io::{Error, Write};
use std::mem::size_of;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// Says `probe: through` or `probe: refused` and why.
#[test]
#[ignore = "runs inside a sandbox, started by the tests beside it"]
fn probe() {
    let what = std::env::var("RSAGENT_PROBE").unwrap();
    let (name, argument) = what.split_once(' ').unwrap_or((&what, ""));
    let result = attempt(name, argument);
    let word = match &result {
        Ok(word) => format!("through {word}"),
        Err(fault) => format!("refused {fault}"),
    };
    println!("\nprobe: {word}");
    std::io::stdout().flush().unwrap();
}

fn attempt(name: &str, argument: &str) -> std::io::Result<String> {
    let port = || argument.parse::<u16>().unwrap();
    let done = |_: &()| String::new();
    match name {
        "tcp" => TcpStream::connect(("127.0.0.1", port())).map(|_| String::new()),
        "fast-open" => fast_open(port()).as_ref().map(done).map_err(copy),
        "udp" => UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", ("127.0.0.1", port())).map(|_| String::new()),
        "abstract" => {
            let address = SocketAddr::from_abstract_name(argument)?;
            UnixStream::connect_addr(&address).map(|_| String::new())
        }
        "unix" => UnixStream::connect(argument).map(|_| String::new()),
        "pair" => pointed_pair(argument).as_ref().map(done).map_err(copy),
        "stream-pair" => {
            let (mut one, other) = UnixStream::pair()?;
            one.write_all(b"x")?;
            drop(other);
            Ok(String::new())
        }
        "own-server" => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            TcpStream::connect(listener.local_addr()?).map(|_| String::new())
        }
        // SAFETY (all below): calls with numbers alone, or with pointers to values that outlive them.
        "netlink" => call(unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0) }),
        "packet" => call(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0) }),
        "vsock" => family(libc::AF_VSOCK),
        "rings" => rings(),
        "user-namespace" => namespaces(libc::CLONE_NEWUSER),
        "mount-namespace" => namespaces(libc::CLONE_NEWUSER | libc::CLONE_NEWNS),
        "ptrace" => trace(),
        "keys" => {
            let number = unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) };
            call(if number < 0 { -1 } else { 0 })
        }
        "typing" => typing(),
        "threads" => Ok(threads(argument.parse().unwrap()).to_string()),
        "allocate" => {
            let file = std::fs::File::create(argument)?;
            let length = 2 << 30;
            let fault = unsafe { libc::posix_fallocate(std::os::fd::AsRawFd::as_raw_fd(&file), 0, length) };
            if fault == 0 { Ok(String::new()) } else { Err(Error::from_raw_os_error(fault)) }
        }
        other => panic!("no probe {other}"),
    }
}

fn copy(fault: &Error) -> Error {
    Error::from_raw_os_error(fault.raw_os_error().unwrap_or(libc::EIO))
}

fn call(result: libc::c_int) -> std::io::Result<String> {
    if result == -1 { Err(Error::last_os_error()) } else { Ok(String::new()) }
}

/// Starts a process in namespaces of its own, which ends at once.
fn namespaces(flags: libc::c_int) -> std::io::Result<String> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: like fork; the child makes one call.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match child {
        -1 => Err(Error::last_os_error()),
        0 => unsafe { libc::_exit(0) },
        _ => Ok(String::new()),
    }
}

/// A machine without such sockets says so in other words than a sandbox.
fn family(family: libc::c_int) -> std::io::Result<String> {
    match call(unsafe { libc::socket(family, libc::SOCK_STREAM, 0) }) {
        Err(fault) if fault.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok("there are none".into()),
        other => other,
    }
}

fn fast_open(port: u16) -> std::io::Result<()> {
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
    call(socket)?;
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let sent = unsafe {
        libc::sendto(
            socket,
            b"x".as_ptr().cast(),
            1,
            libc::MSG_FASTOPEN,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_in>() as libc::socklen_t,
        )
    };
    if sent == 1 { Ok(()) } else { Err(Error::last_os_error()) }
}

fn pointed_pair(path: &str) -> std::io::Result<()> {
    let mut pair = [0; 2];
    call(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) })?;
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    call(unsafe { libc::connect(pair[0], (&raw const address).cast(), length) })?;
    let sent = unsafe { libc::send(pair[0], b"x".as_ptr().cast(), 1, 0) };
    if sent == 1 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Whether the call exists: it is given nothing, so it never succeeds.
fn rings() -> std::io::Result<String> {
    unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null::<u8>()) };
    match Error::last_os_error() {
        fault if fault.raw_os_error() == Some(libc::EFAULT) => Ok(String::new()),
        fault => Err(fault),
    }
}

/// Whether the call is made: nobody has the number of the process.
fn trace() -> std::io::Result<String> {
    unsafe { libc::ptrace(libc::PTRACE_ATTACH, i32::MAX, 0, 0) };
    match Error::last_os_error() {
        fault if fault.raw_os_error() == Some(libc::ESRCH) => Ok(String::new()),
        fault => Err(fault),
    }
}

/// Whether the call is made: what it is made on is no terminal.
fn typing() -> std::io::Result<String> {
    unsafe { libc::ioctl(0, libc::TIOCSTI, b"x".as_ptr()) };
    match Error::last_os_error() {
        fault if fault.raw_os_error() == Some(libc::ENOTTY) => Ok(String::new()),
        fault => Err(fault),
    }
}

/// How many of so many threads there can be at once.
fn threads(most: usize) -> usize {
    let (_hold, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    for number in 0..most {
        let wait = wait.clone();
        let started = std::thread::Builder::new().stack_size(16 * 1024).spawn(move || {
            let _ = wait.lock().unwrap().recv();
        });
        if started.is_err() {
            return number;
        }
    }
    most
}
