//! Servers, addresses and schemas that cannot be used: each is named, with the way out, and nothing is
//! changed.

use std::path::Path;

use hermes_board::boards::{Board, BoardHome, BoardSlug, ServerSettings};
use hermes_board::store::BoardStore;
use hermes_board::{BoardOptions, Error, StoredBoard};
use hermes_config::settings::{Config, Sources};
use hermes_config::{Environment, vars};
use hermes_home::{Location, SystemFacts};
use hermes_testkit::{PgDatabase, Postgres};
use pretty_assertions::assert_eq;

use crate::{Fixture, card, file};

/// The default board at an address.
fn board(root: &Path, address: &str, password: Option<&str>) -> Board {
    let mut env = Environment::from_pairs([("HOME", root), ("HERMES_HOME", root)])
        .with(&vars::HERMES_KANBAN_DATABASE_URL, address);
    if let Some(password) = password {
        env = env.with(&vars::PGPASSWORD, password);
    }
    let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
    let config = Config::load_read_only(&Sources::new(&env, root));
    let servers = ServerSettings::resolve(&config, &env, &location);
    let home = BoardHome::resolve(&env, &location).on_servers(servers);
    home.board(&BoardSlug::default_board())
}

fn refusal(address: &str, password: Option<&str>) -> Error {
    let root = tempfile::tempdir().unwrap();
    let board = board(root.path(), address, password);
    let refused = StoredBoard::open(&board, &BoardOptions::default()).unwrap_err();
    assert!(refused.is_missing_part(), "{refused}");
    assert!(refused.hint().is_some(), "{refused}");
    assert!(!board.database.exists(), "a file instead of a server");
    refused
}

/// What the refusal says must contain these words, and never the password.
fn says(address: &str, password: Option<&str>, words: &str) {
    let refused = refusal(address, password);
    let text = format!("{refused} {} {refused:?}", refused.hint().unwrap());
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    if let Some(password) = password {
        assert!(!text.contains(password), "{text}");
    }
}

fn at(database: &PgDatabase, role: &str, parameters: &str) -> String {
    let (port, name) = (database.port(), &database.name);
    format!("postgres://{role}@127.0.0.1:{port}/{name}?{parameters}")
}

