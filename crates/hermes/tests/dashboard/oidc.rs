//! Logins that somebody else vouches for, against a provider on loopback that signs real tokens.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_testkit::{ModelServer, ScriptedAnswer};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::client::Answer;
use super::server::{Server, dashboard, home};

/// A key, and what the next token says.
struct Signer {
    pair: EcdsaKeyPair,
    claims: Mutex<Value>,
}

impl Signer {
    fn new() -> Arc<Self> {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let claims = Mutex::new(Value::Null);
        Arc::new(Self { pair, claims })
    }

    fn keys(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }]})
    }

    fn token(&self) -> String {
        let claims = self.claims.lock().unwrap().clone();
        let header = json!({"alg": "ES256", "kid": "one"});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encode(&header), encode(&claims));
        let random = SystemRandom::new();
        let signature = self.pair.sign(&random, message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

/// A provider that says of every code what the claims say.
fn provider(signer: &Arc<Signer>) -> ModelServer {
    let (key, minting) = (signer.keys(), Arc::clone(signer));
    let server = ModelServer::always(ScriptedAnswer::text("-"))
        .with("/jwks", ScriptedAnswer::status(200, &key))
        .with_script("/token", move |_| {
            let token = minting.token();
            let answer =
                json!({"id_token": token, "access_token": "opaque", "refresh_token": "again"});
            ScriptedAnswer::status(200, &answer)
        });
    let root = server.root();
    let document = json!({
        "issuer": root,
        "authorization_endpoint": format!("{root}/authorize"),
        "token_endpoint": format!("{root}/token"),
        "jwks_uri": format!("{root}/jwks"),
    });
    server.with(
        "/.well-known/openid-configuration",
        ScriptedAnswer::status(200, &document),
    )
}

pub(crate) fn parameter(address: &str, name: &str) -> String {
    let query = address.split_once('?').unwrap().1;
    let found = query
        .split('&')
        .find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found
        .unwrap_or_else(|| panic!("no {name} in {address}"))
        .to_owned()
}

fn begin(server: &Server) -> (Answer, String) {
    let begun = server
        .request("GET", "/auth/login?provider=self-hosted&next=/board")
        .send();
    assert_eq!(begun.status, 302, "{}", begun.body);
    let address = begun.header("location").unwrap().to_owned();
    (begun, address)
}

#[test]
fn a_login_at_a_provider_is_checked_in_every_part() {
    let home = home();
    let signer = Signer::new();
    let provider = provider(&signer);
    let call = dashboard(&home)
        .args(["--host", "0.0.0.0"])
        .env("HERMES_DASHBOARD_OIDC_ISSUER", provider.root())
        .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "dash");
    let server = Server::start(call);
    // The only way to log in needs no page that offers it.
    let page = server.request("GET", "/").send();
    assert_eq!(
        page.header("location"),
        Some("/auth/login?next=%2F&provider=self-hosted")
    );
    let (begun, address) = begin(&server);
    assert!(
        address.starts_with(&format!("{}/authorize?", provider.root())),
        "{address}"
    );
    assert_eq!(parameter(&address, "code_challenge_method"), "S256");
    assert_eq!(parameter(&address, "client_id"), "dash");
    let state = parameter(&address, "state");
    let nonce = parameter(&address, "nonce");
    let good = json!({
        "iss": provider.root(), "aud": "dash", "sub": "u1", "name": "Ada", "email": "ada@x",
        "nonce": nonce, "exp": 4_102_444_800_i64,
    });
    let come_back = |state: &str, cookies: &str| {
        let path = format!("/auth/callback?code=abc&state={state}");
        server
            .request("GET", &path)
            .header("Cookie", cookies)
            .send()
    };
    let cookies = begun.cookies();
    assert_eq!(come_back("other", &cookies).status, 400);
    for (name, value) in [
        ("nonce", json!("another")),
        ("aud", json!("another")),
        ("iss", json!("https://another.example")),
        ("exp", json!(1)),
        ("sub", json!("")),
    ] {
        let (begun, address) = begin(&server);
        let mut claims = good.clone();
        claims["nonce"] = json!(parameter(&address, "nonce"));
        claims[name] = value;
        *signer.claims.lock().unwrap() = claims;
        let refused = come_back(&parameter(&address, "state"), &begun.cookies());
        assert_eq!(refused.status, 400, "{name}: {}", refused.body);
        assert!(!refused.cookies().contains("hermes_session_at=e"), "{name}");
    }
    // A login without the cookie of its beginning was begun by somebody else.
    assert_eq!(come_back(&state, "").status, 400);
    *signer.claims.lock().unwrap() = good;
    let (begun, address) = begin(&server);
    signer.claims.lock().unwrap()["nonce"] = json!(parameter(&address, "nonce"));
    let state = parameter(&address, "state");
    let done = come_back(&state, &begun.cookies());
    assert_eq!(done.status, 302, "{}", done.body);
    assert_eq!(done.header("location"), Some("/board"));
    let session = done.cookies();
    let me = server
        .request("GET", "/api/auth/me")
        .header("Cookie", &session)
        .send();
    let me = me.expect(200);
    assert_eq!(
        (&me["user_id"], &me["display_name"]),
        (&json!("u1"), &json!("Ada"))
    );
    // The same answer of the provider is good once.
    assert_eq!(come_back(&state, &begun.cookies()).status, 400);

    let refresh_only: Vec<&str> = session
        .split("; ")
        .filter(|cookie| !cookie.starts_with("hermes_session_at="))
        .collect();
    let refresh_only = refresh_only.join("; ");
    let again = server
        .request("GET", "/api/auth/me")
        .header("Cookie", &refresh_only);
    assert_eq!(again.send().status, 200);
    drop(provider);
    let unreachable = server
        .request("GET", "/api/auth/me")
        .header("Cookie", &refresh_only);
    assert_eq!(unreachable.send().status, 503);
}

#[test]
fn a_provider_that_cannot_be_reached_lets_nobody_in() {
    let home = home();
    let call = dashboard(&home)
        .args(["--host", "0.0.0.0"])
        .env("HERMES_DASHBOARD_OIDC_ISSUER", "http://127.0.0.1:9")
        .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "dash");
    let server = Server::start(call);
    let begun = server
        .request("GET", "/auth/login?provider=self-hosted")
        .send();
    assert!(
        begun.expect(503)["detail"]
            .as_str()
            .unwrap()
            .contains("cannot be reached")
    );
    assert_eq!(
        server
            .request("GET", "/auth/login?provider=nobody")
            .send()
            .status,
        404
    );
    assert_eq!(server.request("GET", "/api/sessions").send().status, 401);
}
