//! Changing files of a remote host.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::RemoteFiles;
use crate::context::CallContext;
use crate::files::file_ledger::FileStamp;
use crate::files::filesystem::Written;
use crate::remote::ScriptQuery;
use crate::saved_result::ResultToSave;

const WRITE: &str = include_str!("scripts/write.sh");
const KEEP: &str = include_str!("scripts/keep.sh");
const REMOVE: &str = include_str!("scripts/remove.sh");

/// How long a write may take: content travels, and disks are slow.
const WRITE_LIMIT: Duration = Duration::from_mins(2);

impl RemoteFiles {
    pub(super) fn write_remote(
        &self,
        target: &Path,
        bytes: &[u8],
        context: &CallContext,
    ) -> Result<Written, String> {
        let length = bytes.len().to_string();
        let nonce = hermes_fs::random_hex(16);
        let mut answer = self.ask(ScriptQuery {
            arguments: &[
                target.as_os_str().as_bytes(),
                length.as_bytes(),
                nonce.as_bytes(),
            ],
            input: bytes,
            limit: WRITE_LIMIT,
            ..ScriptQuery::new(WRITE, &context.interrupt)
        })?;
        match answer.text()?.as_str() {
            "written" => {}
            "special" => {
                return Err(format!(
                    "{} is not a regular file and is not replaced.",
                    target.display()
                ));
            }
            kind => return Err(answer.refusal(kind, target, "write")),
        }
        let target = answer.path()?;
        let dirs_created = answer.text()? == "yes";
        let stamp = |text: String| (!text.is_empty()).then(|| FileStamp::reported(text));
        Ok(Written {
            target,
            dirs_created,
            before: stamp(answer.text()?),
            after: stamp(answer.text()?),
        })
    }

    pub(super) fn keep_remote(&self, keeping: &ResultToSave<'_>) -> Result<PathBuf, String> {
        let length = keeping.text.len().to_string();
        let mut answer = self.ask(ScriptQuery {
            arguments: &[
                keeping.directory.as_bytes(),
                keeping.file.as_bytes(),
                length.as_bytes(),
            ],
            input: keeping.text.as_bytes(),
            limit: WRITE_LIMIT,
            ..ScriptQuery::new(KEEP, &keeping.context.interrupt)
        })?;
        match answer.text()?.as_str() {
            "kept" => answer.path(),
            kind => Err(answer.refusal(kind, Path::new(&keeping.file), "write")),
        }
    }

    pub(super) fn remove_remote(&self, target: &Path, context: &CallContext) -> Result<(), String> {
        let mut answer = self.ask(ScriptQuery {
            arguments: &[target.as_os_str().as_bytes()],
            ..ScriptQuery::new(REMOVE, &context.interrupt)
        })?;
        match answer.text()?.as_str() {
            "removed" => Ok(()),
            kind => Err(answer.refusal(kind, target, "remove")),
        }
    }
}
