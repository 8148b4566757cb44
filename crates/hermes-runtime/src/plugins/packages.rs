//! Packages of Python that plugins declare, as the programs of plugins use them: by the interpreter that
//! they were installed for, with the packages behind its standard library.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_addons::{AddonError, Addons, FirstUse, InstallConsent, Launch, PluginPackages, State};
use hermes_hooks::ListenerCommand;
use hermes_plugins::{Manifest, Runtime};
use hermes_proc::{EnvPlan, SpawnClass, Wake};

use crate::context::Context;

/// Options of the interpreter that change nothing here: it is always started with them, or without what
/// they switch off.
const NEEDLESS: [&str; 8] = ["-u", "-B", "-E", "-I", "-s", "-S", "-q", "-P"];

/// What comes after the interpreter in a command, if it is a command for one: a script, `-m` or `-c`, and
/// arguments.
pub(super) fn python_words(command: &[String]) -> Option<Vec<String>> {
    let (program, rest) = command.split_first()?;
    let is_script = Path::new(program)
        .extension()
        .is_some_and(|end| end == "py");
    if program.contains('/') && is_script {
        return Some(command.to_vec());
    }
    let version = program.strip_prefix("python")?;
    if !version.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let first = rest.iter().position(|word| !NEEDLESS.contains(&&**word))?;
    let words = rest.get(first..)?;
    let is_script = words.first().is_some_and(|word| !word.starts_with('-'));
    let is_code = words.len() > 1 && ["-m", "-c"].contains(&words.first()?.as_str());
    (is_script || is_code).then(|| words.to_vec())
}

/// Brings packages back that were installed once and are gone with their interpreter. The install may
/// take longer than the conversation waits for it.
pub(super) fn restored(
    context: &Context,
    addons: &Addons,
    packages: &PluginPackages,
) -> Result<(), AddonError> {
    if addons.plugin_state(packages).0 != State::Stale {
        return Ok(());
    }
    let first_use = FirstUse {
        program: context.program.path.clone(),
        environment: EnvPlan::build(&context.environment().request(SpawnClass::Hermes)),
        consent: Some(Arc::new(AgreedBefore)),
    };
    match Wake::new() {
        Ok(never) => addons.restore_plugin(packages, &first_use, &never),
        Err(error) => {
            tracing::warn!(%error, "the packages of a plugin are not brought back");
            Ok(())
        }
    }
}

/// Whoever enabled a plugin has agreed to its packages.
struct AgreedBefore;

impl InstallConsent for AgreedBefore {
    fn agrees(&self, _: &str, _: u64) -> bool {
        true
    }
}

/// What is started for each event of a plugin that runs so.
pub(super) fn command_of(
    manifest: &Manifest,
    packages: Option<PluginPackages>,
    addons: &Addons,
) -> Option<Arc<dyn ListenerCommand>> {
    let Runtime::Exec(command) = &manifest.runtime else {
        return None;
    };
    let python = packages.and_then(|packages| Some((packages, python_words(command)?)));
    Some(match python {
        None => Arc::new(command.clone()),
        Some((packages, words)) => Arc::new(PythonCommand {
            addons: addons.clone(),
            feature: packages.feature,
            words,
            launch: Mutex::new(None),
        }),
    })
}

/// A script of a plugin with the packages of the plugin.
struct PythonCommand {
    addons: Addons,
    feature: String,
    words: Vec<String>,
    /// Found by the first event; keeps the packages from being removed.
    launch: Mutex<Option<Launch>>,
}

impl ListenerCommand for PythonCommand {
    fn words(&self) -> Result<Vec<String>, String> {
        let mut launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        if launch.is_none() {
            let found = self.addons.launch(&self.feature, &[]);
            *launch = Some(found.map_err(|error| error.to_string())?);
        }
        let Some(launch) = &*launch else {
            return Err("its interpreter was not found".to_owned());
        };
        let first = launch.program.as_os_str();
        let before = std::iter::once(first).chain(launch.args.iter().map(AsRef::as_ref));
        let before = before.map(|word| word.to_string_lossy().into_owned());
        Ok(before.chain(self.words.iter().cloned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Option<Vec<String>> {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        python_words(&command)
    }

    #[test]
    fn commands_for_an_interpreter_are_recognised() {
        for (command, expected) in [
            (
                &["python3", "server.py", "-v"][..],
                Some(&["server.py", "-v"][..]),
            ),
            (&["python", "-u", "server.py"], Some(&["server.py"])),
            (&["python3.12", "-m", "notes"], Some(&["-m", "notes"])),
            (&["python3", "-c", "print(1)"], Some(&["-c", "print(1)"])),
            (&["./server.py", "x"], Some(&["./server.py", "x"])),
            (&["python3"], None),
            (&["python3", "-m"], None),
            (&["python3", "-X", "dev", "server.py"], None),
            (&["pythonista", "server.py"], None),
            (&["node", "server.js"], None),
            (&["./run.sh"], None),
        ] {
            let expected =
                expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
            assert_eq!(words(command), expected, "{command:?}");
        }
    }
}
