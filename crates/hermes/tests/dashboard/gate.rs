//! For others: the gate, logins, cookies, tickets, limits, and what fails closed.

use serde_json::json;

use super::client::Request;
use super::server::{CANARY, Server, dashboard, home, with_password};

#[test]
fn without_a_login_nothing_listens_on_other_addresses() {
    // gateway 27
    let home = home();
    for insecure in [None, Some("0"), Some("no"), Some("on")] {
        for host in ["0.0.0.0", "::", "192.0.2.7"] {
            let mut call = dashboard(&home).args(["--host", host]);
            if let Some(word) = insecure {
                call = call.env("HERMES_DASHBOARD_INSECURE", word);
            }
            let refused = call.run();
            refused
                .exits(78)
                .says_part("without asking anybody to log in")
                .says_part("HERMES_DASHBOARD_BASIC_AUTH_USERNAME")
                .says_part("HERMES_DASHBOARD_OIDC_ISSUER")
                .says_part("HERMES_DASHBOARD_OAUTH_CLIENT_ID");
            assert_eq!(refused.stdout, "");
        }
    }
    // The variable of the host implies nothing either.
    let call = dashboard(&home).env("HERMES_DASHBOARD_HOST", "0.0.0.0");
    call.run().exits(78);
    // A user without a password is no login.
    let call = dashboard(&home).args(["--host", "0.0.0.0"]);
    call.env("HERMES_DASHBOARD_BASIC_AUTH_USERNAME", "ada")
        .run()
        .exits(78);
}

#[test]
fn logins_that_cannot_work_are_refused_by_name() {
    let home = home();
    let other = || dashboard(&home).args(["--host", "0.0.0.0"]);
    other()
        .env("HERMES_DASHBOARD_BASIC_AUTH_USERNAME", "ada")
        .env("HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH", "md5$x")
        .run()
        .exits(78)
        .says_part("the login basic cannot be used");
    other()
        .env("HERMES_DASHBOARD_OAUTH_CLIENT_ID", "somebody")
        .run()
        .exits(78)
        .says_part("the login nous cannot be used");
    other()
        .env("HERMES_DASHBOARD_OIDC_ISSUER", "http://id.example")
        .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "x")
        .run()
        .exits(78)
        .says_part("must begin with https://");
}

#[test]
fn insecure_is_loud_and_keeps_secrets() {
    // gateway 27
    let home = home();
    home.put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let open = |home| dashboard(home).args(["--host", "0.0.0.0"]);
    let server = Server::start(open(&home).env("HERMES_DASHBOARD_INSECURE", "1"));
    let status = server.request("GET", "/api/status").send().expect(200);
    assert_eq!(status["insecure"], true);
    assert_eq!(status["auth_required"], false);
    let page = server.request("GET", "/").send();
    assert!(page.body.contains("whoever reaches this address"));
    assert_eq!(server.request("GET", "/api/env").send().status, 200);
    let reveal = || {
        let body = json!({"key": "OPENROUTER_API_KEY"});
        server.request("POST", "/api/env/reveal").json(&body)
    };
    let refused = reveal().send();
    assert!(
        refused.expect(403)["detail"]
            .as_str()
            .unwrap()
            .contains("no secrets")
    );
    // Pages of others cannot use it.
    let foreign = reveal().header("Origin", "http://evil.com").send();
    assert_eq!(foreign.status, 403);
    let own = reveal()
        .header("Origin", "http://10.0.0.1")
        .header("Host", "10.0.0.1");
    assert!(own.send().body.contains("no secrets"));
    let warned: String = server.process.errors().join("\n");
    assert!(warned.contains("--insecure"), "{warned}");
    drop(server);
    let full = open(&home)
        .arg("--insecure")
        .env("HERMES_DASHBOARD_INSECURE_FULL", "1");
    let server = Server::start(full);
    let body = json!({"key": "OPENROUTER_API_KEY"});
    let shown = server.request("POST", "/api/env/reveal").json(&body).send();
    assert_eq!(shown.expect(200)["value"], CANARY);
}

