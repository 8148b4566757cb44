//! The `openai` package of PyPI.

use std::path::Path;

use pretty_assertions::assert_eq;

use crate::packages;
use crate::served::{Served, program};

#[track_caller]
fn meets(served: &Served, scenario: &str) {
    let python = packages::openai().python();
    served.client(&python, &[&program("openai_sdk.py"), Path::new(scenario)]);
}

#[test]
fn models_chats_with_history_and_repeated_requests() {
    let served = Served::new();
    meets(&served, "chat");
    assert_eq!(served.asked("only once"), 1);
}

#[test]
fn chats_at_the_same_time_get_their_own_answers() {
    meets(&Served::new(), "chat_at_once");
}

#[test]
fn streams_arrive_in_pieces_and_whole() {
    meets(&Served::new(), "streaming");
}

#[test]
fn a_client_that_leaves_its_stream_ends_the_turn() {
    let served = Served::new();
    meets(&served, "leaving");
    served.model.wait_for_departure();
}

#[test]
fn tools_of_the_server_show_in_chats_and_responses() {
    meets(&Served::new(), "tool_calls");
}

#[test]
fn responses_are_kept_continued_and_deleted() {
    meets(&Served::new(), "responses");
}

#[test]
fn responses_are_streamed_as_the_package_expects() {
    meets(&Served::new(), "responses_streamed");
}

#[test]
fn every_refusal_is_an_error_of_its_kind() {
    meets(&Served::new(), "errors");
}

#[test]
fn too_many_turns_are_put_off_and_come_back_by_themselves() {
    let one = "gateway:\n  api_server:\n    max_concurrent_runs: 1\n";
    meets(&Served::with(one), "overload");
}
