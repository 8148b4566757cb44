//! An authorisation server: the document that it publishes (RFC 8414), and the requests to it.

use hermes_config::Config;
use reqwest::Url;
use serde_json::{Value, json};

use crate::login::client::LoginClient;
use crate::login::{LoginConnection, LoginError};
use crate::route::{host_of, is_local};

/// The key of our own in the kept document: the resource that tokens are for.
const RESOURCE: &str = "resource";

/// The authorisation server of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthorizationServer {
    /// What the server says of itself.
    pub(super) document: Value,
    /// The resource that tokens are for (RFC 8707).
    pub(super) resource: String,
    /// Scopes that the resource asks for.
    pub(super) scope: Option<String>,
}

impl AuthorizationServer {
    /// The server that a kept document describes. Without one it is the resource's own, at the
    /// addresses that the first version of the protocol had.
    pub fn kept(document: Option<Value>, resource_url: &str) -> Result<Self, LoginError> {
        let resource = match document.as_ref().and_then(|kept| kept[RESOURCE].as_str()) {
            Some(resource) => resource.to_owned(),
            None => canonical(&parsed(resource_url)?),
        };
        let document = match document {
            Some(document) => document,
            None => usual_document(&parsed(resource_url)?),
        };
        Ok(Self {
            document,
            resource,
            scope: None,
        })
    }

    /// The document to keep; `None` if the server publishes none.
    pub fn to_keep(&self) -> Option<Value> {
        self.document.get("issuer")?;
        let mut document = self.document.clone();
        document[RESOURCE] = json!(self.resource);
        Some(document)
    }

    /// A text of the document.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.document[key].as_str().filter(|text| !text.is_empty())
    }

    /// Whether the document lists a value under a key; `None` if it has no such list.
    pub(super) fn lists(&self, key: &str, value: &str) -> Option<bool> {
        let values = self.document[key].as_array()?;
        Some(values.iter().any(|one| one == value))
    }

    /// A client for one of the addresses in the document, and the rest of that address.
    pub(super) fn client(
        &self,
        key: &str,
        config: &Config,
        connection: &LoginConnection,
    ) -> Result<(LoginClient, String), LoginError> {
        let missing = || LoginError::Incomplete {
            host: host_of(&self.resource),
            what: "the addresses of its logins",
        };
        let url = parsed(self.text(key).ok_or_else(missing)?)?;
        permitted(&parsed(&self.resource)?, &url)?;
        request_to(&url, config, connection)
    }
}

/// A client for the host of an address, and the rest of that address.
pub(super) fn request_to(
    url: &Url,
    config: &Config,
    connection: &LoginConnection,
) -> Result<(LoginClient, String), LoginError> {
    let origin = url.origin().ascii_serialization();
    let rest = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    Ok((LoginClient::new(config, connection, &origin)?, rest))
}

pub(super) fn parsed(url: &str) -> Result<Url, LoginError> {
    Url::parse(url).map_err(|_| LoginError::Address(url.to_owned()))
}

/// The address of a resource as tokens name it: without fragment and query.
pub(super) fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = url.to_string();
    match url.path() {
        "/" => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

/// Refuses an address of this machine or network that a server out there has named.
pub(super) fn permitted(resource: &Url, named: &Url) -> Result<(), LoginError> {
    let is_inside = |url: &Url| is_local(&host_of(url.as_str()));
    if is_inside(named) && !is_inside(resource) {
        return Err(LoginError::Inside(named.origin().ascii_serialization()));
    }
    Ok(())
}

fn usual_document(resource: &Url) -> Value {
    let origin = resource.origin().ascii_serialization();
    json!({
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn servers_out_there_name_no_address_in_here() {
        let url = |text: &str| Url::parse(text).unwrap();
        let outside = url("https://mcp.example/mcp");
        for inside in [
            "http://127.0.0.1/x",
            "https://10.0.0.1/x",
            "http://localhost:80/",
            "http://[::1]/",
        ] {
            let refused = permitted(&outside, &url(inside));
            assert!(matches!(refused, Err(LoginError::Inside(_))), "{inside}");
            assert_eq!(
                permitted(&url("http://192.168.1.1/mcp"), &url(inside)),
                Ok(())
            );
        }
        assert_eq!(permitted(&outside, &url("https://login.example/")), Ok(()));
    }

    #[test]
    fn resources_are_named_without_query_and_fragment() {
        let name = |text: &str| canonical(&Url::parse(text).unwrap());
        assert_eq!(
            name("https://a.example/mcp?key=1#x"),
            "https://a.example/mcp"
        );
        assert_eq!(name("https://a.example"), "https://a.example");
        assert_eq!(name("https://a.example/mcp/"), "https://a.example/mcp/");
    }
}
