//! Logins at node-oidc-provider, a certified provider: with its own pages, keys, rotation of refresh
//! tokens and detection of their reuse.

use std::thread;

use serde_json::json;

use crate::client::Answer;
use crate::provider::{Browser, Provider};
use crate::server::{Server, dashboard, home};

/// Begins a login; the cookies of its beginning, and where the browser is sent.
fn begin(server: &Server) -> (String, String) {
    let begun = server
        .request("GET", "/auth/login?provider=self-hosted&next=/sessions")
        .send();
    assert_eq!(begun.status, 302, "{}", begun.body);
    let address = begun.header("location").unwrap().to_owned();
    (begun.cookies(), address)
}

/// Comes back from the provider, to the dashboard.
fn come_back(server: &Server, place: &str, cookies: &str) -> Answer {
    let root = format!("http://127.0.0.1:{}", server.port);
    let path = place.strip_prefix(&root);
    let path = path.unwrap_or_else(|| panic!("not to the dashboard: {place}"));
    server.request("GET", path).header("Cookie", cookies).send()
}

fn log_in(provider: &Provider, server: &Server) -> Answer {
    let (cookies, address) = begin(server);
    let place = Browser::new(provider).log_in(&address);
    come_back(server, &place, &cookies)
}

fn me(server: &Server, cookies: &str) -> Answer {
    let request = server.request("GET", "/api/auth/me");
    request.header("Cookie", cookies).send()
}

fn without_access(cookies: &str) -> String {
    let kept = cookies
        .split("; ")
        .filter(|cookie| !cookie.starts_with("hermes_session_at="));
    kept.collect::<Vec<_>>().join("; ")
}

/// Changes a parameter of an address.
fn changed(address: &str, name: &str, value: &str) -> String {
    let (place, query) = address.split_once('?').unwrap();
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((known, _)) if known == name => format!("{name}={value}"),
        _ => pair.to_owned(),
    });
    let changed = format!("{place}?{}", pairs.collect::<Vec<_>>().join("&"));
    assert_ne!(changed, address, "{name}");
    changed
}

#[test]
fn somebody_logs_in_is_known_and_logs_out() {
    let home = home();
    let provider = Provider::new();
    let server = provider.dashboard(&home);
    let done = log_in(&provider, &server);
    assert_eq!(done.status, 302, "{}", done.body);
    assert_eq!(done.header("location"), Some("/sessions"));
    let session = done.cookies();
    let who = me(&server, &session).expect(200);
    assert_eq!(who["user_id"], "ada");
    assert_eq!(who["display_name"], "Ada Lovelace");
    assert_eq!(who["email"], "ada@example.org");
    let page = server.request("GET", "/sessions");
    assert_eq!(page.header("Cookie", &session).send().status, 200);

    let out = server.request("POST", "/auth/logout");
    out.header("Cookie", &session).send().expect(200);
    assert_eq!(me(&server, &session).status, 401);
    // The refresh token is worth nothing any more, here and at the provider.
    assert_eq!(me(&server, &without_access(&session)).status, 401);
    let revoked = |one: &serde_json::Value| one["path"] == "/token/revocation";
    let asked = provider.asked();
    let revocation = asked.iter().find(|one| revoked(one));
    assert_eq!(revocation.unwrap()["status"], 200, "{asked:?}");
    assert_eq!(provider.granted("refresh_token"), 0);
}

#[test]
fn a_session_is_renewed_once_however_many_requests_find_it_expired() {
    let home = home();
    let provider = Provider::new();
    let server = provider.dashboard(&home);
    let session = log_in(&provider, &server).cookies();
    let expired = without_access(&session);
    // The page loads, and asks for everything at once.
    let asked = server
        .request("GET", "/api/auth/me")
        .header("Cookie", &expired);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let asking: Vec<_> = (0..12).map(|_| scope.spawn(|| asked.send())).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for answer in &answers {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(
        provider.granted("refresh_token"),
        1,
        "{:?}",
        provider.asked()
    );
    // The provider gave out another one, which is good for the next renewal.
    let renewed = answers[0].cookies();
    assert_ne!(without_access(&renewed), expired);
    let again = me(&server, &without_access(&renewed));
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(provider.granted("refresh_token"), 2);
}

#[test]
fn a_confidential_client_shows_its_secret_and_a_wrong_one_lets_nobody_in() {
    let home = home();
    // What a form encodes must reach the provider as it was.
    let secret = "s3cr:t +&%/=";
    let provider = Provider::with(&[("SECRET", secret)]);
    let name = "HERMES_DASHBOARD_OIDC_CLIENT_SECRET";
    let server = provider.dashboard_with(&home, &[(name, secret)]);
    let done = log_in(&provider, &server);
    assert_eq!(done.status, 302, "{}", done.body);
    assert_eq!(me(&server, &done.cookies()).expect(200)["user_id"], "ada");
    drop(server);
    let server = provider.dashboard_with(&home, &[(name, "another")]);
    let refused = log_in(&provider, &server);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("invalid_client"), "{}", refused.body);
    assert!(!refused.body.contains("another"), "{}", refused.body);
}

