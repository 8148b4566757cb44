//! The private directory of one script on a remote host.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hermes_proc::Wake;
use hermes_telemetry::best_effort;
use hermes_terminal::remote::ScriptRunner;

use crate::execute_code::capture::Capture;
use crate::execute_code::script::{FinishedScript, Script, ScriptEnding};
use crate::remote::ScriptQuery;

const STAGE: &str = include_str!("scripts/stage.sh");
const FINISH: &str = include_str!("scripts/finish.sh");
/// Runs the script and keeps what it prints.
const COLLECTOR: &str = include_str!("../python/collect.py");

/// The directory for temporary files.
const TEMPORARY: &str = "/tmp";
/// Bytes of a report: more than all that is kept of what a script prints.
const MOST_REPORT: usize = 16 * 1024 * 1024;

/// A directory on a remote host that goes when the value is dropped.
pub(super) struct Stage {
    host: Arc<dyn ScriptRunner>,
    path: String,
    /// Whether the directory the script is to run in exists.
    pub(super) directory_exists: bool,
    is_there: bool,
}

impl Stage {
    /// Brings everything there, for a script that is to run in `directory`; the error is a
    /// sentence.
    pub(super) fn prepare(
        host: &Arc<dyn ScriptRunner>,
        script: &Script<'_>,
        module: &str,
        directory: &Path,
    ) -> Result<Self, String> {
        let path = format!("{TEMPORARY}/hermes-script-{}", hermes_fs::random_hex(24));
        let was_swept = script.swept.swap(true, Ordering::Relaxed);
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
                script.code.len().to_string().as_bytes(),
                module.as_bytes(),
                COLLECTOR.as_bytes(),
                directory.as_os_str().as_bytes(),
                if was_swept { b"" } else { b"sweep" },
            ],
            input: script.code.as_bytes(),
            ..ScriptQuery::new(STAGE, &script.context.interrupt)
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
    pub(super) fn finish(mut self) -> Result<Option<FinishedScript>, String> {
        self.is_there = false;
        self.collect()
    }

    fn collect(&self) -> Result<Option<FinishedScript>, String> {
        // Not to be interrupted: what is interrupted is the script.
        let calm = new_wake()?;
        let mut answer = ScriptQuery {
            arguments: &[self.path.as_bytes()],
            most_output: MOST_REPORT,
            ..ScriptQuery::new(FINISH, &calm)
        }
        .ask(self.host.as_ref())?;
        if answer.text()? != "removed" {
            tracing::warn!("{} could not be removed", self.path);
        }
        Ok(read_report(answer.rest()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.is_there {
            best_effort("remove the directory of a script", || self.collect());
        }
    }
}

/// A flag between threads; the error is a sentence.
pub(super) fn new_wake() -> Result<Wake, String> {
    Wake::new().map_err(|error| format!("out of file descriptors: {error}"))
}

/// A report as the collector writes it: facts on one line, then what was kept of both streams.
fn read_report(bytes: &[u8]) -> Option<FinishedScript> {
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
    Some(FinishedScript {
        // Negative for a signal.
        ending: ScriptEnding::Exited(facts.exit),
        stdout,
        stderr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_secret::Redactor;
    use proptest::prelude::*;

    #[test]
    fn a_report_is_read_whole_or_not_at_all() {
        let text = b"{\"exit\": -15, \"streams\": [[9, 2, 3], [1, 1, 0]]}\nheLLoE";
        let report = read_report(text).unwrap();
        assert!(matches!(report.ending, ScriptEnding::Exited(-15)));
        let shown = report.stdout.show(2000, &Redactor::default());
        assert_eq!((shown.total, shown.truncated), (9, true));
        assert_eq!(report.stderr.show_head(100, &Redactor::default()), "E");
        for end in 0..text.len() {
            assert!(read_report(&text[..end]).is_none(), "{end}");
        }
    }

    const ODD: &[u8] = b"{\"exit\":0,\"streams\":[[1,99,18446744073709551615],[1,1,1]]}\n";

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read_report(&bytes).is_none());
            let odd = [ODD, bytes.as_slice()].concat();
            prop_assert!(read_report(&odd).is_none());
        }
    }
}
