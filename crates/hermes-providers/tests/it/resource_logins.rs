//! Which authorisation server is believed, and what its answers to renewals mean.

use std::time::Duration;

use hermes_config::{Config, Environment, Sources};
use hermes_providers::{AuthorizationServer, LoginConnection, LoginError, renewed_tokens};
use hermes_testkit::{ModelServer, ReceivedRequest, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";

fn config() -> Config {
    let home = tempfile::tempdir().unwrap();
    let env = Environment::from_pairs([("HOME", "/nowhere")]);
    Config::load_read_only(&Sources::new(&env, home.path()))
}

fn connection() -> LoginConnection {
    LoginConnection {
        timeout: Duration::from_secs(20),
        ..LoginConnection::default()
    }
}

fn root(request: &ReceivedRequest) -> String {
    format!("http://{}", request.header("host").unwrap())
}

/// A resource and its authorisation server, which say this of themselves.
fn published(
    resource: impl Fn(&str) -> Value + Send + Sync + 'static,
    server: impl Fn(&str) -> Value + Send + Sync + 'static,
) -> ModelServer {
    ModelServer::always(ScriptedAnswer::status(404, &json!({})))
        .with_script(RESOURCE, move |request| {
            ScriptedAnswer::status(200, &resource(&root(request)))
        })
        .with_script(SERVER, move |request| {
            ScriptedAnswer::status(200, &server(&root(request)))
        })
}

fn discovered(server: &ModelServer) -> Result<AuthorizationServer, LoginError> {
    let url = format!("{}/mcp", server.root());
    AuthorizationServer::discover(&url, &config(), &connection())
}

fn usual_resource(root: &str) -> Value {
    json!({"resource": format!("{root}/mcp"), "authorization_servers": [root]})
}

fn usual_server(root: &str) -> Value {
    json!({
        "issuer": root,
        "authorization_endpoint": format!("{root}/authorize"),
        "token_endpoint": format!("{root}/token"),
        "code_challenge_methods_supported": ["plain", "S256"],
    })
}

#[test]
fn the_server_that_the_resource_names_is_found_and_kept() {
    let server = published(usual_resource, usual_server);
    let found = discovered(&server).unwrap();
    let kept = found.to_keep().unwrap();
    assert_eq!(kept["token_endpoint"], format!("{}/token", server.root()));
    let url = format!("{}/mcp", server.root());
    let again = AuthorizationServer::kept(Some(kept), &url).unwrap();
    assert_eq!(again.to_keep(), found.to_keep());
}

#[test]
fn documents_that_do_not_fit_are_not_believed() {
    let server = published(usual_resource, |root| {
        let mut document = usual_server(root);
        document["issuer"] = json!("https://elsewhere.example");
        document
    });
    assert_eq!(
        discovered(&server),
        Err(LoginError::WrongIssuer("127.0.0.1".to_owned()))
    );
    let server = published(
        |root| json!({"resource": "https://elsewhere.example/mcp", "authorization_servers": [root]}),
        usual_server,
    );
    let wrong = LoginError::WrongResource("elsewhere.example".to_owned());
    assert_eq!(discovered(&server), Err(wrong));
    let server = published(usual_resource, |root| {
        let mut document = usual_server(root);
        document["code_challenge_methods_supported"] = json!(["plain"]);
        document
    });
    assert_eq!(
        discovered(&server),
        Err(LoginError::NoPkce("127.0.0.1".to_owned()))
    );
    let server = published(usual_resource, |_| json!({"issuer": 7}));
    assert!(matches!(
        discovered(&server),
        Err(LoginError::Incomplete { .. })
    ));
}

#[test]
fn what_a_resource_says_of_another_server_has_to_come_from_that_server() {
    // The pages of somebody else, and the codes to itself.
    let mixed_up = |issuer: String| {
        ModelServer::always(ScriptedAnswer::status(404, &json!({}))).with_script(
            SERVER,
            move |request| {
                let mut document = usual_server(&issuer);
                document["token_endpoint"] = json!(format!("{}/token", root(request)));
                ScriptedAnswer::status(200, &document)
            },
        )
    };
    let honest = published(usual_resource, usual_server);
    let found = discovered(&mixed_up(honest.root())).unwrap();
    let kept = found.to_keep().unwrap();
    assert_eq!(kept["token_endpoint"], format!("{}/token", honest.root()));
    let silent = ModelServer::always(ScriptedAnswer::status(404, &json!({})));
    let refused = discovered(&mixed_up(silent.root()));
    assert!(
        matches!(refused, Err(LoginError::Incomplete { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_server_that_publishes_nothing_has_the_first_addresses() {
    let server = ModelServer::always(ScriptedAnswer::html(404, "nothing"));
    let found = discovered(&server).unwrap();
    assert_eq!(found.to_keep(), None);
    let gone = AuthorizationServer::discover("http://127.0.0.1:1/mcp", &config(), &connection());
    assert!(matches!(gone, Err(LoginError::Unreachable { .. })));
}

fn renewed(
    status: u16,
    answer: Value,
) -> (
    Result<Value, hermes_providers::RefreshError>,
    ReceivedRequest,
) {
    let server = published(usual_resource, usual_server)
        .with("/token", ScriptedAnswer::status(status, &answer));
    let found = discovered(&server).unwrap();
    let client = json!({
        "client_id": "id", "client_secret": "secret-canary",
        "token_endpoint_auth_method": "client_secret_basic",
    });
    let result = renewed_tokens(&found, &client, "refresh-canary", &config(), &connection());
    let asked = server.received();
    let asked = asked.into_iter().find(|one| one.path == "/token").unwrap();
    (result, asked)
}

#[test]
fn a_renewal_keeps_its_token_where_the_server_sends_no_other() {
    let (tokens, asked) = renewed(200, json!({"access_token": "a", "token_type": "bearer"}));
    let tokens = tokens.unwrap();
    assert_eq!(
        (&tokens["access_token"], &tokens["refresh_token"]),
        (&json!("a"), &json!("refresh-canary"))
    );
    // `id:secret-canary`
    assert_eq!(
        asked.header("authorization"),
        Some("Basic aWQ6c2VjcmV0LWNhbmFyeQ==")
    );
    let (tokens, _) = renewed(200, json!({"access_token": "a", "refresh_token": "next"}));
    assert_eq!(tokens.unwrap()["refresh_token"], "next");
}

#[test]
fn refusals_are_told_apart_and_repeat_no_secret() {
    let echo =
        json!({"error": "invalid_grant", "error_description": "refresh-canary of secret-canary"});
    let (refused, _) = renewed(400, echo);
    let refused = refused.unwrap_err();
    assert!(refused.is_final);
    assert!(!refused.reason.contains("canary"), "{}", refused.reason);
    let (busy, _) = renewed(503, json!({}));
    assert!(!busy.unwrap_err().is_final);
    let (odd, _) = renewed(200, json!({"error": "refresh-canary"}));
    let odd = odd.unwrap_err();
    assert!(
        odd.is_final && !odd.reason.contains("canary"),
        "{}",
        odd.reason
    );
}
