//! The last word of a bug: one sentence, no backtrace, no secret, exit code 70. A bug that is
//! contained, such as one in a tool, goes into the log and ends nothing.

use std::io::Write;
use std::panic::PanicHookInfo;

use hermes_secret::Redactor;

/// What scripts see when the program itself is at fault.
const EXIT_CODE: i32 = 70;

/// What to do about a bug.
pub(crate) const BUG_HINT: &str =
    "this is a bug; `hermes dump` and `hermes logs errors` help to report it";

/// Replaces the standard report of a panic. Installed first thing in `main`.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info| {
        let report = describe(info);
        if hermes_telemetry::is_contained() {
            tracing::error!("{}", report.trim_end());
            return;
        }
        hermes_chat::restore_terminal();
        // Standard error may be closed; the exit code still tells.
        drop(std::io::stderr().write_all(report.as_bytes()));
        #[expect(
            clippy::exit,
            clippy::disallowed_methods,
            reason = "a panicking thread cannot return an exit code from main"
        )]
        std::process::exit(EXIT_CODE);
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("unknown");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    format!(
        "Error: internal error: {} ({place})\nhint: {BUG_HINT}\n",
        hermes_text::visible(&Redactor::default().redact(what))
    )
}
