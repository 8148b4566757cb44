//! Cookies: which there are, and how they are set, so that no script and no other site uses them.

use hyper::header::{self, HeaderMap, HeaderValue};

use super::visitor::Visitor;

/// One of our cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// Who somebody is.
    Access,
    /// What a new one is got for.
    Refresh,
    /// Who vouched for them.
    Provider,
    /// A login on its way.
    Login,
}

pub(crate) const ALL: [Cookie; 4] = [
    Cookie::Access,
    Cookie::Refresh,
    Cookie::Provider,
    Cookie::Login,
];

impl Cookie {
    fn name(self) -> &'static str {
        match self {
            Self::Access => "hermes_session_at",
            Self::Refresh => "hermes_session_rt",
            Self::Provider => "hermes_session_provider",
            Self::Login => "hermes_session_pkce",
        }
    }

    /// Its name for a visitor: browsers themselves keep others from setting a cookie with a prefix.
    fn name_for(self, visitor: &Visitor) -> String {
        let prefix = match (visitor.is_https, visitor.prefix.is_empty()) {
            (false, _) => "",
            (true, true) => "__Host-",
            (true, false) => "__Secure-",
        };
        format!("{prefix}{}", self.name())
    }

    /// Its value, if the visitor sent it.
    pub(crate) fn read(self, headers: &HeaderMap, visitor: &Visitor) -> Option<String> {
        let wanted = self.name_for(visitor);
        let lines = headers.get_all(header::COOKIE).iter();
        let pairs = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(name, _)| *name == wanted);
        let value = values.next().map(|(_, value)| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    }

    /// The header that sets it for so many seconds; zero takes it away.
    pub(crate) fn set(self, visitor: &Visitor, value: &str, seconds: i64) -> Option<HeaderValue> {
        let path = if visitor.prefix.is_empty() {
            "/"
        } else {
            visitor.prefix.as_str()
        };
        let secure = if visitor.is_https { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path={path}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
            self.name_for(visitor),
            seconds.max(0),
        );
        HeaderValue::from_str(&text).ok()
    }
}
