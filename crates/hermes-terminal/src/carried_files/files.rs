//! The single files of what goes along, for hosts that get copies.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind};

use super::roots::{CarriedKind, CarriedRoot};

/// More files than any home has; a tree beyond it is somebody's data.
const MAX_FILES: usize = 100_000;
/// Deeper than any skill.
const MAX_DEPTH: usize = 64;

/// One file that goes along, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedFile {
    pub kind: CarriedKind,
    /// The tree it is in, or the file itself.
    pub root: PathBuf,
    pub source: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: i64,
    pub mode: u32,
}

impl CarriedFile {
    /// Opens it as it was listed: whoever has put a link on the way since gets an error.
    pub fn open(&self) -> hermes_fs::Result<(File, Metadata)> {
        match self.source.strip_prefix(&self.root) {
            Ok(below) if !below.as_os_str().is_empty() => {
                Directory::open(&self.root)?.open_file(below)
            }
            _ => hermes_fs::open_regular(&self.source),
        }
    }
}

/// Files that cannot be listed, so that nothing can be said about what is missing.
#[derive(Debug, thiserror::Error)]
pub enum Unlistable {
    #[error(transparent)]
    Directory(#[from] hermes_fs::Error),
    #[error("{} contains more than {MAX_FILES} files or is nested too deeply", root.display())]
    TooMany { root: PathBuf },
}

/// Every file of these roots by where it belongs below `.hermes`. Links, sockets and devices are
/// left
/// out, as are names that another system could read as a way out, copies kept of a conflict and
/// files
/// half written. Of two files for one path the first counts.
pub fn files_of(roots: &[CarriedRoot]) -> Result<BTreeMap<PathBuf, CarriedFile>, Unlistable> {
    let mut files = BTreeMap::new();
    for root in roots {
        let mut walk = Walk {
            root,
            files: &mut files,
        };
        match root.kind {
            CarriedKind::Credential => {
                let meta = hermes_fs::symlink_metadata(&root.source);
                walk.add(&root.source, meta, root.target.clone())?;
            }
            CarriedKind::Skill | CarriedKind::Cache => match Directory::open(&root.source) {
                Ok(directory) => walk.enter(&directory, &root.target, 0)?,
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
    Ok(files)
}

struct Walk<'a> {
    root: &'a CarriedRoot,
    files: &'a mut BTreeMap<PathBuf, CarriedFile>,
}

impl Walk<'_> {
    fn enter(
        &mut self,
        directory: &Directory,
        target: &Path,
        depth: usize,
    ) -> Result<(), Unlistable> {
        if depth > MAX_DEPTH {
            return Err(self.too_many());
        }
        for entry in directory.entries()? {
            if hermes_fs::confined_relative(&entry.name).is_err() {
                continue;
            }
            let target = target.join(&entry.name);
            match entry.kind {
                Kind::Dir => match directory.directory(Path::new(&entry.name)) {
                    Ok(directory) => self.enter(&directory, &target, depth + 1)?,
                    // Removed since it was listed: its files are gone, too.
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error.into()),
                },
                Kind::File if !is_left_over(&entry.name.to_string_lossy()) => {
                    let meta = directory.metadata(Path::new(&entry.name));
                    self.add(&entry.path, meta, target)?;
                }
                Kind::File | Kind::Symlink | Kind::Special => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        source: &Path,
        meta: hermes_fs::Result<Metadata>,
        target: PathBuf,
    ) -> Result<(), Unlistable> {
        let meta = match meta {
            Ok(meta) if meta.is_file() => meta,
            // Removed or replaced since it was listed.
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let seconds = meta.mtime().saturating_mul(1_000_000_000);
        self.files.entry(target).or_insert_with(|| CarriedFile {
            kind: self.root.kind,
            root: self.root.source.clone(),
            source: source.to_owned(),
            size: meta.size(),
            modified: seconds.saturating_add(meta.mtime_nsec()),
            mode: meta.mode() & 0o7777,
        });
        if self.files.len() > MAX_FILES {
            return Err(self.too_many());
        }
        Ok(())
    }

    fn too_many(&self) -> Unlistable {
        Unlistable::TooMany {
            root: self.root.source.clone(),
        }
    }
}

/// Whether a file is the copy kept of a conflict (`<name>.host-20261115T231900Z`) or half written.
pub fn is_left_over(name: &str) -> bool {
    let is_temporary =
        name.starts_with('.') && Path::new(name).extension() == Some(OsStr::new("tmp"));
    let kept = name.rsplit_once(".host-").is_some_and(|(_, time)| {
        let (day, rest) = time.split_once('T').unwrap_or_default();
        let is_day = day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit());
        is_day && rest.starts_with(|first: char| first.is_ascii_digit())
    });
    is_temporary || kept
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn links_conflicts_and_half_written_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let skills = dir.path().join("skills");
        hermes_fs::create_dir_all(&skills.join("mail/scripts"), 0o700).unwrap();
        for name in [
            "mail/SKILL.md",
            "mail/SKILL.md.host-20261115T231900Z",
            "mail/host-20261115T231900Z",
            "mail/.SKILL.md.12-0.tmp",
            "mail/scripts/send.sh",
            "mail/a\\b",
            "top.md",
        ] {
            hermes_fs::write_atomic(&skills.join(name), b"x", 0o700).unwrap();
        }
        hermes_fs::symlink(Path::new("/etc/passwd"), &skills.join("mail/passwd")).unwrap();
        hermes_fs::symlink(Path::new("/etc"), &skills.join("etc")).unwrap();
        let roots = [CarriedRoot {
            kind: CarriedKind::Skill,
            source: skills.clone(),
            target: "skills".into(),
        }];

        let files = files_of(&roots).unwrap();
        let names: Vec<_> = files
            .keys()
            .map(|target| target.to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "skills/mail/SKILL.md",
                "skills/mail/host-20261115T231900Z",
                "skills/mail/scripts/send.sh",
                "skills/top.md"
            ]
        );
        let script = &files[Path::new("skills/mail/scripts/send.sh")];
        assert_eq!(script.source, skills.join("mail/scripts/send.sh"));
        assert_eq!((script.size, script.mode), (1, 0o700));
    }

    #[test]
    fn a_credential_inside_the_skills_stays_a_credential() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("skills/token.json");
        hermes_fs::create_dir_all(&dir.path().join("skills"), 0o700).unwrap();
        hermes_fs::write_atomic(&file, b"x", 0o600).unwrap();
        let root = |kind, source: &Path, target: &str| CarriedRoot {
            kind,
            source: source.to_owned(),
            target: target.into(),
        };
        let roots = [
            root(CarriedKind::Credential, &file, "skills/token.json"),
            root(CarriedKind::Skill, &dir.path().join("skills"), "skills"),
        ];
        let files = files_of(&roots).unwrap();
        assert_eq!(
            files.values().map(|file| file.kind).collect::<Vec<_>>(),
            [CarriedKind::Credential]
        );
    }

    #[test]
    fn endless_depth_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 2).collect();
        hermes_fs::create_dir_all(&dir.path().join(deep), 0o700).unwrap();
        let roots = [CarriedRoot {
            kind: CarriedKind::Cache,
            source: dir.path().to_owned(),
            target: "cache/web".into(),
        }];
        assert!(matches!(files_of(&roots), Err(Unlistable::TooMany { .. })));
    }
}
