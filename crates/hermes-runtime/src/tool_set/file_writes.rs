//! Where the file tools may write on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_config::vars;
use hermes_home::Aliases;
use hermes_policy::{WriteContext, check_write, parse_safe_roots};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;
use hermes_tools::{CrossProfile, WriteGuard};

use super::sandbox::SandboxUse;
use crate::context::Context;

/// The write rules of a session.
pub(super) struct FileWrites {
    context: WriteContext,
    /// Where commands are confined, the tools write where commands may, and nowhere else.
    sandbox: Option<Arc<LocalSandbox>>,
    /// The program itself, links followed.
    program: PathBuf,
    aliases: Aliases,
}

impl FileWrites {
    pub(super) fn new(
        context: &Context,
        environment: &LiveEnvironment,
        sandbox: &SandboxUse,
    ) -> Self {
        let builder = environment.current();
        let home = &builder.policy().child_home;
        let safe_roots = context.env.text(&vars::HERMES_WRITE_SAFE_ROOT);
        Self {
            context: WriteContext {
                real_home: home.real_home().to_owned(),
                child_home: home
                    .effective()
                    .unwrap_or_else(|| home.real_home())
                    .to_owned(),
                hermes_home: context.location.home.clone(),
                hermes_root: context.location.root.clone(),
                cwd: PathBuf::new(),
                safe_roots: safe_roots.map(parse_safe_roots).unwrap_or_default(),
                cross_profile: false,
            },
            sandbox: match sandbox {
                SandboxUse::Always(sandbox) => Some(Arc::clone(sandbox)),
                SandboxUse::Never | SandboxUse::InsteadOfRefusal(_) => None,
            },
            program: hermes_fs::canonicalize(&context.program.path)
                .unwrap_or_else(|_| context.program.path.clone()),
            aliases: Aliases::of(&context.location),
        }
    }

    /// The same rules for a session that works in `cwd`.
    pub(super) fn in_directory(&self, cwd: PathBuf) -> Self {
        Self {
            context: WriteContext {
                cwd,
                ..self.context.clone()
            },
            sandbox: self.sandbox.clone(),
            program: self.program.clone(),
            aliases: self.aliases.clone(),
        }
    }

    /// Whether a path is this program, or the command of a profile.
    fn is_own_program(&self, path: &Path) -> bool {
        path == self.program
            || (path.parent() == Some(self.aliases.directory())
                && self.aliases.scan().iter().any(|alias| alias.path == path))
    }
}

impl WriteGuard for FileWrites {
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String> {
        let context = WriteContext {
            cross_profile: cross_profile == CrossProfile::Allowed,
            ..self.context.clone()
        };
        let path =
            check_write(&context, path).map_err(|refusal| format!("Write denied: {refusal}."))?;
        if self.is_own_program(&path) {
            return Err(format!(
                "Write denied: {} is the program of Hermes or the command of a profile, which only \
                 the user changes.",
                path.display()
            ));
        }
        match &self.sandbox {
            Some(sandbox) if !sandbox.may_write(&path) => Err(format!(
                "Write denied: {} is outside of what this sandbox may write; the user adds its \
                 directory to terminal.sandbox_write in config.yaml to allow it.",
                path.display()
            )),
            _ => Ok(path),
        }
    }
}
