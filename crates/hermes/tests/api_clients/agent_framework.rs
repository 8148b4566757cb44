//! `openai-agents` of PyPI, whose agents ask this program as their model.

use std::path::Path;

use crate::packages;
use crate::served::{Served, program};

#[track_caller]
fn meets(served: &Served, scenario: &str) {
    let python = packages::openai().python();
    served.client(&python, &[&program("agents_sdk.py"), Path::new(scenario)]);
}

#[test]
fn agents_answer_by_chat_completions_and_by_responses() {
    meets(&Served::new(), "of_both_kinds");
}

#[test]
fn agents_get_the_answer_of_a_turn_with_tools() {
    meets(&Served::new(), "tool_calls");
}
