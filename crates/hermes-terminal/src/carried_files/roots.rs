//! The files and directories that go along, found on disk.

use std::path::PathBuf;

use super::credential::declared_credential;
use super::request::CarriedRequest;

/// Caches by their name, with the name they had in older homes.
const CACHES: &[(&str, &str)] = &[
    ("documents", "document_cache"),
    ("images", "image_cache"),
    ("audio", "audio_cache"),
    ("videos", "video_cache"),
    ("screenshots", "browser_screenshots"),
    ("web", "web_cache"),
    ("delegation", "delegation_cache"),
];

/// What something that goes along is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarriedKind {
    /// A file a skill or the user declared. Changes made on the host never come back.
    Credential,
    Skill,
    Cache,
}

/// One file (credentials) or directory (everything else) that goes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedRoot {
    pub kind: CarriedKind,
    pub source: PathBuf,
    /// Where it belongs below `.hermes` there; relative, without `..`.
    pub target: PathBuf,
}

/// What goes along, in the order credentials, skills, caches, and what was left out and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// What goes along; no target twice.
    pub roots: Vec<CarriedRoot>,
    pub warnings: Vec<String>,
}

impl CarriedRequest {
    /// Looks for everything asked for.
    pub fn resolve(&self) -> Carried {
        let mut carried = Carried::default();
        for declared in &self.credential_files {
            match declared_credential(&self.hermes_home, declared) {
                Ok((source, target)) => carried.add(CarriedKind::Credential, source, target),
                Err(refusal) => carried.warnings.push(format!(
                    "the credential file '{}' (terminal.credential_files) does not go along: \
                     {refusal}",
                    declared.escape_debug(),
                )),
            }
        }
        self.find_skills(&mut carried);
        for (name, legacy) in CACHES {
            let target = PathBuf::from("cache").join(name);
            let sources = [
                self.hermes_home.join(legacy),
                self.hermes_home.join(&target),
            ];
            // A home that still has the old directory uses it.
            if let Some(source) = sources.into_iter().find(|source| source.is_dir()) {
                carried.add(CarriedKind::Cache, source, target);
            }
        }
        carried
    }

    fn find_skills(&self, carried: &mut Carried) {
        let own = self.hermes_home.join("skills");
        if own.is_dir() {
            carried.add(CarriedKind::Skill, own, "skills".into());
        } else if own.exists() {
            carried.warnings.push(format!(
                "skills were not copied: {} is not a directory",
                own.display()
            ));
        }
        for (position, source) in self.external_skills.iter().enumerate() {
            if source.is_dir() {
                let target = PathBuf::from("external_skills").join(position.to_string());
                carried.add(CarriedKind::Skill, source.clone(), target);
            } else {
                carried.warnings.push(format!(
                    "the skills of skills.external_dirs[{position}] were not copied: {} is not a \
                     directory",
                    source.display()
                ));
            }
        }
    }
}

impl Carried {
    fn add(&mut self, kind: CarriedKind, source: PathBuf, target: PathBuf) {
        if !self.roots.iter().any(|root| root.target == target) {
            self.roots.push(CarriedRoot {
                kind,
                source,
                target,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn credentials_come_first_and_old_caches_get_the_new_place() {
        let dir = tempfile::tempdir().unwrap();
        let home = hermes_fs::canonicalize(dir.path()).unwrap();
        for name in ["skills", "cache/images", "image_cache", "cache/web", "ext"] {
            hermes_fs::create_dir_all(&home.join(name), 0o700).unwrap();
        }
        hermes_fs::write_atomic(&home.join("token.json"), b"x", 0o600).unwrap();
        let request = CarriedRequest {
            hermes_home: home.clone(),
            credential_files: ["token.json", "auth.json"].map(str::to_owned).into(),
            external_skills: vec![home.join("missing"), home.join("ext")],
        };

        let carried = request.resolve();
        let shown: Vec<_> = carried
            .roots
            .iter()
            .map(|root| {
                let source = root.source.strip_prefix(&home).unwrap();
                (root.kind, source, root.target.as_path())
            })
            .collect();
        assert_eq!(
            shown,
            [
                (CarriedKind::Credential, "token.json", "token.json"),
                (CarriedKind::Skill, "skills", "skills"),
                (CarriedKind::Skill, "ext", "external_skills/1"),
                (CarriedKind::Cache, "image_cache", "cache/images"),
                (CarriedKind::Cache, "cache/web", "cache/web"),
            ]
            .map(|(kind, source, target)| (kind, Path::new(source), Path::new(target)))
        );
        assert_eq!(carried.warnings.len(), 2, "{:?}", carried.warnings);
        assert!(carried.warnings[0].contains("auth.json' (terminal.credential_files)"));
        assert!(carried.warnings[1].contains("external_dirs[0]"));
    }

    #[test]
    fn an_empty_home_carries_nothing_and_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let request = CarriedRequest {
            hermes_home: dir.path().to_owned(),
            ..CarriedRequest::default()
        };
        assert_eq!(request.resolve(), Carried::default());
    }
}
