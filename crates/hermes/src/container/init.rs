//! The first process of the container: boots, then makes room for the supervisor, which it becomes.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use hermes_config::{Environment, vars};
use hermes_proc::stages::{become_program, descriptor_number, give_up_input};
use hermes_proc::{ChildSpec, Group, Streams, find_on_path};

use super::scandir::{self, SCANDIR, WATCHER};
use super::{Role, own_program, variables};
use crate::error::{CommandError, Result};

/// Variables of the container that are not for its services.
const NOT_FOR_SERVICES: [vars::Var; 2] = [
    vars::HERMES_AUTH_JSON_BOOTSTRAP,
    vars::HERMES_DOCKER_EXEC_AS_ROOT,
];

impl Role<'_> {
    /// Boots and runs the main program, with supervision if this is the first process.
    pub(super) fn init(&self, args: &[OsString]) -> Result<ExitCode> {
        let is_first = std::process::id() == 1;
        if !is_first {
            self.say(
                "warning: another init is the first process, so gateways are not supervised; \
                 leave out --init",
            );
        }
        self.boot()?;
        if is_first {
            let reason = self.supervise(args);
            self.say(&format!(
                "warning: gateways are not supervised: {}",
                reason.message
            ));
            for hint in &reason.hints {
                self.say(&format!("hint: {hint}"));
            }
        }
        self.main_program(args)
    }

    /// Becomes the supervisor, with the main program beside it. Returns only with why not.
    fn supervise(&self, args: &[OsString]) -> CommandError {
        match self.try_supervise(args) {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    fn try_supervise(&self, args: &[OsString]) -> Result<std::convert::Infallible> {
        let env = self.env.without(&NOT_FOR_SERVICES);
        let supervisor = find_supervisor(&env)?;
        scandir::prepare(&env, &self.owner()).map_err(|error| {
            CommandError::environment(error.to_string())
                .hint("with a read-only root, add --tmpfs /run")
        })?;
        self.reconcile(args)?;
        let failed = |error: io::Error| CommandError::environment(error.to_string());
        let (ready, tell) = io::pipe().map_err(failed)?;
        let words = ["internal", "watch"].map(OsString::from);
        let number = OsString::from(descriptor_number(&ready).to_string());
        let args = words
            .into_iter()
            .chain([number])
            .chain(args.iter().cloned());
        let watcher = ChildSpec {
            streams: Streams::Inherited,
            group: Group::Shared,
            inherited: vec![ready.into()],
            kill_on_drop: false,
            ..ChildSpec::new(own_program()?, args, variables(self.env))
        };
        let watcher = watcher
            .spawn()
            .map_err(|error| CommandError::environment(error.to_string()))?;
        let pid = watcher.pid().to_string();
        hermes_fs::write_atomic(Path::new(WATCHER), pid.as_bytes(), 0o644)?;
        give_up_input().map_err(failed)?;
        let args = ["-d", &descriptor_number(&tell).to_string(), SCANDIR].map(OsString::from);
        let tell = std::os::fd::AsFd::as_fd(&tell);
        let error = become_program(&supervisor, &args, &variables(&env), &[tell]);
        // The main program runs already, and without this process there is no container.
        drop(watcher);
        Err(CommandError::environment(format!(
            "could not start {}: {error}",
            supervisor.display()
        )))
    }
}

fn find_supervisor(env: &Environment) -> Result<std::path::PathBuf> {
    let directories = ["/command", "/usr/bin"].map(OsString::from);
    let path = env.os(&vars::PATH).map(OsString::from);
    let joined = directories.into_iter().chain(path);
    let mut search = OsString::new();
    for part in joined {
        if !search.is_empty() {
            search.push(":");
        }
        search.push(part);
    }
    find_on_path(std::ffi::OsStr::new("s6-svscan"), Some(&search)).ok_or_else(|| {
        CommandError::environment("s6-svscan was not found")
            .hint("the image has Debian's package s6")
    })
}
