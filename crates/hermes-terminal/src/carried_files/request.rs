//! What the settings and the skills in use ask for.

use std::path::{Path, PathBuf};

use hermes_config::Config;

/// A credential file that someone declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialFile {
    /// As written: relative to HERMES_HOME.
    pub path: String,
    /// Who wrote it, for messages: `terminal.credential_files`, `skill google-docs`.
    pub declared_by: String,
}

/// Everything that may go along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedRequest {
    /// HERMES_HOME of the session's profile.
    pub hermes_home: PathBuf,
    /// Declared credential files, in order.
    pub credential_files: Vec<CredentialFile>,
    /// `skills.external_dirs`, in order; the position is part of the path they get.
    pub external_skills: Vec<PathBuf>,
}

impl CarriedRequest {
    /// What goes along if nothing is configured: the skills and caches of the home.
    pub fn new(hermes_home: PathBuf) -> Self {
        Self {
            hermes_home,
            credential_files: Vec::new(),
            external_skills: Vec::new(),
        }
    }

    /// What the settings say. `user_home` is what `~` stands for.
    pub fn from_config(config: &Config, user_home: &Path) -> Self {
        let home = config.sources().home.clone();
        let external = config.texts("skills.external_dirs").into_iter();
        let external = external.map(|text| absolute(text.trim(), user_home, &home));
        let declared = config.texts("terminal.credential_files").into_iter();
        let declared = declared.map(str::trim).filter(|path| !path.is_empty());
        Self {
            external_skills: external.collect(),
            credential_files: declared
                .map(|path| CredentialFile {
                    path: path.to_owned(),
                    declared_by: "terminal.credential_files".to_owned(),
                })
                .collect(),
            hermes_home: home,
        }
    }

    /// Adds what a skill in use declares.
    pub fn declare<'p>(&mut self, skill: &str, paths: impl IntoIterator<Item = &'p str>) {
        for path in paths {
            let file = CredentialFile {
                path: path.trim().to_owned(),
                declared_by: format!("skill {skill}"),
            };
            if !file.path.is_empty() && !self.credential_files.contains(&file) {
                self.credential_files.push(file);
            }
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

    #[test]
    fn a_skill_declares_a_file_once() {
        let mut request = CarriedRequest::new("/h".into());
        request.declare("mail", ["token.json", " token.json ", " "]);
        request.declare("mail", ["token.json"]);
        assert_eq!(
            request.credential_files,
            [CredentialFile {
                path: "token.json".to_owned(),
                declared_by: "skill mail".to_owned()
            }]
        );
    }
}
