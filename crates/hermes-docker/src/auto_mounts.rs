//! What containers see of the home without being told: declared credential files, skills, caches.
//!
//! All of it read-only, all of it checked: a source that is not of the expected kind is left out with
//! a warning, and nothing that holds the keys of Hermes itself is ever mounted, whoever asks.

use std::path::Path;

use hermes_terminal::carried_files::declared_credential;

use super::mounts::{Mount, MountOrigin};

/// Where a container has its part of the home.
const TARGET: &str = "/root/.hermes";
/// Caches: their name now, and their name in old homes.
const CACHES: [(&str, &str); 7] = [
    ("documents", "document_cache"),
    ("images", "image_cache"),
    ("audio", "audio_cache"),
    ("screenshots", "browser_screenshots"),
    ("videos", "video_cache"),
    ("web", "web_cache"),
    ("delegation", "delegation_cache"),
];

/// What may be mounted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AutoMountFacts<'a> {
    pub home: &'a Path,
    pub user_home: &'a Path,
    pub credential_files: &'a [String],
    pub external_skill_dirs: &'a [String],
}

/// The mounts, and what was refused.
#[derive(Debug, Default)]
pub(crate) struct AutoMounts {
    /// Credentials, skills, caches, in this order.
    pub mounts: Vec<Mount>,
    /// One sentence each.
    pub warnings: Vec<String>,
}

impl AutoMounts {
    /// Collects them. Looks at the file system, changes nothing.
    pub(crate) fn collect(facts: AutoMountFacts<'_>) -> Self {
        let mut found = Self::default();
        for path in facts.credential_files {
            found.credential(facts.home, path);
        }
        found.skills(facts);
        found.caches(facts.home);
        found
    }

    fn credential(&mut self, home: &Path, declared: &str) {
        let declared = declared.trim();
        match declared_credential(home, declared) {
            Ok((source, relative)) => {
                let target = format!("{TARGET}/{}", relative.display());
                if !self.mounts.iter().any(|mount| mount.target == target) {
                    let origin = MountOrigin::Credential;
                    self.mounts.push(Mount::generated(&source, &target, origin));
                }
            }
            Err(why) => self.warnings.push(format!(
                "credential file '{declared}' is not mounted: {why}"
            )),
        }
    }

    fn skills(&mut self, facts: AutoMountFacts<'_>) {
        let own = facts.home.join("skills");
        self.directory(&own, &format!("{TARGET}/skills"), MountOrigin::Skills);
        let external = facts
            .external_skill_dirs
            .iter()
            .map(|text| match text.trim().strip_prefix("~/") {
                Some(rest) => facts.user_home.join(rest),
                None => facts.home.join(text.trim()),
            })
            .filter(|directory| directory.is_dir());
        for (index, directory) in external.enumerate() {
            let target = format!("{TARGET}/external_skills/{index}");
            self.directory(&directory, &target, MountOrigin::Skills);
        }
    }

    fn caches(&mut self, home: &Path) {
        for (name, old_name) in CACHES {
            let target = format!("{TARGET}/cache/{name}");
            let new = home.join("cache").join(name);
            let source = if hermes_fs::exists_no_follow(&new) {
                new
            } else {
                home.join(old_name)
            };
            self.directory(&source, &target, MountOrigin::Cache);
        }
    }

    fn directory(&mut self, source: &Path, target: &str, origin: MountOrigin) {
        match hermes_fs::metadata(source) {
            Ok(meta) if meta.is_dir() => {
                self.mounts.push(Mount::generated(source, target, origin));
            }
            Ok(_) => self.warnings.push(format!(
                "{} is not mounted: it is not a directory",
                source.display()
            )),
            Err(error) if error.is_not_found() => {}
            Err(error) => self.warnings.push(format!("not mounted: {error}")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;

    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn put(&self, name: &str) -> PathBuf {
            let path = self.0.path().join("hh").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            path
        }

        fn collect(&self, credentials: &[&str], external: &[&str]) -> AutoMounts {
            let own = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
            AutoMounts::collect(AutoMountFacts {
                home: &self.0.path().join("hh"),
                user_home: self.0.path(),
                credential_files: &own(credentials),
                external_skill_dirs: &own(external),
            })
        }
    }

    #[test]
    fn only_plain_files_of_the_home_are_credentials() {
        let home = Home::new();
        for name in [
            "google_token.json",
            "auth.json",
            ".env",
            ".env.bak",
            "mcp-tokens/a.json",
            "profiles/x/.env",
            "dir/file",
        ] {
            home.put(name);
        }
        let outside = home.0.path().join("outside");
        std::fs::write(&outside, "x").unwrap();
        let at = |name: &str| home.0.path().join("hh").join(name);
        std::os::unix::fs::symlink(&outside, at("link_out")).unwrap();
        std::os::unix::fs::symlink(at("auth.json"), at("innocent.json")).unwrap();
        let refused = [
            "../../.ssh/id_rsa",
            "/etc/passwd",
            "auth.json",
            "AUTH.JSON",
            ".env",
            ".env.bak",
            "mcp-tokens/a.json",
            "profiles/x/.env",
            "link_out",
            "innocent.json",
            "dir",
            "missing",
            "",
        ];
        let mut wanted = refused.to_vec();
        wanted.extend(["google_token.json", "./google_token.json", "dir/file"]);
        let found = home.collect(&wanted, &[]);
        let arguments: Vec<String> = found.mounts.iter().map(Mount::argument).collect();
        let real = at("").canonicalize().unwrap();
        assert_eq!(
            arguments,
            [
                format!(
                    "{}/google_token.json:/root/.hermes/google_token.json:ro",
                    real.display()
                ),
                format!("{}/dir/file:/root/.hermes/dir/file:ro", real.display()),
            ]
        );
        assert_eq!(found.warnings.len(), refused.len(), "{:?}", found.warnings);
    }

    #[test]
    fn skills_and_caches_are_mounted_where_they_exist() {
        let home = Home::new();
        home.put("skills/a/SKILL.md");
        home.put("cache/images/x");
        home.put("image_cache/old");
        home.put("audio_cache/old");
        home.put("cache/web");
        std::fs::create_dir(home.0.path().join("more")).unwrap();
        let found = home.collect(&[], &["/nowhere", "~/more"]);
        let base = home.0.path().display().to_string();
        let arguments: Vec<String> = found
            .mounts
            .iter()
            .map(|mount| mount.argument().replace(&base, ""))
            .collect();
        assert_eq!(
            arguments,
            [
                "/hh/skills:/root/.hermes/skills:ro",
                "/more:/root/.hermes/external_skills/0:ro",
                "/hh/cache/images:/root/.hermes/cache/images:ro",
                "/hh/audio_cache:/root/.hermes/cache/audio:ro",
            ]
        );
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    }
}
