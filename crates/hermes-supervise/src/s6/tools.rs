//! The programs of s6: where they are, and asking them for something in good time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::manager::{Caller, ManagerError, Tool};
use crate::s6::status::SlotStatus;

/// How long a program of s6 may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Where they are looked for before `PATH`, which lacks the first in `docker exec`.
const DIRECTORIES: [&str; 2] = ["command", "usr/bin"];
/// What `s6-svstat` is asked for. Its sentences differ from version to version.
const FIELDS: &str = "up,wantedup,pid,exitcode,signal";

/// The programs of s6 on this machine.
#[derive(Debug, Clone)]
pub(super) struct S6Tools {
    caller: Caller,
}

impl S6Tools {
    pub(super) fn new(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
        }
    }

    fn find(&self, name: &str) -> Result<Tool, ManagerError> {
        let found = DIRECTORIES.iter().find_map(|directory| {
            let path = self.caller.at(directory);
            hermes_proc::find_on_path(OsStr::new(name), Some(path.as_os_str()))
        });
        let found: Option<PathBuf> = found
            .or_else(|| hermes_proc::find_on_path(OsStr::new(name), self.caller.variable("PATH")));
        let program = found.ok_or_else(|| ManagerError::NoTool(name.to_owned()))?;
        Ok(Tool::at(name, program, &self.caller))
    }

    /// Tells `s6-svscan` to look at its directory again; with `drop_gone`, also to end the
    /// supervisors of what has left it.
    pub(super) fn rescan(&self, directory: &Path, drop_gone: bool) -> Result<(), ManagerError> {
        let flag = if drop_gone { "-an" } else { "-a" };
        let words = [flag, &directory.to_string_lossy()];
        self.find("s6-svscanctl")?.demand(&words, LIMIT)
    }

    /// Tells the supervisor of a slot something. `verb` is what that means to people.
    pub(super) fn control(
        &self,
        slot: &Path,
        verb: &'static str,
        flag: &str,
    ) -> Result<(), ManagerError> {
        let tool = self.find("s6-svc")?;
        let answer = tool.ask(&[flag, &slot.to_string_lossy()], LIMIT)?;
        if answer.is_success() {
            return Ok(());
        }
        let name = slot.file_name().unwrap_or_default().to_string_lossy();
        Err(ManagerError::Slot {
            verb,
            slot: name.into_owned(),
            code: answer.code.unwrap_or(-1),
            words: answer.words,
        })
    }

    /// What a slot does.
    pub(super) fn status(&self, slot: &Path) -> Result<SlotStatus, ManagerError> {
        let tool = self.find("s6-svstat")?;
        let words = ["-o", FIELDS, &slot.to_string_lossy()];
        let answer = tool.ask(&words, LIMIT)?;
        match answer.code {
            Some(0) => SlotStatus::parse(&answer.stdout)
                .ok_or_else(|| ManagerError::Status(answer.stdout.clone())),
            Some(1) => Ok(SlotStatus::default()),
            _ => Err(tool.refused(&words, &answer)),
        }
    }
}
