//! Getting a connection, and what has to be known of the other side.

use std::time::Duration;

use hermes_telemetry::best_effort;

use super::client::{SshClient, command_line};
use super::control::ControlPaths;
use super::diagnosis::{Cause, SSH_FAILED, cause_of, connection_failed, down, words};
use super::mux::put_aside;
use super::settings::SshSettings;
use super::surroundings::SshTiming;
use hermes_terminal::remote::TransportError;

/// Directories below the home there that always exist.
const DIRECTORIES: [&str; 4] = [
    ".hermes",
    ".hermes/skills",
    ".hermes/credentials",
    ".hermes/cache",
];

/// Makes sure that programs can be started there. Whoever comes first opens the connection for all.
///
/// A shared connection that does not answer, because the network has changed under it, is put
/// aside:
/// what runs over it is left alone, and newcomers get another.
pub(crate) fn connect(
    client: &SshClient,
    settings: &SshSettings,
    control: &ControlPaths,
    limit: Duration,
) -> Result<(), TransportError> {
    let was_shared = hermes_fs::exists_no_follow(&control.socket);
    match test(client, settings, limit) {
        Ok(()) => Ok(()),
        Err((_, true)) if was_shared => {
            tracing::warn!(
                "the connection to {} does not answer; opening a new one",
                client.target()
            );
            put_aside(client, control);
            test(client, settings, limit).map_err(|(error, _)| error)
        }
        Err((error, _)) => Err(error),
    }
}

/// The error comes with whether it may be the shared connection alone.
fn test(
    client: &SshClient,
    settings: &SshSettings,
    limit: Duration,
) -> Result<(), (TransportError, bool)> {
    let captured = client.run("true", limit).map_err(|error| match error {
        hermes_proc::Error::Deadline { .. } => {
            let message = format!("SSH connection to {} timed out", client.target());
            (down(message, Some(Cause::Unreachable.hint(settings))), true)
        }
        error => (down(error.to_string(), error.hint()), false),
    })?;
    if captured.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&captured.stderr);
    let is_lost = captured.status.code() == Some(SSH_FAILED) && cause_of(&said) == Cause::Lost;
    let said = if words(&said).is_empty() {
        // Accounts that may not log in say so here.
        String::from_utf8_lossy(&captured.stdout)
    } else {
        said
    };
    Err((connection_failed(&said, settings), is_lost))
}

/// The home there, and the directories of Hermes in it. A machine that does not answer sensibly
/// gets
/// the benefit of the doubt: commands run all the same.
pub(crate) fn find_home(client: &SshClient, settings: &SshSettings, timing: &SshTiming) -> String {
    let asked = best_effort("determine the remote home directory", || {
        client.run("echo $HOME", timing.question)
    });
    let told = asked.filter(|captured| captured.status.success());
    let told = told.and_then(|captured| home_in(&String::from_utf8_lossy(&captured.stdout)));
    let home = told.unwrap_or_else(|| usual_home(&settings.user));

    let paths = DIRECTORIES.map(|name| format!("{home}/{name}"));
    // For this user alone, whatever the machine's habits.
    let argv: Vec<&str> = ["sh", "-c", "umask 077; mkdir -p -- \"$@\"", "sh"]
        .into_iter()
        .chain(paths.iter().map(String::as_str))
        .collect();
    let made = best_effort("create the remote directories", || {
        client.run(&command_line(&argv), timing.question)
    });
    if let Some(captured) = made.filter(|captured| !captured.status.success()) {
        let said = words(&String::from_utf8_lossy(&captured.stderr));
        tracing::warn!(
            "could not create the Hermes directories on {}: {said}",
            client.target()
        );
    }
    home
}

/// Start-up files may print things first, so the last line that is a path counts.
fn home_in(output: &str) -> Option<String> {
    let lines = output.lines().rev().map(str::trim);
    let home = lines
        .map(|line| line.trim_end_matches('/'))
        .find(|line| line.starts_with('/') && !line.chars().any(char::is_control))?;
    Some(home.to_owned())
}

fn usual_home(user: &str) -> String {
    if user == "root" {
        "/root".to_owned()
    } else {
        format!("/home/{user}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_found_behind_what_start_up_files_print() {
        assert_eq!(home_in("/home/me\n").as_deref(), Some("/home/me"));
        assert_eq!(
            home_in("Welcome!\n/etc/motd says hi\n/home/me/\r\n").as_deref(),
            Some("/home/me")
        );
        assert_eq!(home_in("$HOME\n"), None);
        assert_eq!(home_in(""), None);
        assert_eq!(usual_home("root"), "/root");
        assert_eq!(usual_home("me"), "/home/me");
    }
}
