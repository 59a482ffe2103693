//! Owns which system calls a command does not get: those that reach around mounts and namespaces. Must not
//! know which layer it stands beside.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::spec::Sockets;

/// Never given.
const REFUSED: &[c_long] = &[
    // Looking into and steering other processes, such as the helper.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Programs and watches in the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Keys, which no namespace separates.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Another view of files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    // The whole machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
];

/// Said not to exist, so that programs do without. `clone3` takes its flags from memory, where no filter
/// can look; the rings make sockets that no filter sees.
const ABSENT: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// CLONE_NEWTIME shares its bit with the signal of `clone`, and is for `unshare` alone.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
const CLONE_NEWTIME: u64 = 0x80;
/// Typing into the terminal of another.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// The bits of a socket's type that are the type.
const SOCK_TYPE: u64 = 0xf;
/// Set in the numbers of calls of another convention of the same architecture (x32), which the rules do
/// not speak of.
const FOREIGN: u32 = 0x4000_0000;

/// The filters, each to be applied, in this order.
pub(super) fn filters(sockets: Sockets) -> Result<[BpfProgram; 2], String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|fault| fault.to_string())?;
    let build = |rules, errno: i32| {
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
        let program = filter.and_then(BpfProgram::try_from);
        program.map_err(|fault| fault.to_string())
    };
    let absent = build(ABSENT.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)?;
    let refused = build(rules(sockets).map_err(|fault| fault.to_string())?, libc::EPERM)?;
    Ok([absent, without_foreign(refused)])
}

fn rules(sockets: Sockets) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let condition = |argument, operator, value| SeccompCondition::new(argument, Dword, operator, value);
    let flag = |bit: u64| SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(bit), bit)?]);
    let namespaces = || NAMESPACES.iter().map(|bit| flag(u64::from(bit.unsigned_abs())));
    rules.insert(libc::SYS_clone, namespaces().collect::<Result<_, _>>()?);
    let unshare = namespaces().chain([flag(CLONE_NEWTIME)]);
    rules.insert(libc::SYS_unshare, unshare.collect::<Result<_, _>>()?);
    let typing = [TIOCSTI, TIOCLINUX].map(|call| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, call)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);

    // What is not on the short list of families is refused: Unix sockets reach services on this machine,
    // and the others reach the kernel.
    let internet = [libc::AF_INET, libc::AF_INET6].into_iter().filter(|_| sockets.internet);
    let unix = [libc::AF_UNIX].into_iter().filter(|_| sockets.unix);
    let other = internet.chain(unix).map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    let other = other.collect::<Result<Vec<_>, _>>()?;
    let socket = if other.is_empty() { Vec::new() } else { vec![SeccompRule::new(other)?] };
    rules.insert(libc::SYS_socket, socket);
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut pairs = vec![SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, unix)?])?];
    if !sockets.unix {
        // One end of such a pair can be pointed at any socket.
        let datagram = u64::from(libc::SOCK_DGRAM.unsigned_abs());
        pairs.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(SOCK_TYPE), datagram)?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    Ok(rules)
}

/// The same, with calls of the other convention refused before anything else. Jumps are relative, so
/// what is put in front changes nothing behind it.
fn without_foreign(filter: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_GE: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let mut whole = vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_GE, jt: 0, jf: 1, k: FOREIGN },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse },
    ];
    whole.extend(filter);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_sockets_is_a_valid_filter() {
        for internet in [true, false] {
            for unix in [true, false] {
                let [absent, refused] = filters(Sockets { internet, unix }).unwrap();
                assert!(absent.len() > 4 && refused.len() > 40 && refused.len() < 4_096);
            }
        }
    }

    #[test]
    fn foreign_calls_are_refused_first() {
        let [_, filter] = filters(Sockets { internet: true, unix: false }).unwrap();
        let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
        assert_eq!(filter[1], sock_filter { code: 0x35, jt: 0, jf: 1, k: FOREIGN });
        assert_eq!(filter[2], sock_filter { code: 0x06, jt: 0, jf: 0, k: refuse });
    }
}
