//! Sessions that nobody continues.

use std::path::Path;
use std::time::Duration;

use crate::gateway::ServedGateway;
use crate::model::Question;
use crate::sessions::begin_sessions;
use crate::vitals::Vitals;

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct IdleReport {
    /// The gateway before the first session.
    pub start: Vitals,
    /// The gateway with all of them.
    pub end: Vitals,
    /// Sessions that are there.
    pub sessions: usize,
}

/// Begins so many sessions, each with an answer of this size, and lets them rest.
pub fn idle_sessions(program: &Path, count: usize, bytes: usize, rest: Duration) -> IdleReport {
    let gateway = ServedGateway::start(program);
    let api = gateway.api();
    let start = gateway.vitals();
    begin_sessions(&api, count, |number| Question {
        bytes,
        ..Question::new(format!("s{number}"))
    });
    std::thread::sleep(rest);
    let end = gateway.vitals();
    let mut sessions = 0;
    loop {
        let page = format!("/api/sessions?limit=200&offset={sessions}");
        let reply = api.call("GET", &page, None).unwrap();
        let more = reply.json()["data"].as_array().map_or(0, Vec::len);
        if more == 0 {
            break;
        }
        sessions += more;
    }
    IdleReport {
        start,
        end,
        sessions,
    }
}
