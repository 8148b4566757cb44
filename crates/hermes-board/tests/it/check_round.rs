//! The steps of a round of checks, for the tests and the other process.

use hermes_board::model::{CheckEvidence, Checker, TaskId};
use hermes_board::store::{
    BoardStore, CheckOutcome, CheckStart, ChecksBegun, Completion, FailurePolicy, NewTask,
};
use hermes_board::{Error, StoredBoard};

use crate::fixture::card;

pub(crate) fn checked_card(commands: &[&str]) -> NewTask {
    NewTask {
        checks: commands.iter().map(|command| (*command).into()).collect(),
        ..card("checked")
    }
}

pub(crate) fn checker(pid: u32) -> Checker {
    Checker {
        lock: format!("host:{pid}"),
        pid,
        identity: None,
    }
}

pub(crate) fn begin_as(
    board: &mut StoredBoard,
    id: &TaskId,
    pid: u32,
    others_are_gone: bool,
) -> Result<ChecksBegun, Error> {
    board.begin_checks(
        id,
        &Completion {
            summary: Some("did it".to_owned()),
            ..Completion::default()
        },
        &CheckStart {
            checker: checker(pid),
            ttl_seconds: 900,
            is_gone: &|_| others_are_gone,
        },
    )
}

pub(crate) fn evidence(position: u32, exit_code: i32) -> CheckEvidence {
    CheckEvidence {
        position,
        command: format!("check {position}"),
        exit_code: Some(exit_code),
        timed_out: false,
        output: format!("output of {position}\n"),
        duration_ms: 12,
    }
}

pub(crate) fn finish(board: &mut StoredBoard, session: i64) -> CheckOutcome {
    let completion = Completion {
        summary: Some("did it".to_owned()),
        ..Completion::default()
    };
    let policy = FailurePolicy::with_limit(2);
    board.finish_checks(session, &completion, &policy).unwrap()
}
