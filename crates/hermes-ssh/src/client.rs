//! Calls of the `ssh` program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{Captured, ChildSpec, EnvPlan, StreamedChild};

use super::control::ControlPaths;
use super::settings::SshSettings;
use hermes_terminal::remote::Launch;
use hermes_terminal::shell::quote;

/// Words of the other side that are kept.
const MAX_OUTPUT: usize = 64 * 1024;

/// How every call of `ssh` for one host begins.
#[derive(Debug)]
pub(crate) struct SshClient {
    program: PathBuf,
    environment: EnvPlan,
    options: Vec<OsString>,
    target: String,
}

impl SshClient {
    pub(crate) fn new(
        program: PathBuf,
        settings: &SshSettings,
        control: &ControlPaths,
        environment: EnvPlan,
    ) -> Self {
        let mut options = vec![OsString::from("-o"), control_path(&control.socket)];
        for option in [
            "ControlMaster=auto",
            "ControlPersist=300",
            "BatchMode=yes",
            "StrictHostKeyChecking=accept-new",
            "ConnectTimeout=10",
        ] {
            options.extend(["-o".into(), option.into()]);
        }
        if let Some(port) = settings.port_option() {
            options.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(key) = &settings.key {
            options.extend(["-i".into(), key_option(key)]);
        }
        Self {
            program,
            environment,
            options,
            target: settings.target(),
        }
    }

    /// `user@host`.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// A client that runs these words there.
    pub(crate) fn launch(&self, argv: &[&str]) -> Launch {
        Launch {
            program: self.program.clone(),
            args: self.arguments(&[], Some(&command_line(argv))),
            variables: self.environment.variables().clone().into_iter().collect(),
        }
    }

    /// Runs a line for the user's shell there, without input.
    pub(crate) fn run(&self, line: &str, limit: Duration) -> hermes_proc::Result<Captured> {
        self.spec(&[], Some(line)).run_captured(limit, MAX_OUTPUT)
    }

    /// Starts a line for the user's shell there, to be fed or read.
    pub(crate) fn start(&self, line: &str, limit: Duration) -> hermes_proc::Result<StreamedChild> {
        self.spec(&[], Some(line)).start_streamed(limit, MAX_OUTPUT)
    }

    /// Gives an order (`exit`, `check`) to the process that holds the shared connection.
    pub(crate) fn control(&self, order: &str, limit: Duration) -> hermes_proc::Result<Captured> {
        self.spec(&["-O", order], None)
            .run_captured(limit, MAX_OUTPUT)
    }

    fn spec(&self, more: &[&str], line: Option<&str>) -> ChildSpec {
        let args = self.arguments(more, line);
        ChildSpec {
            // The connection may outlive us in a process of its own: it must not hold a directory.
            cwd: Some(PathBuf::from("/")),
            ..ChildSpec::new(&self.program, args, &self.environment)
        }
    }

    fn arguments(&self, more: &[&str], line: Option<&str>) -> Vec<OsString> {
        let mut arguments = self.options.clone();
        arguments.extend(more.iter().map(OsString::from));
        arguments.push(self.target.clone().into());
        arguments.extend(line.map(OsString::from));
        arguments
    }
}

fn control_path(socket: &Path) -> OsString {
    let mut option = OsString::from("ControlPath=");
    option.push(socket);
    option
}

/// `ssh` replaces what follows a `%` in this argument.
fn key_option(key: &Path) -> OsString {
    match key.to_str() {
        Some(text) => text.replace('%', "%%").into(),
        None => key.into(),
    }
}

/// One line for a shell that reads it as exactly these words.
pub(crate) fn command_line(argv: &[&str]) -> String {
    let words: Vec<Vec<u8>> = argv.iter().map(|word| quote(word.as_bytes())).collect();
    // Quoting only adds ASCII.
    String::from_utf8_lossy(&words.join(&b' ')).into_owned()
}

#[cfg(test)]
mod tests {
    use hermes_proc::SpawnClass;
    use pretty_assertions::assert_eq;

    use super::*;

    fn client(port: u16, key: Option<&str>) -> SshClient {
        let settings = SshSettings {
            host: "box".to_owned(),
            user: "me".to_owned(),
            port,
            key: key.map(PathBuf::from),
            persistent_shell: true,
            start_directory: "~".into(),
        };
        let control = ControlPaths::plan(Path::new("/tmp"), 7, "0123456789abcdef");
        let environment = EnvPlan::empty(SpawnClass::Helper).with("SSH_AUTH_SOCK", "/run/agent");
        SshClient::new("/usr/bin/ssh".into(), &settings, &control, environment)
    }

    #[test]
    fn every_call_has_the_same_options() {
        let launch = client(22, None).launch(&["bash", "-c", "echo \"it's $HOME\""]);
        assert_eq!(launch.program, Path::new("/usr/bin/ssh"));
        assert_eq!(
            launch.args,
            [
                "-o",
                "ControlPath=/tmp/hermes-ssh-7/0123456789abcdef.sock",
                "-o",
                "ControlMaster=auto",
                "-o",
                "ControlPersist=300",
                "-o",
                "BatchMode=yes",
                "-o",
                "StrictHostKeyChecking=accept-new",
                "-o",
                "ConnectTimeout=10",
                "me@box",
                "'bash' '-c' 'echo \"it'\\''s $HOME\"'",
            ]
            .map(OsString::from)
        );
        assert_eq!(
            launch.variables,
            [("SSH_AUTH_SOCK".into(), "/run/agent".into())]
        );
    }

    #[test]
    fn port_and_key_stand_before_the_target() {
        let launch = client(2222, Some("/keys/50%")).launch(&["true"]);
        let tail = launch.args.get(12..).unwrap_or_default();
        let expected = ["-p", "2222", "-i", "/keys/50%%", "me@box", "'true'"];
        assert_eq!(tail, expected.map(OsString::from));
    }

    #[test]
    fn words_survive_the_shell_there() {
        let words = [
            "printf", "%s\\n", "", "a b", "*", "FOO=1", "~", "'", "\n", "\u{e4}",
        ];
        let line = command_line(&words);
        let env = EnvPlan::empty(SpawnClass::Helper);
        let shell = ChildSpec::new("/bin/sh", ["-c", &line], env);
        let captured = shell.run_captured(Duration::from_secs(20), 1000).unwrap();
        let printed = String::from_utf8(captured.stdout).unwrap();
        let expected: String = words[2..].iter().flat_map(|word| [word, "\n"]).collect();
        assert_eq!(printed, expected);
    }
}
