//! `GET /api/logs`: the end of a log, filtered.

use hermes_telemetry::reader::{LogName, LogQuery, LogReader};
use serde_json::json;

use crate::call::{Answered, Call};
use crate::http::ApiError;

const MOST_LINES: usize = 500;
/// Lines that are looked through for a text.
const SEARCHED_LINES: usize = 2_000;

pub(crate) fn logs(call: &Call) -> Answered {
    let file = call.query("file").unwrap_or_else(|| "agent".to_owned());
    let lines = call.query_number("lines", 100, 0..=1_000_000)?;
    let lines = usize::try_from(lines).unwrap_or(0).min(MOST_LINES);
    let refused = |error: hermes_telemetry::ArgumentError| ApiError::bad_request(error.to_string());
    let chosen = |name: &str| {
        let word = call.query(name);
        word.filter(|word| !word.eq_ignore_ascii_case("all"))
    };
    let name: LogName = file.parse().map_err(refused)?;
    let needle = call.query("search").map(|text| text.to_lowercase());
    let query = LogQuery {
        lines: if needle.is_some() {
            SEARCHED_LINES
        } else {
            lines
        },
        level: chosen("level")
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(refused)?,
        session: call.query("session"),
        since: None,
        component: chosen("component")
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(refused)?,
    };
    let context = call.context();
    // What the boot of a container and its supervisors write is beside the logs of the default profile.
    let home = match name {
        LogName::Boot | LogName::GatewayProfile(_) => &context.location.root,
        LogName::Agent | LogName::Errors | LogName::Gateway | LogName::Gui | LogName::Addon(_) => {
            &context.location.home
        }
    };
    let reader = LogReader::new(
        home.join("logs"),
        name,
        &context.zone(),
        jiff::Timestamp::now(),
    );
    let mut found = if reader.path().exists() {
        let read = reader.read(&query);
        read.map_err(|error| ApiError::unavailable(error.to_string()))?
    } else {
        Vec::new()
    };
    if let Some(needle) = needle {
        found.retain(|line| line.to_lowercase().contains(&needle));
        let surplus = found.len().saturating_sub(lines);
        found.drain(..surplus);
    }
    call.answer(json!({"file": file, "lines": found}))
}
