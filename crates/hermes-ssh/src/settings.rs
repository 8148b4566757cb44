//! Where the other machine is and who we are there.

use std::path::{Path, PathBuf};

use super::digest::digest_of;
use hermes_config::{Config, vars};
use hermes_terminal::remote::TransportError;

/// The port `ssh` takes if none is given.
const USUAL_PORT: u16 = 22;

/// Settings of the ssh backend, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSettings {
    /// Name or address of the machine, or a name from the user's own ssh settings.
    pub host: String,
    pub user: String,
    pub port: u16,
    /// Key file on this machine, absolute; `None` leaves it to `ssh`.
    pub key: Option<PathBuf>,
    /// Whether commands share long-lived shells there.
    pub persistent_shell: bool,
    /// Where sessions start; a leading `~` is for the shell there.
    pub start_directory: PathBuf,
}

impl SshSettings {
    /// What the settings say. `user_home` is what `~` in the key's path stands for.
    pub fn from_config(config: &Config, user_home: &Path) -> Result<Self, TransportError> {
        let text = |key: &str| config.text(key).trim().to_owned();
        let (host, user) = (text("terminal.ssh_host"), text("terminal.ssh_user"));
        if host.is_empty() || user.is_empty() {
            return Err(wrong(
                "the ssh backend needs terminal.ssh_host and terminal.ssh_user",
                "set both with `hermes config set`, or TERMINAL_SSH_HOST and TERMINAL_SSH_USER",
            ));
        }
        for (key, value) in [("terminal.ssh_host", &host), ("terminal.ssh_user", &user)] {
            check_word(key, value)?;
        }
        let key = Some(text("terminal.ssh_key")).filter(|key| !key.is_empty());
        Ok(Self {
            host,
            user,
            port: port(config)?,
            key: key.map(|key| expand(&key, user_home)),
            persistent_shell: persistent_shell(config),
            start_directory: start_directory(&text("terminal.cwd")),
        })
    }

    /// `user@host`, as people and `ssh` write it.
    pub fn target(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// A short name for this user, host and port: the first 16 hexadecimal digits of their hash.
    pub fn id(&self) -> String {
        let address = format!("{}:{}", self.target(), self.port);
        digest_of(address.as_bytes()).chars().take(16).collect()
    }

    /// The port, unless it is the usual one: then the user's own ssh settings may name another.
    pub(crate) fn port_option(&self) -> Option<u16> {
        (self.port != USUAL_PORT).then_some(self.port)
    }
}

fn wrong(message: impl Into<String>, hint: &str) -> TransportError {
    TransportError {
        message: message.into(),
        hint: Some(hint.to_owned()),
        is_missing_part: false,
    }
}

/// A host or user that `ssh` could take for something else is refused: it begins like an option or
/// holds what separates words.
fn check_word(key: &str, value: &str) -> Result<(), TransportError> {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control();
    if value.starts_with('-') || value.contains(odd) || value.contains('@') {
        return Err(wrong(
            format!("{key} is not a valid name: '{}'", value.escape_debug()),
            "give the bare name: no spaces, no options, no '@'",
        ));
    }
    Ok(())
}

fn port(config: &Config) -> Result<u16, TransportError> {
    const KEY: &str = "terminal.ssh_port";
    let bad = |what: String| wrong(what, "use a number from 1 to 65535; the default is 22");
    // A port that was meant but cannot be read must not end up at another server.
    if let Some(problem) = config.problems().iter().find(|it| it.key() == Some(KEY)) {
        return Err(bad(problem.to_string()));
    }
    match config.int(KEY) {
        None => Ok(USUAL_PORT),
        Some(number) => u16::try_from(number)
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| bad(format!("{KEY} is not a valid port: {number}"))),
    }
}

fn persistent_shell(config: &Config) -> bool {
    let name = vars::TERMINAL_SSH_PERSISTENT.name;
    let own = config
        .sources()
        .env
        .lookup(name)
        .or_else(|| config.dotenv().get(name))
        .map(str::trim)
        .filter(|text| !text.is_empty());
    own.map_or_else(
        || config.flag("terminal.persistent_shell"),
        hermes_config::is_truthy,
    )
}

