//! Which password a command gets, if any: the one in the settings, the one the session remembers,
//! or one that somebody types now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_config::{Config, vars};
use hermes_secret::SecretString;
use serde_json::Value;

use super::probe::{Probe, SudoNeeds};
use super::remembered::Remembered;
use crate::approval::{SudoInput, SudoSupport};
use crate::shell::SessionKey;
use hermes_policy::with_password_from_stdin;

/// How long a person may take to type a password.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(45);

/// Asks a person for a password without showing it.
pub trait PasswordPrompt: Send + Sync {
    /// The password; `None` if nobody answered, or with nothing.
    fn ask(&self, limit: Duration) -> Option<SecretString>;
}

/// The password in the settings, be it an empty one: `SUDO_PASSWORD` in the environment, the setting
/// `terminal.sudo_password`, or `SUDO_PASSWORD` in `.env`.
pub fn configured_password(config: &Config) -> Option<SecretString> {
    let name = vars::SUDO_PASSWORD.name;
    let merged = match config.get("terminal.sudo_password") {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    let empty = || {
        let set = [config.sources().env.lookup(name), config.dotenv().get(name)];
        set.into_iter().flatten().next().map(str::to_owned)
    };
    merged.or_else(empty).map(SecretString::new)
}

/// Passwords for the sessions of one process.
pub struct SudoPasswords {
    configured: Option<SecretString>,
    remembered: Remembered,
    probe: Option<Box<dyn Probe>>,
    prompt: Option<Arc<dyn PasswordPrompt>>,
}

impl SudoPasswords {
    /// With the password of the settings, where nobody can be asked.
    pub fn new(configured: Option<SecretString>) -> Self {
        Self {
            configured,
            remembered: Remembered::default(),
            probe: None,
            prompt: None,
        }
    }

    /// First looks whether a password is needed at all.
    #[must_use]
    pub fn with_probe(mut self, probe: impl Probe + 'static) -> Self {
        self.probe = Some(Box::new(probe));
        self
    }

    /// Asks this person.
    #[must_use]
    pub fn with_prompt(mut self, prompt: Arc<dyn PasswordPrompt>) -> Self {
        self.prompt = Some(prompt);
        self
    }

    fn password(&self, session: &SessionKey) -> Option<SecretString> {
        if let Some(configured) = &self.configured {
            return Some(configured.clone());
        }
        if let Some(known) = self.remembered.get(session, Instant::now()) {
            return Some(known);
        }
        // Without somebody to ask the answer of the probe would change nothing.
        let prompt = self.prompt.as_ref()?;
        let needs = self
            .probe
            .as_ref()
            .map_or(SudoNeeds::Password, |probe| probe.look());
        if needs != SudoNeeds::Password {
            return None;
        }
        let typed = prompt
            .ask(PROMPT_TIMEOUT)
            .filter(|typed| !typed.expose().is_empty())?;
        self.remembered.put(session, typed.clone(), Instant::now());
        Some(typed)
    }
}

impl SudoSupport for SudoPasswords {
    fn prepare(&self, command: &str, session: &SessionKey) -> Option<SudoInput> {
        let rewrite = with_password_from_stdin(command)?;
        let password = self.password(session)?;
        let line = SecretString::from(format!("{}\n", password.expose()));
        Some(SudoInput {
            command: rewrite.command,
            input: SecretString::from(line.expose().repeat(rewrite.password_lines)),
            password,
        })
    }

    fn rejected(&self, session: &SessionKey) -> bool {
        self.remembered.forget(session)
    }
}

/// Whether sudo refused the password it was given. The count in its message varies.
pub(crate) fn password_was_rejected(output: &str) -> bool {
    output.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("incorrect password attempt") || line.contains("authentication failed")
    }) && output.contains("sudo")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hermes_config::{Environment, Sources};
    use pretty_assertions::assert_eq;

    use super::*;

    /// Types the same password at every question and counts them.
    struct Typist(&'static str, AtomicUsize);

    impl PasswordPrompt for Typist {
        fn ask(&self, _: Duration) -> Option<SecretString> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Some(self.0.into())
        }
    }

    struct Always(SudoNeeds);

    impl Probe for Always {
        fn look(&self) -> SudoNeeds {
            self.0
        }
    }

    fn typist(password: &'static str) -> Arc<Typist> {
        Arc::new(Typist(password, AtomicUsize::new(0)))
    }

    fn prepared(sudo: &SudoPasswords, command: &str) -> Option<(String, String)> {
        let prepared = sudo.prepare(command, &SessionKey::new("main"))?;
        Some((prepared.command, prepared.input.expose().to_owned()))
    }

    #[test]
    fn a_configured_password_is_given_once_per_sudo() {
        let sudo = SudoPasswords::new(Some("swordfish".into()));
        assert_eq!(
            prepared(&sudo, "sudo a && sudo b"),
            Some((
                "sudo -S -p '' a && sudo -S -p '' b".to_owned(),
                "swordfish\nswordfish\n".to_owned()
            ))
        );
        assert_eq!(prepared(&sudo, "echo sudo"), None);
        // It is not the session's to forget.
        assert!(!sudo.rejected(&SessionKey::new("main")));
        let empty = SudoPasswords::new(Some(SecretString::default()));
        assert_eq!(prepared(&empty, "sudo a").unwrap().1, "\n");
    }

    #[test]
    fn a_person_is_asked_once_per_session_until_the_password_is_refused() {
        let person = typist("swordfish");
        let sudo = SudoPasswords::new(None)
            .with_probe(Always(SudoNeeds::Password))
            .with_prompt(person.clone());
        let asked = || person.1.load(Ordering::SeqCst);
        assert_eq!(prepared(&sudo, "echo no sudo"), None);
        assert_eq!(asked(), 0);
        for _ in 0..2 {
            assert_eq!(prepared(&sudo, "sudo a").unwrap().1, "swordfish\n");
        }
        assert_eq!(asked(), 1);
        assert!(sudo.prepare("sudo a", &SessionKey::new("other")).is_some());
        assert_eq!(asked(), 2);
        assert!(sudo.rejected(&SessionKey::new("main")));
        assert!(!sudo.rejected(&SessionKey::new("main")));
        assert!(prepared(&sudo, "sudo a").is_some());
        assert_eq!(asked(), 3);
    }

    #[test]
    fn nobody_is_asked_where_none_is_needed_and_no_answer_changes_nothing() {
        for needs in [SudoNeeds::Nothing, SudoNeeds::Sudo] {
            let person = typist("swordfish");
            let sudo = SudoPasswords::new(None)
                .with_probe(Always(needs))
                .with_prompt(person.clone());
            assert_eq!(prepared(&sudo, "sudo a"), None);
            assert_eq!(person.1.load(Ordering::SeqCst), 0, "{needs:?}");
        }
        let sudo = SudoPasswords::new(None).with_prompt(typist(""));
        assert_eq!(prepared(&sudo, "sudo a"), None);
        let sudo = SudoPasswords::new(None).with_probe(Always(SudoNeeds::Password));
        assert_eq!(prepared(&sudo, "sudo a"), None);
    }

    #[test]
    fn the_settings_are_looked_at_in_the_usual_order() {
        for (env, yaml, dotenv, expected) in [
            (None, "", "", None),
            (Some("a"), "terminal: {sudo_password: b}", "c", Some("a")),
            (None, "terminal: {sudo_password: b}", "c", Some("b")),
            (None, "terminal: {sudo_password: '007'}", "", Some("007")),
            (None, "", "SUDO_PASSWORD=c\n", Some("c")),
            (Some(""), "", "", Some("")),
            (None, "", "SUDO_PASSWORD=\n", Some("")),
            (Some(""), "", "SUDO_PASSWORD=c\n", Some("c")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in [("config.yaml", yaml), (".env", dotenv)] {
                hermes_fs::write_atomic(&dir.path().join(name), text.as_bytes(), 0o600).unwrap();
            }
            let sources = Sources {
                env: Environment::from_pairs(env.map(|value| ("SUDO_PASSWORD", value))),
                home: dir.path().to_owned(),
                managed_dir: None,
                tighten_dotenv: true,
            };
            let found = configured_password(&Config::load_read_only(&sources));
            assert_eq!(
                found.as_ref().map(SecretString::expose),
                expected,
                "{env:?} {yaml:?} {dotenv:?}"
            );
        }
    }

    #[test]
    fn a_rejection_is_known_by_the_words_of_sudo() {
        assert!(password_was_rejected(
            "sudo: 1 incorrect password attempt\n"
        ));
        assert!(password_was_rejected(
            "x\nsudo: 3 incorrect password attempts"
        ));
        assert!(!password_was_rejected("git: authentication failed"));
    }
}