#[test]
fn a_login_opens_pages_and_api_and_a_logout_closes_them() {
    // gateway 27
    let home = home();
    home.put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let server = Server::gated(&home);
    let page = server.request("GET", "/?a=1").send();
    assert_eq!(page.status, 302);
    assert_eq!(page.header("location"), Some("/login?next=%2F%3Fa%3D1"));
    let api = server.request("GET", "/api/sessions").send();
    let api = api.expect(401);
    assert_eq!(api["error"], "unauthenticated");
    assert_eq!(api["login_url"], "/login?next=%2F");
    // The token of this machine opens nothing, and no page shows one.
    assert_eq!(server.with_token("GET", "/api/sessions").send().status, 401);
    let login = server.request("GET", "/login?next=/board").send();
    assert!(
        login.body.contains("data-next=\"/board\""),
        "{}",
        login.body
    );
    assert_eq!(server.request("GET", "/loginx").send().status, 302);
    assert_eq!(server.request("GET", "/auth/loginx").send().status, 302);
    let status = server.request("GET", "/api/status").send().expect(200);
    assert_eq!(status["auth_providers"], json!(["basic"]));
    assert!(status.get("hermes_home").is_none(), "{status}");

    let wrong = json!({"username": "ada", "password": "battery staple"});
    let wrong = server
        .request("POST", "/auth/password-login")
        .json(&wrong)
        .send();
    assert_eq!(wrong.expect(401)["error"], "invalid_credentials");
    let right = json!({"username": "ada", "password": "correct horse", "next": "/\\evil.com"});
    let right = server
        .request("POST", "/auth/password-login")
        .json(&right)
        .send();
    assert_eq!(right.expect(200)["next"], "/");
    for (name, value) in &right.headers {
        if name == "set-cookie" {
            assert!(value.contains("; HttpOnly; SameSite=Lax"), "{value}");
        }
    }
    let cookies = right.cookies();
    let logged_in =
        |method: &str, path: &str| server.request(method, path).header("Cookie", &cookies);
    let me = logged_in("GET", "/api/auth/me").send().expect(200);
    assert_eq!(
        (&me["user_id"], &me["provider"]),
        (&json!("ada"), &json!("basic"))
    );
    let body = json!({"key": "OPENROUTER_API_KEY"});
    let shown = logged_in("POST", "/api/env/reveal").json(&body).send();
    assert_eq!(shown.expect(200)["value"], CANARY);
    let page = logged_in("GET", "/").send();
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("Log out") && page.body.contains("name=\"hermes-token\" content=\"\"")
    );
    // Another site cannot use the cookies.
    let foreign = logged_in("POST", "/auth/logout")
        .header("Origin", "http://evil.com")
        .send();
    assert_eq!(foreign.status, 403);
    let forged = cookies.replace("hermes_session_at=", "hermes_session_at=x");
    let forged = forged.replace("hermes_session_rt=", "hermes_session_rt=x");
    let forged = server
        .request("GET", "/api/sessions")
        .header("Cookie", &forged)
        .send();
    assert_eq!(forged.expect(401)["error"], "session_expired");

    let out = logged_in("POST", "/auth/logout").send();
    assert_eq!(out.expect(200)["login_url"], "/login");
    let after = logged_in("GET", "/api/sessions").send();
    assert_eq!(after.expect(401)["error"], "session_expired");
    let log = home.read("logs/dashboard-auth.log");
    for event in ["login_failure", "login_success", "logout"] {
        assert!(log.contains(&format!("\"event\":\"{event}\"")), "{log}");
    }
    assert!(!log.contains("correct horse") && !log.contains("battery staple"));
}

#[test]
fn an_expired_session_is_renewed_unseen() {
    let home = home();
    let server = Server::gated(&home);
    let cookies = server.log_in();
    let without_access: Vec<&str> = cookies
        .split("; ")
        .filter(|cookie| !cookie.starts_with("hermes_session_at="))
        .collect();
    let request = server.request("GET", "/api/auth/me");
    let renewed = request.header("Cookie", &without_access.join("; ")).send();
    assert_eq!(renewed.status, 200, "{}", renewed.body);
    assert!(renewed.cookies().contains("hermes_session_at="));
}