#[test]
fn addresses_passwords_and_certificates_are_named() {
    let server = Postgres::shared();
    let database = server.database();
    let password = Some(database.password());
    let url = database.url();
    says("postgres://ann:hunter2@db/x", None, "contains a password");
    says("mysql://ann@db/x", None, "does not begin with postgres://");
    says("postgres://ann@127.0.0.1:1/x", password, "no connection");
    says(
        "postgres://ann@no-such-host.invalid/x",
        password,
        "no connection",
    );
    says(
        &url,
        Some("wrong"),
        "does not accept the password of 'boards'",
    );
    says(&url, None, "and none is set");
    says(
        &at(&database, "nobody", "sslmode=require"),
        password,
        "does not accept",
    );
    // The certificate is not signed by an authority of the system, and is not about this name.
    says(
        &at(&database, "boards", "sslmode=verify-full"),
        password,
        "certificate",
    );
    let authority = server.authority();
    let by_name = format!(
        "postgres://boards@localhost:{}/{}?sslrootcert={}&sslmode=",
        database.port(),
        database.name,
        authority.display()
    );
    says(&format!("{by_name}verify-full"), password, "not accepted");
    says(
        &at(&database, "boards", "sslmode=disable"),
        password,
        "does not let 'boards' in",
    );
    let missing = "sslmode=verify-ca&sslrootcert=/nowhere/ca.pem";
    says(
        &at(&database, "boards", missing),
        password,
        "/nowhere/ca.pem",
    );
    let other = url.replace(&database.name, "no_such_database");
    says(&other, password, "there is no database 'no_such_database'");
    // And with each of these it works.
    for address in [
        url,
        format!("{by_name}verify-ca"),
        format!("{by_name}require"),
        at(&database, "boards", "sslmode=require"),
        at(&database, "boards", "sslmode=prefer"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let board = board(root.path(), &address, password);
        StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    }
}

#[test]
fn schemas_of_others_and_newer_ones_are_left_alone() {
    let database = Postgres::shared().database();
    let password = Some(database.password());
    let tables = || {
        database.sql(
            "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class c
             JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname LIKE 'hermes%'",
        )
    };
    database.sql("CREATE SCHEMA hermes_default; CREATE TABLE hermes_default.cats (name text)");
    says(&database.url(), password, "belongs to another program");
    assert_eq!(tables(), "cats");
    // An empty one may have been made by an administrator for this.
    database.sql("DROP TABLE hermes_default.cats");
    let root = tempfile::tempdir().unwrap();
    let board = board(root.path(), &database.url(), password);
    drop(StoredBoard::open(&board, &BoardOptions::default()).unwrap());
    let made = tables();
    database.sql("UPDATE hermes_default.hermes_board SET format = 99");
    says(&database.url(), password, "has format 99");
    assert_eq!(tables(), made);
}

#[test]
fn a_role_needs_the_right_to_make_a_schema_and_only_for_that() {
    let database = Postgres::shared().database();
    let (name, role) = (&database.name, format!("role_{}", database.name));
    let password = Some("plain");
    database.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'plain'"));
    let address = database.url_as(&role);
    says(
        &address,
        password,
        &format!("GRANT CREATE ON DATABASE \"{name}\" TO \"{role}\""),
    );
    // Made by the owner, and given to the role.
    let root = tempfile::tempdir().unwrap();
    let own = board(root.path(), &database.url(), Some(database.password()));
    drop(StoredBoard::open(&own, &BoardOptions::default()).unwrap());
    says(&address, password, "may not do this");
    database.sql(&format!(
        "GRANT USAGE ON SCHEMA hermes_default TO {role};
         GRANT ALL ON ALL TABLES IN SCHEMA hermes_default TO {role};
         GRANT ALL ON ALL SEQUENCES IN SCHEMA hermes_default TO {role}"
    ));
    let shared = board(root.path(), &address, password);
    let mut store = StoredBoard::open(&shared, &BoardOptions::default()).unwrap();
    file(&mut store, &card("by a role with few rights"));
    drop(store);
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_server_that_takes_no_changes_is_named() {
    let database = Postgres::shared().database();
    let root = tempfile::tempdir().unwrap();
    let board = board(root.path(), &database.url(), Some(database.password()));
    let name = &database.name;
    drop(StoredBoard::open(&board, &BoardOptions::default()).unwrap());
    database.sql(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only TO on;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    ));
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let refused = store.create(&card("x")).unwrap_err();
    assert!(
        refused.to_string().contains("read-only replica"),
        "{refused}"
    );
    assert!(refused.hint().unwrap().contains("primary"));
    assert!(store.counts().unwrap().is_empty());
}

#[test]
fn a_text_that_a_server_cannot_hold_is_refused_as_a_request() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    let refused = store.create(&card("a\0b")).unwrap_err();
    assert!(refused.to_string().contains("NUL"), "{refused}");
    assert!(!refused.is_missing_part());
    // The connection is as good as before.
    file(&mut store, &card("ab"));
    assert_eq!(store.counts().unwrap().values().sum::<u64>(), 1);
}

#[test]
fn an_open_board_outlives_its_server() {
    let server = Postgres::own();
    let database = server.database();
    let root = tempfile::tempdir().unwrap();
    let board = board(root.path(), &database.url(), Some(database.password()));
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let first = file(&mut store, &card("before"));
    for end in [Postgres::stop, Postgres::kill] {
        end(&server);
        let away = store.create(&card("meanwhile")).unwrap_err();
        assert!(away.is_missing_part(), "{away}");
        let text = away.to_string();
        assert!(
            text.contains("no connection") || text.contains("was lost"),
            "{text}"
        );
        server.run();
        // What was written is there, and the same object goes on.
        assert!(store.task(&first).unwrap().is_some());
    }
    file(&mut store, &card("after"));
    assert_eq!(store.counts().unwrap().values().sum::<u64>(), 2);
}
