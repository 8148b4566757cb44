//! From root to the runtime user: `docker exec` arrives as root, and what root writes into the volume
//! nobody else can change.

use std::ffi::OsString;
use std::path::Path;

use hermes_boot::{Machine, RuntimeUser};
use hermes_config::{Environment, vars};
use hermes_home::SystemFacts;
use hermes_proc::stages::{become_program, become_user};

use super::{INSTALL_TREE, own_program, variables};
use crate::error::CommandError;

/// Roles of `hermes internal` that are root's.
const OF_ROOT: [&str; 9] = [
    "init",
    "tini",
    "boot",
    "watch",
    "main",
    "finish",
    "dashboard",
    "reconcile",
    "registrar",
];

/// Exit code of a command that must not run as root and cannot be anybody else.
pub(crate) const CANNOT_DROP: u8 = 126;

/// Starts this program again as the runtime user if it sits in the image and was called by root, who
/// did not ask to stay root. Returns only where there is nothing to do, or with why it failed.
pub(crate) fn drop_root(args: &[OsString], env: &Environment) -> Result<(), CommandError> {
    if SystemFacts::of_process().uid != 0 {
        return Ok(());
    }
    let program = own_program()?;
    if !program.starts_with(INSTALL_TREE) || stays_root(args, env) {
        return Ok(());
    }
    let machine = Machine {
        env,
        uid: 0,
        root: Path::new("/"),
    };
    let user = machine
        .runtime_user()
        .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))?;
    take_on(&user)?;
    let env = env.with(&vars::HOME, &user.home);
    let error = become_program(&program, args, &variables(&env), &[]);
    Err(CommandError::environment(format!(
        "could not start {}: {error}",
        program.display()
    )))
}

/// Becomes the runtime user.
pub(super) fn take_on(user: &RuntimeUser) -> Result<(), CommandError> {
    become_user(user.uid, user.gid, &user.groups).map_err(|error| {
        let message = format!(
            "could not become hermes ({}:{}): {error}",
            user.uid, user.gid
        );
        CommandError::environment(message).hint(format!(
            "give the container the capabilities SETUID and SETGID, or set {}=1 to stay root",
            vars::HERMES_DOCKER_EXEC_AS_ROOT.name
        ))
    })
}

/// Whether root asked to stay root, or the role is root's.
fn stays_root(args: &[OsString], env: &Environment) -> bool {
    if says_yes(env.text(&vars::HERMES_DOCKER_EXEC_AS_ROOT)) {
        return true;
    }
    let word = |at: usize| args.get(at).and_then(|word| word.to_str());
    match word(0) {
        Some("internal") => word(1).is_some_and(|role| OF_ROOT.contains(&role)),
        Some("gateway") => env.flag(&vars::HERMES_ALLOW_ROOT_GATEWAY),
        _ => false,
    }
}

/// Whether a switch of the container is on; `on` is not among its words.
pub(super) fn says_yes(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        ["1", "true", "yes"]
            .iter()
            .any(|yes| value.eq_ignore_ascii_case(yes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(args: &[&str], pairs: &[(&str, &str)]) -> bool {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        stays_root(&args, &Environment::from_pairs(pairs.iter().copied()))
    }

    #[test]
    fn root_is_given_up_unless_asked_for() {
        assert!(!stays(&["config", "set", "a", "1"], &[]));
        assert!(!stays(&[], &[]));
        for yes in ["1", "true", "YES"] {
            assert!(stays(&["config"], &[("HERMES_DOCKER_EXEC_AS_ROOT", yes)]));
        }
        for no in ["0", "", "on", "no"] {
            assert!(!stays(&["config"], &[("HERMES_DOCKER_EXEC_AS_ROOT", no)]));
        }
    }

    #[test]
    fn roles_of_root_stay_roots() {
        assert!(stays(&["internal", "boot"], &[]));
        assert!(!stays(&["internal", "log"], &[]));
        assert!(!stays(&["internal"], &[]));
        assert!(!stays(&["gateway", "run"], &[]));
        let allowed = [("HERMES_ALLOW_ROOT_GATEWAY", "1")];
        assert!(stays(&["gateway", "run"], &allowed));
        assert!(!stays(&["config"], &allowed));
    }
}
