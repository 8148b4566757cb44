//! Load on the API of a gateway and on a dashboard, in the short forms of what `scripts/soak` does in full.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::Path;
use std::time::Duration;

use hermes_soak::{idle_sessions, kills, mixed, streams, tool_outputs, watchers};
use pretty_assertions::assert_eq;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hermes"))
}

/// Memory is given back every half minute.
const REST: Duration = Duration::from_secs(32);

#[test]
fn two_hundred_streaming_chats_end_well_and_give_their_memory_back() {
    let report = streams(program(), 200, Duration::from_secs(10), REST);
    println!("{report:#?}");
    assert_eq!(report.errors, Vec::<String>::new());
    assert!(report.chats >= 200, "{report:?}");
    assert!(report.peak.megabytes() < 256.0, "{report:?}");
    let most = report.start.megabytes() * 1.1 + 2.0;
    assert!(report.end.megabytes() < most, "{report:?}");
    // Each would keep what it held in its worst moment.
    assert_eq!(report.peak.pools, 0, "{report:?}");
    // What a thread or a connection left behind would show here.
    assert!(report.end.threads <= report.start.threads + 2, "{report:?}");
    assert!(
        report.end.descriptors <= report.start.descriptors + 8,
        "{report:?}"
    );
}

#[test]
fn a_hundred_idle_sessions_cost_next_to_nothing() {
    let report = idle_sessions(program(), 100, 200 << 10, REST);
    println!("{report:?}");
    assert_eq!(report.sessions, 100);
    assert!(report.end.megabytes() < 64.0, "{report:?}");
}

// gateway 39: what is kept open has a budget of 32 MB
#[test]
fn two_hundred_sessions_with_a_megabyte_of_output_each_stay_within_the_cache() {
    let report = tool_outputs(program(), 200, 1_000_000);
    println!("{report:?}");
    assert!(report.kept > 4, "{report:?}");
    assert!(report.kept_bytes <= 32 << 20, "{report:?}");
    assert!(report.end.megabytes() < 32.0 + 60.0, "{report:?}");
}

#[test]
fn killed_ten_times_under_load_nothing_is_lost_and_nothing_doubled() {
    let report = kills(program(), 10);
    println!("{report:#?}");
    assert_eq!(report.faults, Vec::<String>::new());
    assert!(report.runs > 20 && report.cards == 10, "{report:?}");
}

#[test]
fn everything_at_once_goes_well() {
    let report = mixed(program(), Duration::from_secs(15), |_, _| {});
    println!("{:?} {:?}", report.done, report.samples.last());
    assert_eq!(report.faults, Vec::<String>::new());
    for (name, count) in report.done {
        // The job is due every minute.
        assert!(count > 0 || name == "runs of the job", "{name}");
    }
}

#[test]
fn two_hundred_clients_that_watch_a_board_cost_one_look_a_change() {
    let report = watchers(program(), 200, Duration::from_secs(15), |_, _| {});
    println!("{report:#?}");
    assert_eq!(report.faults, Vec::<String>::new());
    assert!(report.asks_once_a_change(), "{report:?}");
    let most = report.start.megabytes() * 1.1 + 2.0;
    assert!(report.end.megabytes() < most, "{report:?}");
    assert!(report.end.threads <= report.start.threads + 2, "{report:?}");
    assert!(report.ended_after < Duration::from_secs(2), "{report:?}");
}
