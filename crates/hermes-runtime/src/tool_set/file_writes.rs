//! Where the file tools may write on this machine.

use std::path::{Path, PathBuf};

use hermes_config::vars;
use hermes_policy::{WriteContext, check_write, parse_safe_roots};
use hermes_terminal::environment::LiveEnvironment;
use hermes_tools::{CrossProfile, WriteGuard};

use crate::context::Context;

/// The write rules of a session.
pub(super) struct FileWrites {
    context: WriteContext,
}

impl FileWrites {
    pub(super) fn new(context: &Context, environment: &LiveEnvironment) -> Self {
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
        }
    }

    /// The same rules for a session that works in `cwd`.
    pub(super) fn in_directory(&self, cwd: PathBuf) -> Self {
        Self {
            context: WriteContext {
                cwd,
                ..self.context.clone()
            },
        }
    }
}

impl WriteGuard for FileWrites {
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String> {
        let context = WriteContext {
            cross_profile: cross_profile == CrossProfile::Allowed,
            ..self.context.clone()
        };
        check_write(&context, path).map_err(|refusal| format!("Write denied: {refusal}."))
    }
}
