//! Which authorisation server gives tokens for a resource: the resource says it (RFC 9728), and that
//! server describes itself (RFC 8414, or as OpenID Connect has it).

use hermes_config::Config;
use reqwest::Url;
use serde_json::Value;

use super::authorization_server::{AuthorizationServer, canonical, parsed, permitted, request_to};
use crate::login::client::Answer;
use crate::login::{LoginConnection, LoginError};
use crate::route::host_of;

const OF_RESOURCES: &str = "/.well-known/oauth-protected-resource";
const OF_SERVERS: &str = "/.well-known/oauth-authorization-server";
const OF_OPENID: &str = "/.well-known/openid-configuration";

impl AuthorizationServer {
    /// Asks the resource at this address, and the server that it names.
    pub fn discover(
        resource_url: &str,
        config: &Config,
        connection: &LoginConnection,
    ) -> Result<Self, LoginError> {
        let search = Search {
            resource: parsed(resource_url)?,
            config,
            connection,
        };
        search.run()
    }
}

struct Search<'a> {
    resource: Url,
    config: &'a Config,
    connection: &'a LoginConnection,
}

impl Search<'_> {
    fn run(&self) -> Result<AuthorizationServer, LoginError> {
        // A request without a token is refused with directions. Where it is not, because the server
        // begins a stream or is not there, the documents decide.
        let challenge = self
            .get(&self.resource)
            .map_or_else(|_| Challenge::default(), |answer| Challenge::of(&answer));
        let described = self.resource_document(&challenge)?;
        let named = described.as_ref().and_then(|document| {
            let servers = document["authorization_servers"].as_array()?;
            servers.first()?.as_str()
        });
        let resource = match described.as_ref().and_then(|one| one["resource"].as_str()) {
            Some(stated) => self.checked_resource(stated)?,
            None => canonical(&self.resource),
        };
        let scope = challenge.scope.or_else(|| {
            let scopes = described.as_ref()?["scopes_supported"].as_array()?;
            let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
            (!scopes.is_empty()).then(|| scopes.join(" "))
        });
        let document = match named {
            Some(server) => Some(self.server_document(server)?),
            None => self.own_document()?,
        };
        let mut found = AuthorizationServer::kept(document, self.resource.as_str())?;
        found.resource = resource;
        found.scope = scope;
        if found.lists("code_challenge_methods_supported", "S256") == Some(false) {
            return Err(LoginError::NoPkce(host_of(
                found.text("token_endpoint").unwrap_or_default(),
            )));
        }
        Ok(found)
    }

    /// What the resource says of itself, where the refusal or the standard has it.
    fn resource_document(&self, challenge: &Challenge) -> Result<Option<Value>, LoginError> {
        let mut places = Vec::new();
        if let Some(url) = &challenge.resource_metadata {
            let url = parsed(url)?;
            permitted(&self.resource, &url)?;
            places.push(url);
        }
        let path = self.resource.path().trim_end_matches('/');
        places.extend(at(&self.resource, &format!("{OF_RESOURCES}{path}")));
        if !path.is_empty() {
            places.extend(at(&self.resource, OF_RESOURCES));
        }
        self.first(&places, |found| found["authorization_servers"].is_array())
    }

    /// What a server says of itself that the resource has named. It has to be that server.
    fn server_document(&self, server: &str) -> Result<Value, LoginError> {
        let url = parsed(server)?;
        permitted(&self.resource, &url)?;
        let path = url.path().trim_end_matches('/').to_owned();
        let mut places = Vec::new();
        for place in [OF_SERVERS, OF_OPENID] {
            places.extend(at(&url, &format!("{place}{path}")));
        }
        if !path.is_empty() {
            places.extend(at(&url, &format!("{path}{OF_OPENID}")));
        }
        let host = host_of(server);
        let found = self.first(&places, is_server)?;
        let document = found.ok_or(LoginError::Incomplete {
            host: host.clone(),
            what: "the addresses of its logins",
        })?;
        let issuer = document["issuer"].as_str().unwrap_or_default();
        if !same_issuer(issuer, server) {
            return Err(LoginError::WrongIssuer(host));
        }
        Ok(document)
    }

    /// What a resource says of its logins that is its own authorisation server, as in the first
    /// version of the protocol.
    fn own_document(&self) -> Result<Option<Value>, LoginError> {
        let places: Vec<Url> = [OF_SERVERS, OF_OPENID]
            .iter()
            .filter_map(|place| at(&self.resource, place))
            .collect();
        let found = self.first(&places, is_server)?;
        let issuer = found.as_ref().and_then(|found| found["issuer"].as_str());
        match issuer {
            // What a resource says of somebody else is hearsay: with the pages of one server and the
            // addresses of another it would get hold of codes. That server has to say it.
            Some(issuer) if !is_issuer_at(issuer, &self.resource) => {
                self.server_document(issuer).map(Some)
            }
            _ => Ok(found),
        }
    }

    fn checked_resource(&self, stated: &str) -> Result<String, LoginError> {
        let url = parsed(stated)?;
        let below = self
            .resource
            .path()
            .strip_prefix(url.path().trim_end_matches('/'));
        let contains = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if url.origin() != self.resource.origin() || !contains {
            return Err(LoginError::WrongResource(host_of(stated)));
        }
        Ok(stated.to_owned())
    }

    /// The first of these documents that is there and is one.
    fn first(
        &self,
        places: &[Url],
        is_one: fn(&Value) -> bool,
    ) -> Result<Option<Value>, LoginError> {
        let mut failure = None;
        let mut was_answered = false;
        for place in places {
            match self.get(place) {
                Ok(answer) if answer.status == 200 && is_one(&answer.value) => {
                    return Ok(Some(answer.value));
                }
                Ok(_) => was_answered = true,
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if !was_answered => Err(error),
            _ => Ok(None),
        }
    }

    fn get(&self, url: &Url) -> Result<Answer, LoginError> {
        let (client, path) = request_to(url, self.config, self.connection)?;
        client.get(&path, Vec::new())
    }
}

