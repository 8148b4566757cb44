//! Tokens that have ended: renewed once, by whoever comes first, or asked for anew.

use std::sync::{Arc, Barrier};

use hermes_config::{Config, Environment, Sources};
use hermes_mcp::oauth::OAuthTokens;
use hermes_mcp::{ConfiguredServers, TokenSource as _};
use hermes_secret::SecretString;
use hermes_testkit::TestHome;
use pretty_assertions::assert_eq;

use crate::fresh;
use crate::guarded_server::{GuardedServer, kept, log_in};

/// The tokens as another process has them: everything it knows is in the files.
fn tokens(home: &TestHome) -> OAuthTokens {
    let env = Environment::from_pairs([("HOME", home.user_home())]);
    let config = Config::load_read_only(&Sources::new(&env, &home.root()));
    let servers = ConfiguredServers::resolve(&config);
    OAuthTokens::of_server(servers.get("guarded").unwrap(), &config).unwrap()
}

/// Waits for an answer, as the thread of the connections does.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(answer)
}

fn bearer(tokens: &OAuthTokens) -> SecretString {
    wait(tokens.bearer()).unwrap()
}

fn logged_in(server: &GuardedServer) -> TestHome {
    let home = fresh();
    home.put("config.yaml", server.settings());
    log_in(&home);
    home
}

#[test]
fn a_token_that_ends_soon_is_renewed_before_it_is_used() {
    // Shorter than the margin: it is renewed every time.
    let server = GuardedServer::start(20);
    let home = logged_in(&server);
    let first = kept(&home, "guarded.json");
    let renewed = bearer(&tokens(&home));
    assert_ne!(first["access_token"], renewed.expose());
    assert!(server.takes(renewed.expose()));
    assert_eq!(server.count("renewals"), 1);
    let second = kept(&home, "guarded.json");
    assert_eq!(second["access_token"], renewed.expose());
    assert_ne!(second["refresh_token"], first["refresh_token"]);
}

#[test]
fn a_token_that_the_server_refuses_is_renewed_once() {
    let server = GuardedServer::start(3600);
    let home = logged_in(&server);
    let tokens = tokens(&home);
    let first = bearer(&tokens);
    assert!(server.takes(first.expose()));
    server.expire();
    assert!(!server.takes(first.expose()));
    assert_eq!(wait(tokens.refused(Some(&first))), Ok(()));
    let second = bearer(&tokens);
    assert!(server.takes(second.expose()));
    // A request that was on its way with the first one needs no further renewal.
    assert_eq!(wait(tokens.refused(Some(&first))), Ok(()));
    assert_eq!(server.count("renewals"), 1);
}

#[test]
fn two_that_renew_at_once_renew_once() {
    let server = GuardedServer::start(3600);
    let home = logged_in(&server);
    let all = [tokens(&home), tokens(&home), tokens(&home), tokens(&home)];
    let first = bearer(&all[0]);
    server.expire();
    let begin = Arc::new(Barrier::new(all.len()));
    std::thread::scope(|scope| {
        for tokens in &all {
            let (begin, first) = (Arc::clone(&begin), &first);
            scope.spawn(move || {
                begin.wait();
                assert_eq!(wait(tokens.refused(Some(first))), Ok(()));
                assert_ne!(bearer(tokens).expose(), first.expose());
            });
        }
    });
    assert_eq!(
        (server.count("renewals"), server.count("refused_renewals")),
        (1, 0)
    );
    assert!(server.takes(bearer(&all[3]).expose()));
}

#[test]
fn a_login_that_the_server_has_ended_needs_a_person_and_is_tried_once() {
    let server = GuardedServer::start(3600);
    let home = logged_in(&server);
    let tokens = tokens(&home);
    let first = bearer(&tokens);
    server.revoke();
    let refusal = wait(tokens.refused(Some(&first))).unwrap_err().to_string();
    assert!(refusal.contains("refused the login"), "{refusal}");
    assert!(!refusal.contains("canary"), "{refusal}");
    wait(tokens.refused(Some(&first))).unwrap_err();
    assert_eq!(server.count("refused_renewals"), 1);
    // Somebody logs in, in another process.
    log_in(&home);
    assert_eq!(wait(tokens.refused(Some(&first))), Ok(()));
    assert!(server.takes(bearer(&tokens).expose()));
}

#[test]
fn without_a_login_nothing_is_sent_and_a_refusal_asks_for_one() {
    let server = GuardedServer::start(3600);
    let home = fresh();
    home.put("config.yaml", server.settings());
    let tokens = tokens(&home);
    assert!(wait(tokens.bearer()).is_none());
    assert!(wait(tokens.refused(None)).is_err());
    assert!(!home.has("mcp-tokens"));
}
