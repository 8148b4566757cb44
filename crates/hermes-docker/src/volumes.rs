//! The setting `docker_volumes`: from texts to mounts.
//!
//! Nothing is created on the host: an engine would make a missing source as an empty directory of
//! root, which hides the mistake.

use std::path::{Path, PathBuf};

use hermes_policy::{ProtectedHomes, covered_home};

use super::error::{DockerError, Result};
use super::extra_args::is_host_path;
use super::inspect::trimmed_target;
use super::mounts::{Mount, MountOrigin};

/// The volumes of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Volumes {
    /// Those to mount, in order.
    pub mounted: Vec<Mount>,
    /// Those whose source is missing now. They are configured all the same: a disk that is not
    /// plugged in is no reason to throw a sandbox away.
    pub missing: Vec<Mount>,
    /// Entries that were left out, one sentence each.
    pub warnings: Vec<String>,
}

/// What is needed to understand an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VolumeContext<'a> {
    /// What `~` means.
    pub user_home: &'a Path,
    /// What `./` means.
    pub directory: &'a Path,
    /// Whether the engine sees the files that we see, so that a missing one can be told.
    pub engine_is_here: bool,
}

impl Volumes {
    /// Reads the entries.
    pub(crate) fn read(entries: &[String], context: VolumeContext<'_>) -> Result<Self> {
        let mut volumes = Self::default();
        for entry in entries {
            let entry = entry.trim();
            match parse(entry, context) {
                Ok(volume) => volumes.add(volume, context)?,
                Err(why) => volumes.warnings.push(why),
            }
        }
        Ok(volumes)
    }

    /// Leaves out what holds a home of the user or of Hermes: nobody watches what a card's worker does
    /// with it.
    pub(crate) fn leave_out_homes(&mut self, protected: &ProtectedHomes) {
        let warnings = &mut self.warnings;
        self.mounted.retain(|volume| {
            let source = Path::new(&volume.source);
            let why = is_host_path(&volume.source).then(|| covered_home(source, protected));
            match why.flatten() {
                Some(why) => {
                    warnings.push(format!(
                        "Docker volume '{}' is not mounted for a card: {} {why}",
                        volume.argument(),
                        volume.source
                    ));
                    false
                }
                None => true,
            }
        });
    }

    /// Whether something is mounted exactly there.
    pub(crate) fn has_target(&self, target: &str) -> bool {
        self.mounted.iter().any(|volume| volume.target == target)
    }

    fn add(&mut self, volume: Mount, context: VolumeContext<'_>) -> Result<()> {
        let mut configured = self.mounted.iter().chain(&self.missing);
        if let Some(first) = configured.find(|known| known.target == volume.target) {
            return Err(DockerError::Settings {
                message: format!(
                    "terminal.docker_volumes mounts two things at {}: '{}' and '{}'",
                    volume.target,
                    first.argument(),
                    volume.argument()
                ),
                hint: "remove one of them".to_owned(),
            });
        }
        let is_missing = || is_host_path(&volume.source) && !Path::new(&volume.source).exists();
        if context.engine_is_here && is_missing() {
            self.warnings.push(format!(
                "Docker volume '{}' is not mounted: {} does not exist",
                volume.argument(),
                volume.source
            ));
            self.missing.push(volume);
        } else {
            self.mounted.push(volume);
        }
        Ok(())
    }
}

fn parse(entry: &str, context: VolumeContext<'_>) -> std::result::Result<Mount, String> {
    let (source, rest) = split_source(entry)
        .ok_or_else(|| format!("Docker volume '{entry}' missing colon, skipping"))?;
    let (target, options) = match rest.split_once(':') {
        Some((target, options)) => (target, Some(options.to_owned())),
        None => (rest, None),
    };
    if !target.starts_with('/') {
        return Err(format!(
            "Docker volume '{entry}' is not mounted: '{target}' is not an absolute path"
        ));
    }
    if source.is_empty() {
        return Err(format!(
            "Docker volume '{entry}' is not mounted: it has no source"
        ));
    }
    let source = if is_host_path(source) {
        expand(source, context).display().to_string()
    } else {
        source.to_owned()
    };
    Ok(Mount {
        source,
        engine_source: None,
        target: trimmed_target(target),
        options: options.filter(|options| !options.is_empty()),
        origin: MountOrigin::Configured,
    })
}

