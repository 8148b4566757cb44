//! `hermes mcp login` and `hermes mcp reauth`.

use hermes_testkit::TestHome;
use pretty_assertions::assert_eq;

use crate::fresh;
use crate::guarded_server::{GuardedServer, begin_login, browse, kept, log_in};

fn home_of(server: &GuardedServer) -> TestHome {
    let home = fresh();
    home.put("config.yaml", server.settings());
    home
}

#[test]
fn login_keeps_tokens_for_the_owner_alone_and_shows_no_secret() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    let (terminal, back) = begin_login(&home, &["mcp", "login", "guarded"]);
    browse(&back);
    let shown = terminal.wait();
    shown.succeeds().prints_part("✓ Logged in to guarded");
    assert_eq!(home.mode("mcp-tokens") & 0o777, 0o700);
    for file in ["guarded.json", "guarded.client.json", "guarded.meta.json"] {
        assert_eq!(
            home.mode(&format!("mcp-tokens/{file}")) & 0o777,
            0o600,
            "{file}"
        );
    }
    let tokens = kept(&home, "guarded.json");
    let access = tokens["access_token"].as_str().unwrap();
    assert!(server.takes(access));
    assert!(!server.takes("another"));
    assert!(tokens["expires_at"].as_f64().unwrap() > 1e9);
    assert_eq!(tokens["token_type"], "Bearer");
    let client = kept(&home, "guarded.client.json");
    assert_eq!(client["client_name"], "Hermes Agent");
    let redirect = client["redirect_uris"][0].as_str().unwrap();
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback"));
    let meta = kept(&home, "guarded.meta.json");
    assert!(meta["token_endpoint"].as_str().unwrap().ends_with("/token"));
    server.sdk_reads(&home);
    let secret = client["client_secret"].as_str().unwrap_or("canary");
    for (place, text) in [("terminal", shown.stdout), ("logs", logs(&home))] {
        assert!(!text.contains("-canary-"), "{place}: {text}");
        assert!(!text.contains(secret), "{place}: {text}");
    }
}

/// All that was logged.
fn logs(home: &TestHome) -> String {
    let files = ["agent.log", "errors.log", "gateway.log", "mcp-stderr.log"];
    let files = files.map(|file| format!("logs/{file}"));
    let texts = files
        .iter()
        .filter(|file| home.has(file))
        .map(|file| home.read(file));
    texts.collect()
}

#[test]
fn an_answer_with_another_state_is_refused_and_the_right_one_still_counts() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    let (terminal, back) = begin_login(&home, &["mcp", "login", "guarded"]);
    let (address, _) = back.split_once("state=").unwrap();
    for forged in [format!("{address}state=tampered"), address.to_owned()] {
        let page = browse(&forged);
        assert!(page.starts_with("HTTP/1.1 400"), "{page}");
        assert!(page.contains("does not belong"), "{page}");
    }
    assert!(!home.has("mcp-tokens/guarded.json"));
    assert_eq!(server.count("codes"), 0);
    browse(&back);
    terminal.wait().succeeds();
    assert!(home.has("mcp-tokens/guarded.json"));
}

#[test]
fn a_login_that_is_declined_leaves_the_earlier_one() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    log_in(&home);
    let before = home.read("mcp-tokens/guarded.json");
    let (terminal, back) = begin_login(&home, &["mcp", "reauth", "guarded"]);
    let (address, rest) = back.split_once("code=").unwrap();
    let (_, state) = rest.split_once("state=").unwrap();
    browse(&format!("{address}error=access_denied&state={state}"));
    terminal
        .wait()
        .exits(1)
        .prints_part("the login was declined");
    assert_eq!(home.read("mcp-tokens/guarded.json"), before);
    // Given up at the terminal, the same.
    let (mut terminal, _) = begin_login(&home, &["mcp", "reauth", "--all"]);
    terminal.press("\u{3}");
    assert_ne!(terminal.wait().code, Some(0));
    assert_eq!(home.read("mcp-tokens/guarded.json"), before);
    // Another login has other tokens.
    log_in(&home);
    assert_ne!(home.read("mcp-tokens/guarded.json"), before);
}

#[test]
fn the_address_can_be_typed_where_the_browser_is_elsewhere() {
    let server = GuardedServer::start(3600);
    let home = home_of(&server);
    let (mut terminal, back) = begin_login(&home, &["mcp", "reauth", "--all"]);
    terminal.press("what?\r");
    terminal.wait_for("not the address of this login");
    terminal.press(&format!("{back}\r"));
    terminal
        .wait()
        .succeeds()
        .prints_part("Logged in to guarded");
    assert!(home.has("mcp-tokens/guarded.json"));
}

#[test]
fn where_no_login_is_possible_the_way_on_is_named() {
    let home = fresh();
    home.put(
        "config.yaml",
        "mcp_servers:\n  guarded: {url: 'http://127.0.0.1:1/mcp', auth: oauth}\n  \
         plain: {command: cat}\n  open: {url: 'http://127.0.0.1:1/mcp'}\n  \
         odd: {url: 'http://127.0.0.1:1/mcp', auth: oauth, oauth: {redirect_port: many}}\n",
    );
    home.run(["mcp", "login", "guarded"])
        .exits(1)
        .says_part("needs a person at a terminal")
        .says_part("hermes mcp login guarded");
    home.run(["mcp", "login", "nobody"])
        .exits(1)
        .says_part("no such MCP server: 'nobody'")
        .says_part("guarded");
    home.run(["mcp", "login", "plain"])
        .exits(1)
        .says_part("'plain' takes no login");
    home.run(["mcp", "reauth", "open"])
        .exits(1)
        .says_part("'open' takes no login")
        .says_part("auth oauth");
    home.run(["mcp", "reauth"]).exits(2);
    home.run(["mcp", "reauth", "--all", "guarded"]).exits(2);
    let odd = home
        .hermes(["mcp", "login", "odd"])
        .start_at_terminal()
        .wait();
    odd.exits(1)
        .prints_part("mcp_servers.odd.oauth.redirect_port");
    let gone = home
        .hermes(["mcp", "login", "guarded"])
        .start_at_terminal()
        .wait();
    gone.exits(3).prints_part("cannot be reached");
    assert!(!home.has("mcp-tokens"));
    let empty = fresh();
    empty
        .run(["mcp", "reauth", "--all"])
        .succeeds()
        .prints_part("No MCP server takes a login");
}