/// A place on the host of an address.
fn at(url: &Url, path: &str) -> Option<Url> {
    Url::parse(&format!("{}{path}", url.origin().ascii_serialization())).ok()
}

fn is_server(document: &Value) -> bool {
    document["authorization_endpoint"].is_string() && document["token_endpoint"].is_string()
}

/// Whether an issuer is on the host of an address.
pub(super) fn is_issuer_at(issuer: &str, url: &Url) -> bool {
    Url::parse(issuer).is_ok_and(|issuer| issuer.origin() == url.origin())
}

/// Whether two texts name one issuer; a slash at the end comes and goes.
pub(super) fn same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// What a refusal says about how to get a token.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    resource_metadata: Option<String>,
    scope: Option<String>,
}

impl Challenge {
    fn of(answer: &Answer) -> Self {
        answer
            .challenge
            .as_deref()
            .map_or_else(Self::default, Self::read)
    }

    fn read(header: &str) -> Self {
        Self {
            resource_metadata: parameter(header, "resource_metadata"),
            scope: parameter(header, "scope"),
        }
    }
}

/// A parameter of a `WWW-Authenticate` header, quoted or not.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header;
    while !rest.is_empty() {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find(['=', ' ', '\t', ',']).unwrap_or(rest.len());
        let (key, after) = rest.split_at_checked(end)?;
        // A word without a value is the name of a scheme.
        let Some(after) = after.strip_prefix('=') else {
            rest = after;
            continue;
        };
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at_checked(after.find([',', ' ']).unwrap_or(after.len()))?,
        };
        if key.eq_ignore_ascii_case(name) && !value.is_empty() {
            return Some(value.to_owned());
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn directions_are_read_from_a_refusal() {
        let header = "Bearer error=\"invalid_token\", error_description=\"no scope=here\", \
                      scope=\"read write\", resource_metadata=\"https://a.example/meta?x=1\"";
        let expected = Challenge {
            resource_metadata: Some("https://a.example/meta?x=1".to_owned()),
            scope: Some("read write".to_owned()),
        };
        assert_eq!(Challenge::read(header), expected);
        assert_eq!(Challenge::read("Bearer"), Challenge::default());
        let plain = Challenge::read("Bearer scope=read, resource_metadata=https://b.example/");
        assert_eq!(plain.scope.as_deref(), Some("read"));
    }

    #[test]
    fn issuers_belong_to_a_host_and_a_port() {
        let resource = Url::parse("https://a.example/mcp").unwrap();
        for (issuer, expected) in [
            ("https://a.example", true),
            ("https://a.example:443/tenant", true),
            ("https://b.example", false),
            ("https://a.example:8443", false),
            ("http://a.example", false),
            ("https://a.example.org", false),
            ("a.example", false),
        ] {
            assert_eq!(is_issuer_at(issuer, &resource), expected, "{issuer}");
        }
    }

    #[test]
    fn issuers_differ_by_more_than_a_slash() {
        assert!(same_issuer("https://a.example/", "https://a.example"));
        assert!(!same_issuer("https://a.example/x", "https://a.example"));
        assert!(!same_issuer("", "https://a.example"));
    }
}
