//! The last word of a bug: one sentence, no backtrace, no secret, exit code 70. A bug that is
//! contained, such as one in a tool, goes into the log and ends nothing.

use std::io::Write;
use std::panic::PanicHookInfo;

use hermes_secret::Redactor;

/// What scripts see when the program itself is at fault.
const EXIT_CODE: i32 = 70;

/// Replaces the standard report of a panic. Installed first thing in `main`.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info| {
        let report = describe(info);
        if hermes_telemetry::is_contained() {
            tracing::error!("{}", report.trim_end());
            return;
        }
        // Standard error may be closed; the exit code still tells.
        drop(std::io::stderr().write_all(report.as_bytes()));
        leave();
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let what = match (
        info.payload().downcast_ref::<&str>(),
        info.payload().downcast_ref::<String>(),
    ) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "unknown".to_owned(),
    };
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    format!(
        "Error: internal error: {} ({place})\nhint: this is a bug; `hermes dump` and `hermes logs errors` help to report it\n",
        Redactor::default().redact(&what)
    )
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a panicking thread cannot return an exit code from main"
)]
fn leave() {
    std::process::exit(EXIT_CODE);
}
