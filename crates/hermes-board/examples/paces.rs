//! How fast the board is without the start of a program around it, for `scripts/bench`.
//!
//! `paces ROOT pairs N` files N cards below ROOT, claims and completes each, and prints the seconds
//! that claiming and completing took. `paces ROOT create N` prints the seconds of filing alone.
//! `paces ROOT together N` says `ready` once it has filed them, and waits for a line: for several at once
//! on one board, which may be on a server.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a program that is only ever run by a benchmark"
)]

use std::path::Path;
use std::time::Instant;

use hermes_board::boards::{BoardHome, BoardSlug, ServerSettings};
use hermes_board::completion::complete_card;
use hermes_board::model::{Assignee, TaskId};
use hermes_board::store::{
    BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, CompleteOutcome, Completion,
    NewTask,
};
use hermes_board::{BoardOptions, StoredBoard};
use hermes_config::settings::{Config, Sources};
use hermes_config::{Environment, vars};
use hermes_home::{Location, SystemFacts};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, root, what, count] = args.as_slice() else {
        panic!("paces ROOT pairs|create|together N");
    };
    let count: usize = count.parse().expect("a number of cards");
    let home = home_at(Path::new(root));
    let board = home.board(&BoardSlug::default_board());
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).expect("a board");
    let begin = Instant::now();
    let cards: Vec<TaskId> = (0..count).map(|number| file(&mut store, number)).collect();
    if what == "create" {
        println!("{}", begin.elapsed().as_secs_f64());
        return;
    }
    if what == "together" {
        println!("ready");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("a line");
    }
    let lock = hermes_board::own_lock();
    let begin = Instant::now();
    for card in &cards {
        work(&mut store, &home, card, &lock);
    }
    println!("{}", begin.elapsed().as_secs_f64());
}

/// The boards of an installation at `root`.
fn home_at(root: &Path) -> BoardHome {
    let mut env = Environment::from_pairs([("HOME", root), ("HERMES_HOME", root)]);
    let server = &vars::HERMES_KANBAN_DATABASE_URL;
    if let Ok(address) = std::env::var(server.name) {
        env = env.with(server, address);
    }
    let location = Location::resolve(&env, &SystemFacts::of_process()).expect("a home");
    let config = Config::load_read_only(&Sources::new(&env, root));
    let servers = ServerSettings::resolve(&config, &env, &location);
    BoardHome::resolve(&env, &location).on_servers(servers)
}

fn file(store: &mut StoredBoard, number: usize) -> TaskId {
    let new = NewTask {
        body: Some("x".repeat(200)),
        assignee: Some(Assignee::parse("coder").expect("a name")),
        ..NewTask::titled(format!("card {number}"))
    };
    store.create(&new).expect("a card").task.id
}

fn work(store: &mut StoredBoard, home: &BoardHome, card: &TaskId, lock: &str) {
    let claimed = store.claim(&ClaimRequest {
        task: card.clone(),
        lock: lock.to_owned(),
        ttl_seconds: 900,
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: None,
        caps: ClaimCaps::default(),
    });
    let Ok(ClaimOutcome::Claimed(claimed)) = claimed else {
        panic!("not claimed: {claimed:?}");
    };
    let completion = Completion {
        result: Some("ok".to_owned()),
        expected_run: Some(claimed.run),
        ..Completion::default()
    };
    let done = complete_card(store, home, card, &completion);
    assert!(matches!(done, Ok(CompleteOutcome::Done(_))), "{done:?}");
}