/// The source and the rest; the colon of a drive letter is none that separates.
fn split_source(entry: &str) -> Option<(&str, &str)> {
    let has_drive = entry
        .get(1..3)
        .is_some_and(|start| matches!(start, ":\\" | ":/"))
        && entry.starts_with(|c: char| c.is_ascii_alphabetic());
    // `a:/b` is a volume named `a`, and `C:/x:/y` a drive: the second colon tells.
    let has_drive = has_drive && entry.get(2..).is_some_and(|rest| rest.contains(':'));
    if has_drive {
        let (drive, rest) = (entry.get(..2)?, entry.get(2..)?);
        let (path, rest) = rest.split_once(':')?;
        let length = drive.len() + path.len();
        return Some((entry.get(..length)?, rest));
    }
    entry.split_once(':')
}

fn expand(source: &str, context: VolumeContext<'_>) -> PathBuf {
    if source == "~" {
        return context.user_home.to_owned();
    }
    if let Some(rest) = source.strip_prefix("~/") {
        return context.user_home.join(rest);
    }
    let is_relative = source.starts_with('.');
    if !is_relative {
        return PathBuf::from(source);
    }
    let joined = context.directory.join(source);
    hermes_fs::canonicalize(&joined).unwrap_or_else(|_| hermes_fs::without_dots(&joined))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(entries: &[&str], home: &Path) -> Result<Volumes> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        Volumes::read(
            &entries,
            VolumeContext {
                user_home: home,
                directory: home,
                engine_is_here: true,
            },
        )
    }

    fn arguments(volumes: &Volumes) -> Vec<String> {
        volumes.mounted.iter().map(Mount::argument).collect()
    }

    #[test]
    fn homes_and_relative_paths_are_resolved_and_the_missing_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for name in ["data", "sub"] {
            hermes_fs::create_dir(&home.join(name), 0o700).unwrap();
        }
        let missing = home.join("missing");
        let missing_entry = format!("{}:/m", missing.display());
        let volumes = read(
            &[
                "nocolon",
                "~/data:/data:ro",
                &missing_entry,
                "./sub:/sub/",
                "named:/v",
                "~:/all",
            ],
            &home,
        )
        .unwrap();
        let base = home.display();
        assert_eq!(
            arguments(&volumes),
            [
                format!("{base}/data:/data:ro"),
                format!("{base}/sub:/sub"),
                "named:/v".to_owned(),
                format!("{base}:/all"),
            ]
        );
        assert_eq!(volumes.warnings.len(), 2, "{:?}", volumes.warnings);
        assert!(volumes.warnings[0].contains("'nocolon' missing colon"));
        assert_eq!(volumes.missing.len(), 1);
        assert!(!missing.exists(), "nothing is created");
    }

    #[test]
    fn a_workspace_is_mounted_only_by_its_exact_target() {
        let home = Path::new("/");
        assert!(
            !read(&["/tmp:/workspace/projects"], home)
                .unwrap()
                .has_target("/workspace")
        );
        assert!(
            read(&["/tmp:/workspace/"], home)
                .unwrap()
                .has_target("/workspace")
        );
    }

    #[test]
    fn two_things_at_one_place_are_an_error_that_names_both() {
        let error = read(&["/tmp:/d", "vol:/d:ro"], Path::new("/"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("'/tmp:/d'") && error.contains("'vol:/d:ro'"),
            "{error}"
        );
    }

    #[test]
    fn drive_letters_are_no_separators() {
        let context = VolumeContext {
            user_home: Path::new("/h"),
            directory: Path::new("/h"),
            engine_is_here: false,
        };
        let of = |entry: &str| {
            let volume = parse(entry, context).unwrap();
            (volume.source, volume.target, volume.options)
        };
        let expected =
            |s: &str, t: &str, o: Option<&str>| (s.to_owned(), t.to_owned(), o.map(str::to_owned));
        assert_eq!(of("C:\\x:/y"), expected("C:\\x", "/y", None));
        assert_eq!(of("c:/x:/y:ro"), expected("c:/x", "/y", Some("ro")));
        assert_eq!(of("c:/y"), expected("c", "/y", None));
        for bad in ["/a:rel", ":/b", "/a:", "é"] {
            assert!(parse(bad, context).is_err(), "{bad}");
        }
    }
}