fn expand(path: &str, user_home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        // Relative to what? To the home, as for `ssh` in its own settings.
        None => user_home.join(path),
    }
}

/// Paths of this machine mean nothing there, but nobody can tell them from paths of that one: what
/// is
/// written is taken, and anything relative counts from the home there.
fn start_directory(written: &str) -> PathBuf {
    match written {
        "" | "." | "auto" | "cwd" => "~".into(),
        path if path.starts_with(['/', '~']) => path.into(),
        path => Path::new("~").join(path.trim_start_matches("./")),
    }
}

#[cfg(test)]
mod tests {
    use hermes_config::{Environment, Sources};
    use pretty_assertions::assert_eq;

    use super::*;

    fn load(yaml: &str, variables: &[(&str, &str)]) -> Result<SshSettings, TransportError> {
        let home = tempfile::tempdir().unwrap();
        hermes_fs::write_atomic(&home.path().join("config.yaml"), yaml.as_bytes(), 0o600).unwrap();
        let environment = Environment::from_pairs(variables.iter().copied());
        let mut sources = Sources::new(&environment, home.path());
        sources.managed_dir = None;
        SshSettings::from_config(&Config::load_read_only(&sources), Path::new("/home/me"))
    }

    const BOTH: &str = "terminal:\n  ssh_host: box\n  ssh_user: me\n";

    #[test]
    fn host_and_user_are_enough() {
        let settings = load(BOTH, &[]).unwrap();
        assert_eq!(
            settings,
            SshSettings {
                host: "box".to_owned(),
                user: "me".to_owned(),
                port: 22,
                key: None,
                persistent_shell: true,
                start_directory: "~".into(),
            }
        );
        assert_eq!(settings.target(), "me@box");
        assert_eq!(settings.port_option(), None);
        // `printf me@box:22 | sha256sum`
        assert_eq!(settings.id(), "77725f3c509e6d5f");
    }

    #[test]
    fn everything_can_be_said() {
        let yaml = format!("{BOTH}  ssh_port: 2222\n  ssh_key: ~/.ssh/box\n  cwd: work/x\n");
        let settings = load(&yaml, &[("TERMINAL_SSH_PERSISTENT", "no")]).unwrap();
        assert_eq!(settings.port_option(), Some(2222));
        assert_eq!(settings.key, Some("/home/me/.ssh/box".into()));
        assert_eq!(settings.start_directory, Path::new("~/work/x"));
        assert!(!settings.persistent_shell);
        let elsewhere = load(BOTH, &[("TERMINAL_SSH_HOST", "other")]).unwrap();
        assert_eq!(elsewhere.host, "other");
    }

    #[test]
    fn a_missing_name_is_one_sentence_with_both_keys() {
        for yaml in [
            "",
            "terminal:\n  ssh_host: box\n",
            "terminal:\n  ssh_user: me\n",
        ] {
            let error = load(yaml, &[]).unwrap_err();
            assert_eq!(
                error.message,
                "the ssh backend needs terminal.ssh_host and terminal.ssh_user"
            );
            assert!(!error.is_missing_part);
        }
    }

    #[test]
    fn nothing_that_looks_like_an_option_gets_through() {
        for (host, user) in [
            ("-oProxyCommand=x", "me"),
            ("box", "-l"),
            ("a b", "me"),
            ("a@b", "me"),
        ] {
            let yaml = format!("terminal:\n  ssh_host: \"{host}\"\n  ssh_user: \"{user}\"\n");
            assert!(load(&yaml, &[]).is_err(), "{user}@{host}");
        }
    }

    #[test]
    fn a_port_that_cannot_be_is_an_error_and_not_22() {
        for port in ["lots", "0", "65536", "-1"] {
            let error = load(&format!("{BOTH}  ssh_port: {port}\n"), &[]).unwrap_err();
            assert!(error.message.contains("ssh_port"), "{error}");
            let error = load(BOTH, &[("TERMINAL_SSH_PORT", port)]).unwrap_err();
            assert!(error.hint.unwrap().contains("65535"));
        }
    }
}
