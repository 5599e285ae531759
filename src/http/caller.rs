//! Who is calling, as every handler sees it. The accounts slice finds it out.

use std::fmt;
use std::net::IpAddr;

use crate::ids::{SessionId, UserId};

/// Who is calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A signed-in user.
    User(User),
    /// A visitor.
    Anonymous {
        /// From the signed token, or minted for this request.
        session: SessionId,
        /// Their IPv4 address or IPv6 /64, for the limits that a dropped cookie must not reset.
        network: Network,
        /// The token to hand out, when this request minted the session.
        minted: Option<String>,
    },
}

/// A signed-in user. As an extractor it answers 401 to everybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User(pub UserId);

impl Caller {
    /// The owner of this caller's rows: `user:<id>` or `anonymous:<session>`.
    pub fn owner(&self) -> String {
        match self {
            Self::User(User(id)) => format!("user:{id}"),
            Self::Anonymous { session, .. } => format!("anonymous:{session}"),
        }
    }

    /// The user's id, if it is one.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(User(id)) => Some(id),
            Self::Anonymous { .. } => None,
        }
    }
}

/// An IPv4 address, or the /64 of an IPv6 address: what one household or host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// The network of a client address; `::ffff:1.2.3.4` is `1.2.3.4`.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(v4.into()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Self(IpAddr::V6([a, b, c, d, 0, 0, 0, 0].into()))
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => write!(f, "{v4}"),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_a_64() {
        let network = |text: &str| Network::of(text.parse().unwrap()).to_string();
        assert_eq!(network("203.0.113.9"), "203.0.113.9");
        assert_eq!(network("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    }
}
