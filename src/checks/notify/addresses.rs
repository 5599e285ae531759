//! Which addresses a notification may be sent to. Pure: the resolver and the sender ask, for every connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::config::Allowed;

/// Who may be reached: everybody on the internet, nobody beside us; and what the operator lists.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allowed: Vec<Allowed>,
}

impl Policy {
    /// A policy with exceptions.
    pub fn new(allowed: Vec<Allowed>) -> Self {
        Self { allowed }
    }

    /// Whether a connection to `address` may be made.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_listed = |allowed: &Allowed| match allowed {
            Allowed::Network(network) => network.contains(&address),
            Allowed::Site { .. } => false,
        };
        is_public(address) || self.allowed.iter().any(is_listed)
    }

    /// Whether `host` (a name, or an address without brackets) is listed with this port, whatever it resolves to.
    pub fn names(&self, host: &str, port: u16) -> bool {
        // An address may be written in several ways, by the settings and by the URL's parser.
        let is_same = |listed: &str| match (listed.parse::<IpAddr>(), host.parse::<IpAddr>()) {
            (Ok(listed), Ok(asked)) => listed == asked,
            _ => listed.eq_ignore_ascii_case(host),
        };
        self.allowed.iter().any(|allowed| match allowed {
            Allowed::Site { host: listed, port: listed_port } => *listed_port == port && is_same(listed),
            Allowed::Network(_) => false,
        })
    }
}

/// Whether an address is one of the internet at large.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// What IANA's special-purpose registry does not call globally reachable is not public, nor is multicast.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        // This network; private; loopback; multicast, reserved and broadcast.
        [0 | 10 | 127 | 224..=255, ..]
        // Shared by carriers (CGNAT).
        | [100, 64..=127, ..]
        // Link-local, where clouds keep their metadata; Azure keeps it behind a public address.
        | [169, 254, ..] | [168, 63, 129, 16]
        // Private.
        | [172, 16..=31, ..] | [192, 168, ..]
        // Protocol assignments, documentation, 6to4's relays.
        | [192, 0, 0 | 2, _] | [192, 88, 99, _]
        // Benchmarks; documentation.
        | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _]
    )
}

/// Only 2000::/3 is given out. What carries an IPv4 address inside is as good as that address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64's well-known prefix, and 6to4. A network's own NAT64 (64:ff9b:1::/48) is private by its nature.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        // Protocol assignments (2001::/23), Teredo among them; documentation, the old and the new.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(policy: &Policy, address: &str) -> bool {
        policy.admits(address.parse().unwrap())
    }

    #[test]
    fn the_internet_is_reached() {
        let policy = Policy::default();
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "169.253.255.255",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(admits(&policy, address), "{address}");
        }
    }

    #[test]
    fn what_is_beside_us_is_not() {
        let policy = Policy::default();
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            // IPv4-compatible, mapped, and translated.
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            // 6to4 of 127.0.0.1, 10.0.0.1 and 192.168.0.1; Teredo.
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:c0a8:1::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!admits(&policy, address), "{address}");
        }
    }

    #[test]
    fn an_operator_may_list_networks_and_sites() {
        let network = |text: &str| Allowed::Network(text.parse().unwrap());
        let site = Allowed::Site { host: "hooks.internal".to_owned(), port: 8080 };
        let policy = Policy::new(vec![network("10.1.0.0/16"), network("fd00::/8"), site]);
        for (address, fits) in
            [("10.1.2.3", true), ("10.2.0.1", false), ("::ffff:10.1.2.3", true), ("fd12::1", true), ("::1", false)]
        {
            assert_eq!(admits(&policy, address), fits, "{address}");
        }
        assert!(policy.names("hooks.internal", 8080) && policy.names("HOOKS.internal", 8080));
        assert!(!policy.names("hooks.internal", 80) && !policy.names("internal", 8080));
    }
}
