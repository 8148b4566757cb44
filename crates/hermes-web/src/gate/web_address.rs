//! Addresses of the web, taken apart once.

/// `http://host:port/path` or the encrypted kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebAddress {
    is_https: bool,
    /// Host and port, as they stand in the address.
    authority: String,
    /// Empty, or `/path` without a slash at its end.
    path: String,
}

impl WebAddress {
    /// Reads an address without user, query and fragment.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let uri: hyper::Uri = text.trim().parse().ok()?;
        let is_https = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?.as_str();
        if uri.query().is_some() || authority.contains('@') || authority.starts_with(':') {
            return None;
        }
        Some(Self {
            is_https,
            authority: authority.to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The name of the host, in lower case, without brackets and port.
    pub(crate) fn host(&self) -> String {
        host_name(&self.authority).unwrap_or_default()
    }

    /// The address without a slash at its end.
    pub(crate) fn as_text(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// Whether nobody between here and there can read along.
    pub(crate) fn is_private(&self) -> bool {
        let host = self.host();
        let address = host.parse::<std::net::IpAddr>();
        self.is_https || host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// The name in a `Host` header or an authority, in lower case, without brackets and port; `None` if it
/// is none.
pub(crate) fn host_name(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, rest) = match text.strip_prefix('[') {
        Some(inner) => {
            let (name, rest) = inner.split_once(']')?;
            name.parse::<std::net::Ipv6Addr>().ok()?;
            (name, rest)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (
                name,
                text.strip_prefix(name).filter(|_| !port.contains(':'))?,
            ),
            None => (text, ""),
        },
    };
    let port = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(':')?),
    };
    let is_port = port.is_none_or(|port| port.bytes().all(|digit| digit.is_ascii_digit()));
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || b"-._:%".contains(&letter));
    (is_port && is_name).then(|| name.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn addresses_are_taken_apart() {
        let address = WebAddress::parse("https://Dash.example:8443/hermes/").unwrap();
        assert_eq!(address.host(), "dash.example");
        assert_eq!(address.as_text(), "https://Dash.example:8443/hermes");
        assert!(address.is_private());
        assert!(!WebAddress::parse("http://10.0.0.1").unwrap().is_private());
        assert!(
            WebAddress::parse("http://127.0.0.1:1")
                .unwrap()
                .is_private()
        );
        for wrong in [
            "",
            "dash.example",
            "ftp://x",
            "https://u:p@x",
            "https://x/?q",
            "//x",
        ] {
            assert_eq!(WebAddress::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn host_headers_are_names_with_or_without_port() {
        let name = |text: &str| host_name(text);
        assert_eq!(name("LocalHost:9119").as_deref(), Some("localhost"));
        assert_eq!(name("[::1]:9119").as_deref(), Some("::1"));
        assert_eq!(name("[::1]").as_deref(), Some("::1"));
        assert_eq!(name("evil.com.").as_deref(), Some("evil.com"));
        for wrong in ["", ":1", "a:b", "a b", "::1", "[x]", "[::1]x", "a/b", "u@h"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
