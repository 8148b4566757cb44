//! The first shell of a session: what the user's own start-up files set up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hermes_proc::Wake;

use hermes_fs::random_hex;

use super::backend::LocalBackend;
use super::directory::nearest_enterable;
use super::shell_run::ShellRun;
use crate::backend::CommandEnd;
use crate::environment::ShellEnvRequest;
use crate::shell::report::{Report, report_nonce};
use crate::shell::script::Script;
use crate::shell::{Overlay, Session, SessionKey, Sessions, ShellState, StateDelta, quote};

/// Files read when none are configured.
const USER_FILES: &[&str] = &["~/.profile", "~/.bash_profile", "~/.bashrc"];

impl LocalBackend {
    /// Runs the login shell, once per session, and takes over what it set up. A session whose login
    /// shell fails goes on without.
    pub(super) fn ensure_login(&self, session: &Session, interrupt: &Wake, shutdown: &Wake) {
        session.login_once(|| {
            for login in [true, false] {
                match self.ask_login_shell(login, session, &[interrupt, shutdown]) {
                    Answer::State(delta) => {
                        if !login {
                            tracing::warn!(
                                session = %session.key(),
                                "the login shell failed; the session runs without its state"
                            );
                        }
                        session.log_in(delta);
                        return true;
                    }
                    Answer::None => {}
                    Answer::Interrupted => return false,
                }
            }
            tracing::warn!(session = %session.key(), "no shell reported its state");
            true
        });
    }

    /// What the login shell of a new session changes about its variables. The session ends with this
    /// call.
    pub fn login_overlay(&self, interrupt: &Wake) -> Overlay {
        let key = SessionKey::new("login");
        let session = Sessions::default().get(&key, &self.settings.start_directory);
        self.ensure_login(&session, interrupt, interrupt);
        (*session.snapshot().overlay).clone()
    }

    fn ask_login_shell(&self, login: bool, session: &Session, interrupts: &[&Wake]) -> Answer {
        // Without one no command of the session runs either.
        let Ok(sandbox) = self.confinement(self.usual) else {
            return Answer::Interrupted;
        };
        let shell = self.shells.find();
        let mark = random_hex(16);
        let overlay = Overlay::default();
        let variables = self.variables(
            &ShellEnvRequest {
                session: session.key(),
                overlay: &overlay,
                background: false,
                pty: false,
                exec_id: &mark,
            },
            self.usual,
        );
        let files = if login {
            self.init_files(&variables)
        } else {
            Vec::new()
        };
        let nonce = report_nonce();
        let cwd = nearest_enterable(
            &self.settings.start_directory,
            &self.settings.temp_directory,
        );
        let run = ShellRun {
            shell: &shell,
            login,
            script: &Script {
                state: &ShellState::new(cwd.clone()),
                command: &source_commands(&files),
                nonce: &nonce,
            },
            cwd: &cwd,
            variables: &variables,
            mark: &mark,
            input: b"",
            limit: self.settings.login_limit,
            interrupts,
            guard: self.guard(),
            sandbox: sandbox.as_ref(),
        };
        // What start-up files print is not part of any command's output.
        let outcome = match run.run(&mut |_| {}) {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(%error, "the login shell did not start");
                return Answer::None;
            }
        };
        match outcome.end {
            CommandEnd::Interrupted => Answer::Interrupted,
            CommandEnd::Exited(0) => Report::parse(&outcome.report, &nonce)
                .map_or(Answer::None, |report| {
                    Answer::State(report.login_changes(&variables))
                }),
            CommandEnd::Exited(_) | CommandEnd::TimedOut | CommandEnd::Lost => Answer::None,
        }
    }

    fn init_files(&self, variables: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let home = self.environment.child_home();
        let configured = &self.settings.init_files;
        if !configured.is_empty() {
            let expand = |text: &String| expand_path(text, &home, variables);
            return configured.iter().map(expand).collect();
        }
        if !self.settings.source_user_files {
            return Vec::new();
        }
        USER_FILES
            .iter()
            .map(|text| expand_path(text, &home, variables))
            .collect()
    }
}

enum Answer {
    State(StateDelta),
    None,
    Interrupted,
}

/// Reads each file that is there; what goes wrong in one does not keep the next from being read.
fn source_commands(files: &[PathBuf]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = Vec::new();
    for file in files.iter().filter(|file| file.is_file()) {
        text.extend_from_slice(b". ");
        text.extend_from_slice(&quote(file.as_os_str().as_bytes()));
        text.extend_from_slice(b" 2>/dev/null || :\n");
    }
    text
}

/// A path with `~` and `${NAME}` replaced; an unknown name stays as it is written.
fn expand_path(text: &str, home: &Path, variables: &[(OsString, OsString)]) -> PathBuf {
    let text = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest).into_os_string(),
        None => text.into(),
    };
    // Only the configured part can hold a reference; a home that is not Unicode is left alone.
    let Some(text) = text.to_str() else {
        return text.into();
    };
    let mut out = OsString::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push(before);
        let found = after.split_once('}').and_then(|(name, tail)| {
            let (_, value) = variables.iter().find(|(known, _)| known == name)?;
            Some((value, tail))
        });
        match found {
            Some((value, tail)) => {
                out.push(value);
                rest = tail;
            }
            None => {
                out.push("${");
                rest = after;
            }
        }
    }
    out.push(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn paths_of_init_files_are_expanded() {
        let variables = [(OsString::from("DOT"), OsString::from("/d o t"))];
        let expand = |text| expand_path(text, Path::new("/h"), &variables);
        assert_eq!(expand("~/.bashrc"), Path::new("/h/.bashrc"));
        assert_eq!(expand("${DOT}/rc"), Path::new("/d o t/rc"));
        assert_eq!(expand("/a/${NOPE}/rc"), Path::new("/a/${NOPE}/rc"));
        assert_eq!(expand("/a/${open"), Path::new("/a/${open"));
    }
}
