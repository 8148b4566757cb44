//! Which setting an engine's refusal is about, as far as its words tell. Pure.
//!
//! A guess is made only where the words repeat something the user wrote, or speak of arguments when
//! only the user's can be at fault.

use super::error::DockerError;
use super::settings::DockerSettings;

/// Words about arguments as such: ours are known to be understood.
const ABOUT_ARGUMENTS: [&str; 5] = [
    "unknown flag",
    "unknown shorthand flag",
    "flag needs an argument",
    "invalid argument",
    "onflicting options",
];
/// Words about a missing init process.
const ABOUT_INIT: [&str; 3] = ["container-init", "docker-init", "init binary"];
/// Shorter pieces are found in any text.
const TELLING: usize = 3;

/// The same error with the setting to change, if one is under suspicion.
pub(crate) fn with_suspect(error: DockerError, settings: &DockerSettings) -> DockerError {
    let DockerError::Refused { words, .. } = &error else {
        return error;
    };
    match suspect(settings, words) {
        Some(key) => DockerError::Settings {
            message: error.to_string(),
            hint: format!("check the setting terminal.{key}"),
        },
        None => error,
    }
}

fn suspect(settings: &DockerSettings, words: &str) -> Option<&'static str> {
    let repeats = |texts: &[String]| {
        let pieces = texts.iter().flat_map(|text| text.split([':', '=', ',']));
        let mut telling = pieces.filter(|piece| piece.len() >= TELLING);
        telling.any(|piece| words.contains(piece))
    };
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if says(&ABOUT_INIT) {
        return Some("docker_init");
    }
    if !settings.extra_args.is_empty() && (says(&ABOUT_ARGUMENTS) || repeats(&settings.extra_args))
    {
        return Some("docker_extra_args");
    }
    repeats(&settings.volumes).then_some("docker_volumes")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn key(extra: &[&str], volumes: &[&str], words: &str) -> Option<&'static str> {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let settings = DockerSettings {
            extra_args: texts(extra),
            volumes: texts(volumes),
            ..crate::settings::tests::defaults(Path::new("/h"))
        };
        suspect(&settings, words)
    }

    #[test]
    fn the_setting_that_the_words_repeat_is_named() {
        let unknown = "unknown flag: --no-such-flag";
        assert_eq!(
            key(&["--no-such-flag"], &[], unknown),
            Some("docker_extra_args")
        );
        assert_eq!(key(&[], &[], unknown), None, "ours are not the user's");
        let duplicate = "Error response from daemon: Duplicate mount point: /root.";
        assert_eq!(
            key(&["-v", "/etc:/root"], &["/a:/b"], duplicate),
            Some("docker_extra_args")
        );
        assert_eq!(
            key(&[], &["/etc:/e:nonsense"], "invalid mode: nonsense"),
            Some("docker_volumes")
        );
        let no_init = "Error: container-init binary not found on the host";
        assert_eq!(key(&["--x"], &[], no_init), Some("docker_init"));
        assert_eq!(key(&[], &["/a:/b:ro"], "no space left on device"), None);
    }
}
