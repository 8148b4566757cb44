//! The variables of a session's shells, from the plan of class A.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use hermes_proc::SpawnClass;

use super::builder::Circumstances;
use super::live::LiveEnvironment;
use crate::local::{EnvSource, SpawnRequest};

impl EnvSource for LiveEnvironment {
    fn variables(&self, request: &SpawnRequest<'_>) -> Vec<(OsString, OsString)> {
        let key = request.session.as_str().to_owned();
        let session = [
            ("HERMES_SESSION_KEY".to_owned(), Some(key.clone())),
            ("HERMES_SESSION_ID".to_owned(), Some(key)),
        ];
        let plan = self.ready(Instant::now()).plan(
            SpawnClass::ToolShell,
            &Circumstances {
                overlay: Some(request.overlay),
                session: &session,
                background: request.background,
                pty: request.pty,
                exec_id: Some(request.exec_id),
                ..Circumstances::default()
            },
        );
        let variables = plan.variables().iter();
        variables
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn child_home(&self) -> PathBuf {
        let builder = self.current();
        let home = &builder.policy().child_home;
        home.effective()
            .unwrap_or_else(|| home.real_home())
            .to_owned()
    }
}
