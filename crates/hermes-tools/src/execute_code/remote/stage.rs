//! The private directory of one script on a remote host.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_proc::Wake;
use hermes_telemetry::best_effort;
use hermes_terminal::remote::ScriptRunner;

use crate::execute_code::capture::Capture;
use crate::remote::ScriptQuery;

const STAGE: &str = include_str!("scripts/stage.sh");
const FINISH: &str = include_str!("scripts/finish.sh");
/// Runs the script and keeps what it prints.
const COLLECTOR: &str = include_str!("../python/collect.py");

/// The directory for temporary files.
const TEMPORARY: &str = "/tmp";
/// Bytes of a report: more than all that is kept of what a script prints.
const MOST_REPORT: usize = 16 * 1024 * 1024;

/// What a script consists of.
pub(super) struct Staging<'a> {
    pub(super) code: &'a str,
    pub(super) module: &'a str,
    /// Where it is to run.
    pub(super) directory: &'a Path,
    /// Set once left-overs of crashed runs were looked for.
    pub(super) swept: &'a AtomicBool,
}

/// A directory on a remote host that goes when the value is dropped.
pub(super) struct Stage {
    host: Arc<dyn ScriptRunner>,
    path: String,
    /// Whether the directory the script is to run in exists.
    pub(super) directory_exists: bool,
    is_there: bool,
}

impl Stage {
    /// Brings everything there; the error is a sentence.
    pub(super) fn prepare(
        host: &Arc<dyn ScriptRunner>,
        staging: &Staging<'_>,
        interrupt: &Wake,
    ) -> Result<Self, String> {
        let path = format!("{TEMPORARY}/hermes-script-{}", hermes_fs::random_hex(24));
        let sweep = if staging.swept.swap(true, Ordering::Relaxed) {
            ""
        } else {
            "sweep"
        };
        let mut stage = Self {
            host: Arc::clone(host),
            path,
            directory_exists: false,
            // From here on it may be there, whatever the answer is.
            is_there: true,
        };
        let mut answer = ScriptQuery {
            arguments: &[
                stage.path.as_bytes(),
                staging.code.len().to_string().as_bytes(),
                staging.module.as_bytes(),
                COLLECTOR.as_bytes(),
                staging.directory.as_os_str().as_bytes(),
                sweep.as_bytes(),
            ],
            input: staging.code.as_bytes(),
            ..ScriptQuery::new(STAGE, interrupt)
        }
        .ask(host.as_ref())?;
        let kind = answer.text()?;
        if kind != "staged" {
            return Err(answer.refusal(&kind, Path::new(&stage.path), "write"));
        }
        stage.directory_exists = answer.text()? == "there";
        Ok(stage)
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The directory the script itself is in.
    pub(super) fn script_directory(&self) -> String {
        format!("{}/script", self.path)
    }

    /// Takes what is left of the script and removes the directory.
    pub(super) fn finish(mut self) -> Result<Option<Report>, String> {
        self.is_there = false;
        self.collect()
    }

    fn collect(&self) -> Result<Option<Report>, String> {
        // Not to be interrupted: what is interrupted is the script.
        let calm = Wake::new().map_err(|error| format!("no descriptor is left: {error}"))?;
        let mut answer = ScriptQuery {
            arguments: &[self.path.as_bytes()],
            most_output: MOST_REPORT,
            ..ScriptQuery::new(FINISH, &calm)
        }
        .ask(self.host.as_ref())?;
        if answer.text()? != "removed" {
            tracing::warn!("{} could not be removed there", self.path);
        }
        Ok(Report::read(answer.rest()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.is_there {
            best_effort("remove the directory of a script", || self.collect());
        }
    }
}

/// What a script left.
#[derive(Debug)]
pub(super) struct Report {
    /// Its exit code, negative for a signal.
    pub(super) exit_code: i32,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}

impl Report {
    /// A report as the collector writes it: facts on one line, then what was kept of both streams.
    fn read(bytes: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Facts {
            exit: i32,
            /// Per stream: bytes in all, of the head, of the tail.
            streams: [[usize; 3]; 2],
        }
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, mut rest) = bytes.split_at_checked(end)?;
        let facts: Facts = serde_json::from_slice(line).ok()?;
        rest = rest.get(1..)?;
        let mut streams = Vec::new();
        for [total, head, tail] in facts.streams {
            let kept = head.checked_add(tail).filter(|kept| *kept <= total)?;
            let (kept, others) = rest.split_at_checked(kept)?;
            let (head, tail) = kept.split_at_checked(head)?;
            streams.push(Capture::of_ends(head, tail, total));
            rest = others;
        }
        let stderr = streams.pop()?;
        let stdout = streams.pop()?;
        Some(Self {
            exit_code: facts.exit,
            stdout,
            stderr,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_secret::Redactor;
    use proptest::prelude::*;

    #[test]
    fn a_report_is_read_whole_or_not_at_all() {
        let text = b"{\"exit\": -15, \"streams\": [[9, 2, 3], [1, 1, 0]]}\nheLLoE";
        let report = Report::read(text).unwrap();
        assert_eq!(report.exit_code, -15);
        let shown = report.stdout.show(2000, &Redactor::default());
        assert_eq!((shown.total, shown.truncated), (9, true));
        assert_eq!(report.stderr.show_head(100, &Redactor::default()), "E");
        for end in 0..text.len() {
            assert!(Report::read(&text[..end]).is_none(), "{end}");
        }
    }

    const ODD: &[u8] = b"{\"exit\":0,\"streams\":[[1,99,18446744073709551615],[1,1,1]]}\n";

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Report::read(&bytes).is_none());
            let odd = [ODD, bytes.as_slice()].concat();
            prop_assert!(Report::read(&odd).is_none());
        }
    }
}
