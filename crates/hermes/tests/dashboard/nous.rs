//! The login of the Nous portal, against a portal on loopback that signs real tokens with RSA.

use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_testkit::{ModelServer, ReceivedRequest, ScriptedAnswer, TestHome};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, PublicKeyComponents};
use ring::signature::RSA_PKCS1_SHA256;
use serde_json::{Value, json};

use super::client::Answer;
use super::oidc::parameter;
use super::server::{Server, dashboard, home};

const CLIENT: &str = "agent:box-1";

/// A portal. What its next token says can be changed, and the key that signs it.
struct Portal {
    server: ModelServer,
    state: Arc<State>,
}

struct State {
    key: KeyPair,
    other: KeyPair,
    claims: Mutex<Value>,
    signs_with_other: Mutex<bool>,
    /// The challenge of the login on its way.
    challenge: Mutex<String>,
}

fn key() -> KeyPair {
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-outform", "DER"])
        .args(["-pkeyopt", "rsa_keygen_bits:2048"])
        .output()
        .unwrap();
    assert!(made.status.success(), "openssl makes no key");
    KeyPair::from_der(&made.stdout).unwrap()
}

fn signed(key: &KeyPair, header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    let random = SystemRandom::new();
    key.sign(
        &RSA_PKCS1_SHA256,
        &random,
        message.as_bytes(),
        &mut signature,
    )
    .unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A field of a form.
fn field(request: &ReceivedRequest, name: &str) -> String {
    let form = String::from_utf8(request.raw.clone()).unwrap();
    parameter(&format!("?{form}"), name)
}

impl State {
    /// The answer to a code, or to a refresh token.
    fn token(&self, request: &ReceivedRequest) -> ScriptedAnswer {
        let refused = |reason: &str| ScriptedAnswer::status(400, &json!({"error": reason}));
        match field(request, "grant_type").as_str() {
            "authorization_code" => {
                let verifier = field(request, "code_verifier");
                let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
                let challenge = URL_SAFE_NO_PAD.encode(digest.as_ref());
                if challenge != *self.challenge.lock().unwrap() {
                    return refused("invalid_grant");
                }
            }
            "refresh_token" => {
                let sent = field(request, "refresh_token");
                if request.header("x-nous-refresh-token") != Some(sent.as_str()) {
                    return refused("invalid_request");
                }
            }
            other => panic!("{other}"),
        }
        let key = if *self.signs_with_other.lock().unwrap() {
            &self.other
        } else {
            &self.key
        };
        let header = json!({"alg": "RS256", "kid": "portal-1", "typ": "JWT"});
        let token = signed(key, &header, &self.claims.lock().unwrap());
        ScriptedAnswer::status(
            200,
            &json!({"access_token": token, "token_type": "Bearer", "refresh_token": "again"}),
        )
    }
}

impl Portal {
    fn new() -> Self {
        let state = Arc::new(State {
            key: key(),
            other: key(),
            claims: Mutex::new(Value::Null),
            signs_with_other: Mutex::new(false),
            challenge: Mutex::new(String::new()),
        });
        let public: PublicKeyComponents<Vec<u8>> = state.key.public().into();
        let keys = json!({"keys": [{
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "portal-1",
            "n": URL_SAFE_NO_PAD.encode(public.n), "e": URL_SAFE_NO_PAD.encode(public.e),
        }]});
        let answering = Arc::clone(&state);
        let server = ModelServer::always(ScriptedAnswer::text("-"))
            .with("/.well-known/jwks.json", ScriptedAnswer::status(200, &keys))
            .with_script("/api/oauth/token", move |request| answering.token(request));
        let portal = Self { server, state };
        *portal.state.claims.lock().unwrap() = portal.good();
        portal
    }

    /// What a token of this portal says about somebody who may use the dashboard.
    fn good(&self) -> Value {
        json!({
            "iss": self.server.root(), "aud": CLIENT, "sub": "u-7", "org_id": "o-1",
            "email": "ada@example.org", "scope": "agent_dashboard:access",
            "agent_instance_id": "box-1", "oauth_contract_version": 1,
            "exp": 4_102_444_800_i64,
        })
    }

    fn dashboard(&self, home: &TestHome) -> Server {
        let call = dashboard(home)
            .args(["--host", "0.0.0.0"])
            .env("HERMES_DASHBOARD_OAUTH_CLIENT_ID", CLIENT)
            .env("HERMES_DASHBOARD_PORTAL_URL", self.server.root());
        Server::start(call)
    }

    /// A whole login, as a browser would do it.
    fn log_in(&self, server: &Server) -> Answer {
        let begun = server.request("GET", "/auth/login?provider=nous").send();
        assert_eq!(begun.status, 302, "{}", begun.body);
        let address = begun.header("location").unwrap().to_owned();
        let place = format!("{}/oauth/authorize?", self.server.root());
        assert!(address.starts_with(&place), "{address}");
        assert_eq!(parameter(&address, "response_type"), "code");
        assert_eq!(parameter(&address, "client_id"), "agent%3Abox-1");
        assert_eq!(parameter(&address, "scope"), "agent_dashboard%3Aaccess");
        assert_eq!(parameter(&address, "code_challenge_method"), "S256");
        *self.state.challenge.lock().unwrap() = parameter(&address, "code_challenge");
        let state = parameter(&address, "state");
        let back = format!("/auth/callback?code=abc&state={state}");
        let back = server.request("GET", &back);
        back.header("Cookie", &begun.cookies()).send()
    }
}

#[test]
fn a_login_of_the_portal_opens_the_dashboard_and_is_renewed() {
    let home = home();
    let portal = Portal::new();
    let server = portal.dashboard(&home);
    let page = server.request("GET", "/sessions").send();
    let location = "/auth/login?next=%2Fsessions&provider=nous";
    assert_eq!(page.header("location"), Some(location));
    let done = portal.log_in(&server);
    assert_eq!(done.status, 302, "{}", done.body);
    let session = done.cookies();
    let me = |cookies: &str| {
        let request = server.request("GET", "/api/auth/me");
        request.header("Cookie", cookies).send()
    };
    let who = me(&session).expect(200);
    assert_eq!(who["user_id"], "u-7");
    assert_eq!(who["org_id"], "o-1");
    assert_eq!(who["provider"], "nous");
    let without_access: Vec<&str> = session
        .split("; ")
        .filter(|cookie| !cookie.starts_with("hermes_session_at="))
        .collect();
    let renewed = me(&without_access.join("; "));
    assert_eq!(renewed.expect(200)["user_id"], "u-7");
    assert!(renewed.cookies().contains("hermes_session_at="));
    // The token of the portal itself is in no cookie a script could read.
    for (_, cookie) in done.headers.iter().filter(|(name, _)| name == "set-cookie") {
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"));
    }
}

#[test]
fn tokens_of_the_portal_for_others_are_refused() {
    let home = home();
    let portal = Portal::new();
    let server = portal.dashboard(&home);
    for (name, value) in [
        ("aud", json!("agent:box-2")),
        ("iss", json!("https://portal.example")),
        ("exp", json!(1_000_000_000)),
        ("nbf", json!(4_102_444_000_i64)),
        ("sub", json!("")),
        ("agent_instance_id", json!("box-2")),
    ] {
        let mut claims = portal.good();
        claims[name] = value;
        *portal.state.claims.lock().unwrap() = claims;
        let refused = portal.log_in(&server);
        assert_eq!(refused.status, 400, "{name}: {}", refused.body);
        assert!(!refused.cookies().contains("hermes_session_at=e"), "{name}");
    }
    // A contract that is not spoken here is the portal's matter, not the user's.
    let mut claims = portal.good();
    claims["oauth_contract_version"] = json!(2);
    *portal.state.claims.lock().unwrap() = claims;
    assert_eq!(portal.log_in(&server).status, 503);
    // The right claims, signed by somebody else under the portal's key id.
    *portal.state.claims.lock().unwrap() = portal.good();
    *portal.state.signs_with_other.lock().unwrap() = true;
    let refused = portal.log_in(&server);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("not signed"), "{}", refused.body);
}
