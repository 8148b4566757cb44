//! The boot hook: root's half, then the runtime user's with no more rights than that user has, then
//! the slots of all profiles.

use std::ffi::OsString;

use hermes_home::{Location, SystemFacts, is_container};
use hermes_supervise::{Caller, MainCommand, Owner, Reconcile, append_boot_log};

use super::{Role, STAGE, own_program, variables};
use crate::error::{CommandError, Result};

/// The last line of the boot hook.
const DONE: &str = "Setup complete; starting user services";

impl Role<'_> {
    /// Prepares accounts, ownership and home. Only a user that cannot run here stops the start.
    pub(super) fn boot(&self) -> Result<()> {
        let mut lines = Vec::new();
        let machine = self.machine();
        let prepared = machine.prepare(&mut |line| {
            self.say(line);
            lines.push(line.to_owned());
        });
        prepared.map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))?;
        let seeded = self.owner().with_files(|| {
            machine.seed(&mut |line| {
                self.say(line);
                lines.push(line.to_owned());
            });
            if let Err(error) = hermes_skills::bundled::sync_if_needed(&machine.home()) {
                let line = format!("warning: the bundled skills were not copied: {error}");
                self.say(&line);
                lines.push(line);
            }
            self.say(DONE);
            lines.push(DONE.to_owned());
            let now = hermes_time::now().strftime("%Y-%m-%dT%H:%M:%S%z");
            let lines = lines.iter().map(|line| format!("{now} {STAGE} {line}"));
            append_boot_log(&machine.home(), &lines.collect::<Vec<_>>())
        });
        match seeded {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.say(&format!("warning: {error}")),
            Err(error) => self.say(&format!("warning: the home was not prepared: {error}")),
        }
        Ok(())
    }

    /// Gives every profile its slot; the line of the default profile is the last of the boot.
    pub(super) fn reconcile(&self, command: &[OsString]) -> Result<()> {
        let system = SystemFacts::of_process();
        let location = Location::resolve(self.env, &system)
            .map_err(|error| CommandError::environment(error.to_string()))?;
        let command = MainCommand::of_words(command.iter().cloned());
        let done = Reconcile {
            caller: &self.caller(),
            location: &location,
            env: self.env,
            program: &own_program()?,
            main_command: Some(&command),
            dry_run: false,
        }
        .run();
        for note in &done.notes {
            self.say(&format!("warning: {note}"));
        }
        for row in &done.rows {
            self.printer.err(&format!("reconcile: {row}\n"))?;
        }
        Ok(())
    }

    pub(super) fn owner(&self) -> Owner {
        Owner::of(&self.caller())
    }

    fn caller(&self) -> Caller {
        let system = SystemFacts::of_process();
        Caller {
            variables: variables(self.env),
            uid: self.uid,
            home: system.home_by_uid().unwrap_or_else(|| "/".into()),
            is_container: is_container(self.env, &system),
            file_system_root: system.file_system_root,
        }
    }
}