#[test]
fn eleven_attempts_in_a_minute_are_too_many_whatever_the_client_says_it_is() {
    let home = home();
    let server = Server::gated(&home);
    let attempt = |round: usize| {
        let body = json!({"username": "ada", "password": format!("guess {round}")});
        let request = server.request("POST", "/auth/password-login").json(&body);
        let forged = format!("10.0.0.{round}");
        request.header("X-Forwarded-For", &forged).send().status
    };
    for round in 0..10 {
        assert_eq!(attempt(round), 401, "{round}");
    }
    assert_eq!(attempt(10), 429);
    let right = json!({"username": "ada", "password": "correct horse"});
    let right = server
        .request("POST", "/auth/password-login")
        .json(&right)
        .send();
    assert_eq!(right.status, 429);
    assert!(right.header("retry-after").is_some());
}

#[test]
fn a_trusted_proxy_may_say_who_the_client_is() {
    let home = home();
    home.put(
        "config.yaml",
        "dashboard:\n  trusted_proxies: [127.0.0.1]\n",
    );
    let server = Server::gated(&home);
    let attempt = |address: &str| {
        let body = json!({"username": "ada", "password": "guess"});
        let request = server.request("POST", "/auth/password-login").json(&body);
        request.header("X-Forwarded-For", address).send().status
    };
    for _ in 0..10 {
        assert_eq!(attempt("10.0.0.1"), 401);
    }
    assert_eq!(attempt("10.0.0.1"), 429);
    assert_eq!(attempt("10.0.0.2"), 401);
    let page = server
        .request("GET", "/")
        .header("X-Forwarded-Prefix", "/hermes");
    let page = page.send();
    assert_eq!(page.header("location"), Some("/hermes/login?next=%2F"));
    let body = json!({"username": "ada", "password": "correct horse"});
    let secure = server.request("POST", "/auth/password-login").json(&body);
    let secure = secure.header("X-Forwarded-Proto", "https");
    let secure = secure.header("X-Forwarded-For", "10.0.0.3").send();
    assert!(
        secure.cookies().contains("__Host-hermes_session_at="),
        "{secure:?}"
    );
    let set = secure
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    assert!(set.clone().count() > 0);
    assert!(set.clone().all(|(_, value)| value.ends_with("; Secure")));
}

#[test]
fn a_ticket_opens_one_websocket() {
    // gateway 27
    let home = home();
    let server = Server::gated(&home);
    let cookies = server.log_in();
    let ticket = server.request("POST", "/api/auth/ws-ticket");
    let ticket = ticket.header("Cookie", &cookies).send().expect(200);
    assert_eq!(ticket["ttl_seconds"], 30);
    let path = format!(
        "/api/plugins/kanban/events?ticket={}",
        ticket["ticket"].as_str().unwrap()
    );
    let (answer, _connection) = server.request("GET", &path).upgrade().open();
    assert_eq!(answer.status, 101);
    let again = server.request("GET", &path).upgrade().send();
    assert_eq!(again.expect(401)["reason"], "invalid_ticket");
    // Cookies come along with requests of other sites; a ticket does not.
    let request = server
        .request("GET", "/api/plugins/kanban/events")
        .upgrade();
    assert_eq!(request.header("Cookie", &cookies).send().status, 401);
    assert_eq!(
        server.request("POST", "/api/auth/ws-ticket").send().status,
        401
    );
}

#[test]
fn sessions_outlive_a_restart_with_a_key_of_ones_own() {
    let home = home();
    let start = || {
        let call = with_password(dashboard(&home).args(["--host", "0.0.0.0"]));
        let secret = "c2lnbmluZy1rZXktb2YtdGhlLWRhc2hib2FyZA==";
        Server::start(call.env("HERMES_DASHBOARD_BASIC_AUTH_SECRET", secret))
    };
    let server = start();
    let cookies = server.log_in();
    drop(server);
    let server = start();
    let me = |request: Request| request.header("Cookie", &cookies).send().status;
    assert_eq!(me(server.request("GET", "/api/auth/me")), 200);
    drop(server);
    let other = Server::gated(&home);
    assert_eq!(me(other.request("GET", "/api/auth/me")), 401);
}
