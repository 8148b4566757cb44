//! The `openai` package of npm.

use std::path::Path;

use crate::packages;
use crate::served::{Served, program};

#[track_caller]
fn meets(served: &Served, scenario: &str) {
    let package = packages::openai_node();
    let entry = package.file("openai/index.mjs");
    let words = [&program("openai_node.mjs"), &entry, Path::new(scenario)];
    served.client(package.node(), &words);
}

#[test]
fn models_chats_and_streams() {
    meets(&Served::new(), "chat");
}

#[test]
fn tools_of_the_server_show_in_chats_and_responses() {
    meets(&Served::new(), "tool_calls");
}

#[test]
fn responses_are_kept_continued_and_streamed() {
    meets(&Served::new(), "responses");
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
