//! What proxies say about the client. Only those that the user trusts are believed, and only behind the
//! gate: anybody can send such headers.

use std::net::IpAddr;

use hyper::header::HeaderMap;

use super::visitor::{Access, Visitor};

/// Longest prefix of a path.
const MOST_PREFIX: usize = 256;

/// Addresses of proxies that are believed.
#[derive(Debug, Default)]
pub(crate) struct TrustedProxies {
    networks: Vec<(IpAddr, u8)>,
}

impl TrustedProxies {
    /// Reads addresses and networks such as `10.0.0.0/8`.
    pub(crate) fn parse(texts: &[&str], warnings: &mut Vec<String>) -> Self {
        let mut networks = Vec::new();
        for text in texts.iter().flat_map(|text| text.split(',')) {
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            match network(text) {
                Some(network) => networks.push(network),
                None => warnings.push(format!(
                    "dashboard.trusted_proxies has {}, which is neither an address nor a network",
                    hermes_text::shown(text, 80)
                )),
            }
        }
        Self { networks }
    }

    fn trust(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|(network, bits)| is_within(address, *network, *bits))
    }

    /// The client of a request that came from this peer.
    pub(crate) fn visitor(&self, peer: IpAddr, headers: &HeaderMap, is_gated: bool) -> Visitor {
        let mut visitor = Visitor {
            address: peer,
            is_https: false,
            prefix: String::new(),
            access: Access::Public,
        };
        if !is_gated || !self.trust(peer) {
            return visitor;
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        visitor.is_https = header("x-forwarded-proto").is_some_and(|scheme| {
            let first = scheme.split(',').next().unwrap_or_default();
            first.trim().eq_ignore_ascii_case("https")
        });
        let prefix = header("x-forwarded-prefix").and_then(usable_prefix);
        visitor.prefix = prefix.unwrap_or_default();
        // From the right: what stands before the last proxy's entry was sent by whoever it names.
        let entries = headers.get_all("x-forwarded-for").iter();
        let entries: Vec<&str> = entries
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .collect();
        for entry in entries.into_iter().rev() {
            let Ok(address) = entry.trim().trim_matches(['[', ']']).parse::<IpAddr>() else {
                break;
            };
            visitor.address = address.to_canonical();
            if !self.trust(visitor.address) {
                break;
            }
        }
        visitor
    }
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address = address.parse::<IpAddr>().ok()?.to_canonical();
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
    (bits <= most).then_some((address, bits))
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shared = |left: u128, right: u128, width: u8| {
        let dropped = u32::from(width - bits);
        left.checked_shr(dropped) == right.checked_shr(dropped)
    };
    match (address, network) {
        (IpAddr::V4(left), IpAddr::V4(right)) => {
            shared(u32::from(left).into(), u32::from(right).into(), 32)
        }
        (IpAddr::V6(left), IpAddr::V6(right)) => shared(left.into(), right.into(), 128),
        _ => false,
    }
}

/// A prefix of paths that can stand in a page as it is.
fn usable_prefix(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    let is_usable = text.len() <= MOST_PREFIX
        && text.starts_with('/')
        && !text.contains("//")
        && !text.contains("..")
        && text
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || b"/-._~".contains(&letter));
    is_usable.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use pretty_assertions::assert_eq;

    fn headers(entries: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in entries {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn strangers_cannot_say_who_they_are() {
        let proxies = TrustedProxies::parse(&["10.0.0.0/8"], &mut Vec::new());
        let forged = headers(&[
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
        ]);
        let stranger: IpAddr = "192.0.2.1".parse().unwrap();
        let seen = proxies.visitor(stranger, &forged, true);
        assert_eq!((seen.address, seen.is_https), (stranger, false));
        let proxy: IpAddr = "10.1.2.3".parse().unwrap();
        assert_eq!(proxies.visitor(proxy, &forged, false).address, proxy);
        let seen = proxies.visitor(proxy, &forged, true);
        assert_eq!(seen.address.to_string(), "1.2.3.4");
        assert!(seen.is_https);
    }

    #[test]
    fn the_client_is_the_last_that_no_trusted_proxy_named() {
        let proxies = TrustedProxies::parse(&["10.0.0.0/8"], &mut Vec::new());
        let chain = headers(&[("x-forwarded-for", "6.6.6.6, 1.2.3.4, 10.9.9.9")]);
        let seen = proxies.visitor("10.1.2.3".parse().unwrap(), &chain, true);
        assert_eq!(seen.address.to_string(), "1.2.3.4");
    }

    #[test]
    fn prefixes_cannot_break_out_of_a_page() {
        assert_eq!(usable_prefix("/hermes/").as_deref(), Some("/hermes"));
        for wrong in [
            "hermes", "//evil", "/a//b", "/..", "/a\"b", "/a b", "/<x>", "/a'",
        ] {
            assert_eq!(usable_prefix(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn unusable_entries_are_told() {
        let mut warnings = Vec::new();
        TrustedProxies::parse(&["10.0.0.0/33", "proxy.local", "::1"], &mut warnings);
        assert_eq!(warnings.len(), 2);
    }
}
