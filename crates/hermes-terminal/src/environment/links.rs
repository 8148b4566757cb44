//! What must be on disk before a child starts: the link to the running program, the profile's home
//! where children live in it, and the links from there into the real one.

use std::path::{Path, PathBuf};

use hermes_proc::EnvPolicy;
use hermes_proc::env::ensure_hermes_link;
use hermes_proc::home::{KEYCHAIN, LinkOutcome, ensure_home_links};

/// Makes what is missing; gives what the operator should know. No failure stops a child.
pub(super) fn make(policy: &EnvPolicy, keychain: bool, entries: &[PathBuf]) -> Vec<String> {
    let mut warnings = Vec::new();
    match ensure_hermes_link(policy) {
        Ok(LinkOutcome::Occupied) => warnings.push(format!(
            "{} is not the expected link; children may find a different hermes",
            policy.link_dir().join("hermes").display()
        )),
        Ok(_) => {}
        Err(error) => warnings.push(format!("children may not find hermes: {error}")),
    }
    if let Err(error) = policy.child_home.ensure() {
        warnings.push(format!("HOME of commands does not exist: {error}"));
    }
    let own = keychain.then_some(Path::new(KEYCHAIN));
    let outcomes = ensure_home_links(
        &policy.child_home,
        own.into_iter().chain(entries.iter().map(PathBuf::as_path)),
    );
    for (entry, outcome) in outcomes {
        let shown = entry.display();
        let reason = match outcome {
            // What somebody else put there is theirs.
            LinkOutcome::Present
            | LinkOutcome::Made
            | LinkOutcome::Replaced
            | LinkOutcome::Occupied => continue,
            // Most machines have no keychain directory.
            LinkOutcome::NoSource if Some(&*entry) == own => continue,
            LinkOutcome::NoSource => "it does not exist in the real home".to_owned(),
            LinkOutcome::BadEntry => "it is not a relative path inside a home".to_owned(),
            LinkOutcome::Failed(reason) => reason,
        };
        warnings.push(format!(
            "{shown} was not linked into the profile's home: {reason}"
        ));
    }
    warnings
}
