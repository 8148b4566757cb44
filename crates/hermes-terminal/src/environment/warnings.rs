//! Telling once what is wrong with the settings about child environments.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hermes_config::Config;
use hermes_config::settings::{Layer, Problem};
use hermes_proc::EnvPolicy;

use crate::lock::lock;

/// Settings whose problems matter to every child. Others are told by whoever uses the value.
const OWN_KEYS: &[&str] = &[
    "terminal.env_passthrough",
    "terminal.trusted_env_passthrough",
    "tools.env_passthrough",
    "terminal.profile_home_links",
    "terminal.profile_home_keychain",
    "terminal.home_mode",
];

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What the operator should know about these settings.
pub(super) fn about(config: &Config, policy: &EnvPolicy) -> Vec<String> {
    let mut warnings: Vec<String> = config.problems().iter().filter_map(relevant).collect();
    warnings.extend(policy.refusals().iter().map(ToString::to_string));
    if !policy.child_home.real_home_is_known {
        warnings.push("this account has no home directory; children use /tmp instead".to_owned());
    }
    let password = config.candidates("terminal.sudo_password");
    if password
        .first()
        .is_some_and(|winner| winner.layer == Layer::File)
    {
        warnings.push(
            "terminal.sudo_password is stored in config.yaml; move it to SUDO_PASSWORD in .env"
                .to_owned(),
        );
    }
    warnings
}

fn relevant(problem: &Problem) -> Option<String> {
    let key = problem.key()?;
    let is_wrong = matches!(
        problem,
        Problem::WrongType { .. } | Problem::BadVariable { .. }
    );
    (is_wrong && OWN_KEYS.contains(&key)).then(|| problem.to_string())
}

/// Logs what this process has not said before.
pub fn tell_once(warnings: &[String]) {
    let mut told = lock(&TOLD);
    for warning in warnings {
        if told.insert(warning.clone()) {
            tracing::warn!("{warning}");
        }
    }
}
