//! The variables that sessions in a container begin with.
//!
//! `docker_env` first, then what is handed over from outside, which wins. Values travel through a
//! pipe; they never stand in arguments.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use hermes_proc::EnvPolicy;
use hermes_secret::SecretString;

use super::settings::DockerSettings;
use hermes_terminal::environment::EnvironmentBuilder;
use hermes_terminal::remote::SessionVariable;

/// All of them, in the order in which they are set.
pub(crate) fn session_variables(
    settings: &DockerSettings,
    builder: &EnvironmentBuilder,
) -> Vec<SessionVariable> {
    let own = settings.env.iter().map(|(name, value)| SessionVariable {
        name: name.clone(),
        value: SecretString::from(value.as_str()),
    });
    let mut names = admitted(builder.policy());
    names.extend(explicit(builder.policy(), &settings.forward));
    let forwarded = names.into_iter().filter_map(|name| {
        let value = lookup(builder, &name)?;
        Some(SessionVariable { name, value })
    });
    own.chain(forwarded).collect()
}

/// From the process, or from `.env` where the process has none or an empty one.
fn lookup(builder: &EnvironmentBuilder, name: &str) -> Option<SecretString> {
    let entry = builder
        .base()
        .iter()
        .find(|(known, _)| known == OsStr::new(name))?;
    let value = entry.1.to_str()?;
    (!value.is_empty()).then(|| SecretString::from(value))
}

/// What the operator let through, without the credentials of Hermes.
fn admitted(policy: &EnvPolicy) -> BTreeSet<String> {
    let refused = policy.refusals();
    let of_operator = policy.passthrough.iter();
    of_operator
        .filter(|name| refused.iter().all(|refusal| refusal.name != **name))
        .cloned()
        .collect()
}

/// What the user listed for containers: credentials too, but nothing internal to Hermes.
fn explicit(policy: &EnvPolicy, forward: &[String]) -> Vec<String> {
    let trusted = EnvPolicy {
        passthrough: BTreeSet::new(),
        trusted_passthrough: forward.iter().cloned().collect(),
        ..policy.clone()
    };
    let refused = trusted.refusals();
    for refusal in &refused {
        tracing::warn!(
            "terminal.docker_forward_env: {} is not forwarded: {}",
            refusal.name,
            refusal.reason.text()
        );
    }
    let allowed = |name: &&String| refused.iter().all(|refusal| refusal.name != **name);
    forward.iter().filter(allowed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use hermes_config::{Config, Environment, Sources};
    use pretty_assertions::assert_eq;

    use super::*;
    use hermes_terminal::environment::EnvironmentFacts;

    fn variables(config: &str, dotenv: &str, env: &[(&str, &str)]) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("config.yaml", config), (".env", dotenv)] {
            hermes_fs::write_atomic(&dir.path().join(name), text.as_bytes(), 0o600).unwrap();
        }
        let sources = Sources {
            env: Environment::from_pairs(env.iter().copied()),
            home: dir.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: false,
        };
        let config = Config::load_read_only(&sources);
        let facts = EnvironmentFacts {
            root: dir.path().to_owned(),
            program: "/bin/hermes".into(),
            is_container: false,
            account_home: Some("/h".into()),
            file_system_root: dir.path().to_owned(),
        };
        let builder = EnvironmentBuilder::new(&config, &facts);
        let settings = DockerSettings::from_config(&config).unwrap();
        session_variables(&settings, &builder)
            .into_iter()
            .map(|variable| (variable.name, variable.value.expose().to_owned()))
            .collect()
    }

    fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect()
    }

    #[test]
    fn the_process_beats_the_env_file_unless_it_is_empty() {
        let found = variables(
            "terminal: {docker_forward_env: [A, B, C, D], docker_env: {B: own, Z: z}}\n",
            "A=file\nB=file\nC=file\n",
            &[("A", "process"), ("B", ""), ("D", "")],
        );
        assert_eq!(
            pairs(&found),
            [
                ("B", "own"),
                ("Z", "z"),
                ("A", "process"),
                ("B", "file"),
                ("C", "file")
            ]
        );
    }

    #[test]
    fn credentials_pass_only_where_they_are_listed_for_containers() {
        let found = variables(
            "terminal: {env_passthrough: [OPENAI_API_KEY, MINE], docker_forward_env: \
             [GITHUB_TOKEN]}\n",
            "",
            &[
                ("OPENAI_API_KEY", "k"),
                ("MINE", "m"),
                ("GITHUB_TOKEN", "g"),
                ("OTHER", "o"),
            ],
        );
        assert_eq!(pairs(&found), [("GITHUB_TOKEN", "g"), ("MINE", "m")]);
        let listed = variables(
            "terminal: {docker_forward_env: [OPENAI_API_KEY, _HERMES_X, HERMES_RPC_TOKEN]}\n",
            "",
            &[
                ("OPENAI_API_KEY", "k"),
                ("_HERMES_X", "x"),
                ("HERMES_RPC_TOKEN", "t"),
            ],
        );
        assert_eq!(pairs(&listed), [("OPENAI_API_KEY", "k")]);
    }

    #[test]
    fn internal_secrets_are_never_passed_through() {
        let found = variables(
            "terminal: {env_passthrough: [AUXILIARY_X_API_KEY, GATEWAY_RELAY_A_TOKEN, PLAIN]}\n",
            "",
            &[
                ("AUXILIARY_X_API_KEY", "a"),
                ("GATEWAY_RELAY_A_TOKEN", "b"),
                ("PLAIN", "p"),
            ],
        );
        assert_eq!(pairs(&found), [("PLAIN", "p")]);
    }
}
