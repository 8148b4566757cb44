//! The other process of the tests: `ROLE ROOT …`, on the board of the home at `ROOT`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a part of the tests, which says what it did and fails by panicking"
)]

#[path = "../check_round.rs"]
mod check_round;
#[path = "../fixture.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod fixture;
mod killed;
mod many;
mod storm;
#[path = "../workers/storm_place.rs"]
mod storm_place;
mod workers;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [role, root, rest @ ..] = arguments.as_slice() else {
        panic!("no role: {arguments:?}");
    };
    let root = Path::new(root);
    let number = || rest.first().unwrap().parse().unwrap();
    match *role {
        "check" => killed::check(root, number()),
        "open" => killed::open(root, number()),
        "complete" => killed::complete(root, number()),
        "attach" => killed::attach(root, number()),
        "board" => killed::board(root, number()),
        "life" => killed::life(root, number()),
        "same-key" => many::create_with_one_key(root),
        "create" => many::create(root, number()),
        "claim" => many::claim(root, number()),
        "fill" => many::fill(root),
        "complete-only-card" => workers::complete_only_card(root),
        "dispatch-and-die" => workers::dispatch_and_die(root, number()),
        "dispatch-and-stay" => workers::dispatch_and_stay(root),
        "storm-dispatch" => storm::dispatch(root),
        "storm-work" => storm::work(root),
        other => panic!("no role: {other}"),
    }
}