#[test]
fn an_answer_that_is_not_for_this_login_is_refused() {
    let home = home();
    let provider = Provider::new();
    let server = provider.dashboard(&home);
    let refused = |answer: &Answer, what: &str| {
        assert_eq!(answer.status, 400, "{what}: {}", answer.body);
        assert!(!answer.cookies().contains("hermes_session_at=e"), "{what}");
    };
    // Another state, another provider, nobody's cookies.
    for (name, value) in [("state", "0000"), ("iss", "https%3A%2F%2Fevil.example")] {
        let (cookies, address) = begin(&server);
        let place = Browser::new(&provider).log_in(&address);
        let answer = come_back(&server, &changed(&place, name, value), &cookies);
        refused(&answer, name);
    }
    let (_, address) = begin(&server);
    let place = Browser::new(&provider).log_in(&address);
    refused(&come_back(&server, &place, ""), "no cookie");
    // The provider signs a nonce that is not of this login.
    let (cookies, address) = begin(&server);
    let place = Browser::new(&provider).log_in(&changed(&address, "nonce", "another"));
    let answer = come_back(&server, &place, &cookies);
    refused(&answer, "nonce");
    assert!(answer.body.contains("another login"), "{}", answer.body);
    // A code that was made out to another client, or for another verifier.
    for (name, value) in [
        ("client_id", "other"),
        (
            "code_challenge",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        ),
    ] {
        let (cookies, address) = begin(&server);
        let place = Browser::new(&provider).log_in(&changed(&address, name, value));
        let answer = come_back(&server, &place, &cookies);
        refused(&answer, name);
        assert!(answer.body.contains("invalid_grant"), "{}", answer.body);
    }
    // A code is good once.
    let (cookies, address) = begin(&server);
    let place = Browser::new(&provider).log_in(&address);
    assert_eq!(come_back(&server, &place, &cookies).status, 302);
    refused(&come_back(&server, &place, &cookies), "the same code again");
    assert_eq!(provider.granted("authorization_code"), 2);
}

#[test]
fn tokens_of_another_time_are_refused() {
    let home = home();
    for (clock, reason) in [("-7300", "expired"), ("7300", "not valid yet")] {
        let provider = Provider::with(&[("CLOCK", clock)]);
        let server = provider.dashboard(&home);
        let refused = log_in(&provider, &server);
        assert_eq!(refused.status, 400, "{clock}: {}", refused.body);
        assert!(refused.body.contains(reason), "{clock}: {}", refused.body);
    }
}

#[test]
fn an_issuer_under_another_name_is_not_trusted() {
    let home = home();
    let provider = Provider::new();
    let call = dashboard(&home)
        .args(["--host", "0.0.0.0"])
        .env(
            "HERMES_DASHBOARD_OIDC_ISSUER",
            format!("http://localhost:{}", provider.port),
        )
        .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "dash");
    let server = Server::start(call);
    let begun = server
        .request("GET", "/auth/login?provider=self-hosted")
        .send();
    let detail = begun.expect(503)["detail"].to_string();
    assert!(detail.contains("another issuer"), "{detail}");
}

#[test]
fn a_provider_that_is_down_keeps_nobody_in_and_nobody_out_for_good() {
    let home = home();
    let provider = Provider::new();
    let port = provider.port.to_string();
    let server = provider.dashboard(&home);
    let session = log_in(&provider, &server).cookies();
    drop(provider);
    // Who is in stays in until the session is over; then nobody can say who they are.
    assert_eq!(me(&server, &session).status, 200);
    let unknown = me(&server, &without_access(&session));
    assert_eq!(unknown.status, 503, "{}", unknown.body);
    let page = server.request("GET", "/sessions");
    let page = page.header("Cookie", &without_access(&session)).send();
    assert_eq!(page.status, 503, "{}", page.body);
    assert_eq!(server.request("GET", "/api/sessions").send().status, 401);
    // A logout works without it.
    let out = server.request("POST", "/auth/logout");
    let out = out.header("Cookie", &session).send().expect(200);
    assert_eq!(out, json!({"ok": true, "login_url": "/login"}));
    assert_eq!(me(&server, &session).status, 401);
    let again = Provider::with(&[("PORT", &port)]);
    assert_eq!(log_in(&again, &server).status, 302);
}
