//! Owns which hosts are meant by a list of names, and which addresses are nobody's own. Must not know about
//! connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a name can be on the list: letters, digits and hyphens between dots, `*.` before it for all below.
pub(in crate::sandbox) fn check(name: &str) -> Result<(), String> {
    let plain = name.strip_prefix("*.").unwrap_or(name);
    match is_host(plain) {
        true => Ok(()),
        false => Err(format!("`{name}` is no name of a host; write `example.com` or `*.example.com`")),
    }
}

/// Whether this is the name of a host and no address, however it is written.
fn is_host(name: &str) -> bool {
    let label = |label: &str| {
        let inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && inside && !label.starts_with('-') && !label.ends_with('-')
    };
    // Systems take 0x7f.1, 127.1 and 2130706433 for addresses; no name ends in a number.
    let last = name.rsplit('.').next().unwrap_or(name);
    let number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
    name.len() <= 253 && name.split('.').all(label) && !number
}

/// Whether a host is on the list. Letter case and a dot at the end mean nothing.
pub(super) fn allows(list: &[String], host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    is_host(&host)
        && list.iter().map(|entry| entry.to_ascii_lowercase()).any(|entry| match entry.strip_prefix("*.") {
            Some(above) => host.strip_suffix(above).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            None => host == entry,
        })
}

/// Whether an address is in the network of everybody: neither this machine, nor its neighbours, nor a
/// purpose of its own. See the registries of special addresses, RFC 6890.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let own = address.is_private() || address.is_loopback() || address.is_link_local() || address.is_broadcast();
    let special = a == 0 // this network
        || a >= 224 // many at once, and reserved
        || (a, b) == (100, 64 | b & 0x3f) // shared by a provider
        || (a, b, c) == (192, 0, 0)
        || (a, b & 0xfe) == (198, 18) // benchmarks
        || address.is_documentation();
    !own && !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // What carries an address of the older kind is as public as that.
    let carried = match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    };
    if let Some(carried) = carried {
        return is_public_v4(carried);
    }
    // Of the rest, only this part has been given out; some of it for a purpose.
    let given = segments[0] & 0xe000 == 0x2000;
    let special = segments[0] == 0x2001 && (segments[1] < 0x200 || segments[1] == 0xdb8);
    given && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_hyphens() {
        for name in ["example.com", "*.example.com", "a-b.C9.io", "localhost", "xn--fsq.com"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let long = format!("{}.com", "a".repeat(64));
        for name in [
            "",
            "*",
            "*.",
            "a..b",
            ".a",
            "-a.com",
            "a-.com",
            "a_b.com",
            "a b",
            "a%00.com",
            "a.com\0.b",
            "exämple.com",
            "1.2.3.4",
            "127.1",
            "0x7f.0x1",
            "2130706433",
            "a.0x7f",
            "[::1]",
            "::1",
            "a.com:80",
            "*.*.com",
            "a.*.com",
            &long,
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_star_means_what_is_below() {
        let list = ["example.com".to_owned(), "*.Example.org".to_owned()];
        for (host, expected) in [
            ("example.com", true),
            ("EXAMPLE.com.", true),
            ("a.example.com", false),
            ("badexample.com", false),
            ("example.org", false),
            ("a.example.org", true),
            ("a.b.example.org", true),
            (".example.org", false),
            ("badexample.org", false),
            ("example.com.evil.net", false),
        ] {
            assert_eq!(allows(&list, host), expected, "{host}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_its_neighbours_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.0.1",
            "198.19.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "::127.0.0.1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in
            ["1.1.1.1", "100.63.0.1", "100.128.0.1", "198.20.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "2001:4860::8"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
