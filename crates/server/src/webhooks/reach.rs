//! Where webhooks may go. Whoever may subscribe could otherwise make the server call what only the server can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use hyper::Uri;
use ipnet::{AddrParseError, IpNet};
use tenure_core::{Refusal, codes};

/// Networks that are not the public internet: this host, private and shared ones, documentation, tests, multicast, reserved.
const NOT_PUBLIC: [&str; 15] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// Which addresses webhooks may be sent to.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Networks that are allowed though they are not public; plain HTTP goes nowhere else.
    allowed: Arc<[IpNet]>,
}

impl Reach {
    /// Public addresses over TLS, and these networks.
    pub fn new(allowed: Vec<IpNet>) -> Reach {
        Reach {
            allowed: allowed.into(),
        }
    }

    /// This machine, over plain HTTP too: for development.
    pub fn this_machine() -> Reach {
        let networks = ["127.0.0.0/8", "::1/128"];
        Reach::new(networks.iter().filter_map(|text| text.parse().ok()).collect())
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allowed.iter().any(|network| network.contains(&address))
    }

    /// Whether somebody may be called there.
    pub(super) fn permits(&self, address: IpAddr, secure: bool) -> bool {
        self.is_allowed(address) || (secure && is_public(address))
    }

    /// Refuses a URL that [`Sender`](super::send::Sender) would never call, as far as that is known without looking a name up.
    pub fn check(&self, text: &str) -> Result<(), Refusal> {
        let invalid = |why: String| {
            let what = format!("The url {text:?} cannot be sent to.");
            let next = "Write a host with other letters as DNS does (xn--…, punycode), and a space as %20.";
            Err(Refusal::new(codes::TEXT_INVALID, what, why, next))
        };
        let url: Uri = match text.parse() {
            Ok(url) => url,
            Err(error) => return invalid(format!("It cannot be read: {error}.")),
        };
        let secure = match url.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return invalid("It does not begin with https:// or http://.".to_owned()),
        };
        if url
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return invalid("It names a user, and deliveries are signed instead.".to_owned());
        }
        if url.port_u16() == Some(0) {
            return invalid("Its port is 0.".to_owned());
        }
        let host = url
            .host()
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_ascii_lowercase();
        let permitted = match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => self.permits(address, secure),
            Err(_) if host == "localhost" || host.ends_with(".localhost") => {
                self.permits(Ipv4Addr::LOCALHOST.into(), secure) || self.permits(Ipv6Addr::LOCALHOST.into(), secure)
            }
            // 2130706433 and 0x7f.1 are addresses too, in forms that hide which.
            Err(_) if ends_in_number(&host) => {
                return invalid(format!(
                    "{host} is an address that is not written as four decimal numbers."
                ));
            }
            // Without TLS only allowed networks are called.
            Err(_) => secure || !self.allowed.is_empty(),
        };
        match permitted {
            true => Ok(()),
            false => Err(Refusal::new(
                codes::NOT_PERMITTED,
                format!("The url {text:?} may not be called by this server."),
                "Its address is not public, or would be called without TLS.",
                "Use https:// and a public address, or ask who runs the server to allow the network (webhook_allow).",
            )),
        }
    }
}

impl FromStr for Reach {
    type Err = AddrParseError;

    /// Networks, with commas between.
    fn from_str(text: &str) -> Result<Reach, AddrParseError> {
        let networks = text.split(',').map(str::trim).filter(|network| !network.is_empty());
        Ok(Reach::new(networks.map(str::parse).collect::<Result<_, _>>()?))
    }
}

/// Said of an address that may not be called.
pub(super) const NOT_PERMITTED: &str =
    "the address is not public, or would be called without TLS; whoever runs the server may allow its network";

/// Whether a host is read as an address by what looks names up: no name ends in a number.
fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    last.starts_with("0x") || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => is_public_four(four),
        IpAddr::V6(six) => is_public_six(six),
    }
}

fn is_public_four(address: Ipv4Addr) -> bool {
    let networks = NOT_PUBLIC.iter().filter_map(|text| text.parse::<IpNet>().ok());
    !networks
        .into_iter()
        .any(|network| network.contains(&IpAddr::V4(address)))
}

/// Global unicast (2000::/3), but for documentation and for what carries an address of version 4 inside.
fn is_public_six(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let (documentation, teredo, six_to_four) = (second == 0x0db8, second == 0, first == 0x2002);
    (0x2000..0x4000).contains(&first) && !six_to_four && !(first == 0x2001 && (documentation || teredo))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn every_network_of_the_list_can_be_read() {
        for text in NOT_PUBLIC {
            assert!(text.parse::<IpNet>().is_ok(), "{text}");
        }
    }

    #[test]
    fn a_host_in_other_letters_and_a_space_are_refused_with_how_to_write_them() {
        for text in ["https://bücher.example/in", "https://example.org/a b"] {
            let refusal = Reach::default().check(text).expect_err("no such URL");
            assert!(refusal.is(codes::TEXT_INVALID), "{refusal}");
            assert!(
                refusal.next.contains("punycode") && refusal.next.contains("%20"),
                "{refusal}"
            );
        }
        for text in ["https://xn--bcher-kva.example/in", "https://example.org/a%20b"] {
            Reach::default().check(text).expect("a URL");
        }
    }

    #[test]
    fn only_public_addresses_are_called_unless_their_network_is_allowed() {
        let reach = Reach::default();
        for text in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111"] {
            assert!(reach.permits(address(text), true), "{text}");
            assert!(!reach.permits(address(text), false), "{text} without TLS");
        }
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "203.0.113.5",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "2001::1",
        ] {
            assert!(!reach.permits(address(text), true), "{text}");
        }
        let allowed = Reach::new(vec![
            "10.0.0.0/8".parse().expect("a network"),
            "::1/128".parse().expect("a network"),
        ]);
        assert!(allowed.permits(address("10.1.2.3"), false) && allowed.permits(address("::ffff:10.1.2.3"), true));
        assert!(allowed.permits(address("::1"), false));
        assert!(!allowed.permits(address("192.168.1.1"), true));
    }
}
