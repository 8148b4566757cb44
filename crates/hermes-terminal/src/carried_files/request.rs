//! What the settings ask for.

use std::path::{Path, PathBuf};

use hermes_config::Config;

/// Everything that may go along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarriedRequest {
    /// HERMES_HOME of the session's profile.
    pub hermes_home: PathBuf,
    /// `terminal.credential_files`, in order; relative to HERMES_HOME.
    pub credential_files: Vec<String>,
    /// `skills.external_dirs`, in order; the position is part of the path they get.
    pub external_skills: Vec<PathBuf>,
}

impl CarriedRequest {
    /// What the settings say. `user_home` is what `~` stands for.
    pub fn from_config(config: &Config, user_home: &Path) -> Self {
        let home = config.sources().home.clone();
        let external = config.texts("skills.external_dirs").into_iter();
        let external = external.map(|text| absolute(text.trim(), user_home, &home));
        let declared = config.texts("terminal.credential_files").into_iter();
        let declared = declared.map(str::trim).filter(|path| !path.is_empty());
        Self {
            external_skills: external.collect(),
            credential_files: declared.map(str::to_owned).collect(),
            hermes_home: home,
        }
    }
}

fn absolute(text: &str, user_home: &Path, hermes_home: &Path) -> PathBuf {
    match text.strip_prefix('~') {
        Some("") => user_home.to_owned(),
        Some(rest) if rest.starts_with('/') => user_home.join(rest.trim_start_matches('/')),
        _ => hermes_home.join(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tilde_and_relative_directories_have_their_place() {
        let [user, hermes] = ["/home/me", "/home/me/.hermes"].map(Path::new);
        let cases = [
            ("~", "/home/me"),
            ("~/skills", "/home/me/skills"),
            ("/srv/skills", "/srv/skills"),
            ("more", "/home/me/.hermes/more"),
            ("~other/x", "/home/me/.hermes/~other/x"),
        ];
        for (text, expected) in cases {
            assert_eq!(absolute(text, user, hermes), Path::new(expected), "{text}");
        }
    }
}
