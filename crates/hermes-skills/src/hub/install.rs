//! Installing, updating and removing skills from elsewhere.

use std::path::{Path, PathBuf};

use hermes_fs::Staging;
use serde_json::Value;

use super::Hub;
use super::fetched::{FetchTools, FetchedSkill, content_hash, read_files};
use super::lock::InstalledSkill;
use crate::catalog::SkillRoot;
use crate::error::{Error, Result};
use crate::files::shown;
use crate::find::{Absence, Skills};
use crate::guard::{ScanReport, scan_directory};
use crate::name::{check_category, check_name};

/// A skill that was installed just now.
#[derive(Debug)]
pub struct Installed {
    pub name: String,
    pub directory: PathBuf,
    pub report: ScanReport,
}

/// Whether an installed skill is the one that its source has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateState {
    UpToDate,
    Available,
    /// The source does not answer, or has it no more.
    Unavailable(String),
}

impl Hub {
    /// Installs a skill that was fetched. `force` lifts caution of the scan, never danger.
    pub fn install(
        &self,
        skill: &FetchedSkill,
        name: Option<&str>,
        category: Option<&str>,
        force: bool,
    ) -> Result<Installed> {
        let name = name.or(skill.name.as_deref()).ok_or_else(|| {
            Error::refused_with(
                "The skill has no name that can be used.",
                "give one with --name",
            )
        })?;
        check_name(name).map_err(Error::refused)?;
        if let Some(category) = category {
            check_category(category).map_err(Error::refused)?;
        }
        self.refuse_taken(name)?;
        let relative = match category {
            Some(category) => Path::new(category).join(name),
            None => PathBuf::from(name),
        };
        self.put(skill, name, &relative, force, "INSTALL")
    }

    /// Replaces an installed skill with one that was fetched. A copy that was changed here stays,
    /// unless `force` says otherwise; then it is kept in `.archive`.
    pub fn replace(
        &self,
        installed: &InstalledSkill,
        skill: &FetchedSkill,
        force: bool,
    ) -> Result<Installed> {
        let relative = path_of(installed)?;
        let directory = self.skills().join(&relative);
        if directory.exists() {
            if hash_of(&directory)? != installed.content_hash && !force {
                return Err(Error::refused_with(
                    format!(
                        "'{}' was changed here, so it was not updated.",
                        installed.name
                    ),
                    "`--force` replaces it; the changed copy is kept in skills/.archive",
                ));
            }
            let quarantined = self.quarantined(skill, &installed.name, force)?;
            self.archive(&directory, &installed.name)?;
            return self.publish(quarantined, skill, &installed.name, &relative, "UPDATE");
        }
        self.put(skill, &installed.name, &relative, force, "UPDATE")
    }

    /// Removes an installed skill.
    pub fn uninstall(&self, name: &str) -> Result<PathBuf> {
        let installed = self.installed()?;
        let entry = installed.get(name).ok_or_else(|| {
            Error::refused_with(
                format!("'{}' was not installed from elsewhere.", shown(name)),
                "`hermes skills list --source hub` shows what was; delete your own by hand",
            )
        })?;
        let relative = path_of(entry)?;
        let directory = self.skills().join(&relative);
        if hermes_fs::exists_no_follow(&directory) {
            hermes_fs::join_without_symlinks(&self.skills(), &relative)?;
            hermes_fs::remove_tree(&directory)?;
        }
        self.record(name, None)?;
        let origin = format!("{}:{}", entry.source, entry.trust_level);
        self.log(&["UNINSTALL", name, &origin, "n/a", "user_request"]);
        Ok(directory)
    }

    /// Whether the source of an installed skill has another one now.
    pub fn update_state(
        &self,
        installed: &InstalledSkill,
        tools: &FetchTools,
    ) -> (UpdateState, Option<FetchedSkill>) {
        match self.fetch(&installed.identifier, tools) {
            Ok(skill) if skill.content_hash() == installed.content_hash => {
                (UpdateState::UpToDate, None)
            }
            Ok(skill) => (UpdateState::Available, Some(skill)),
            Err(error) => (UpdateState::Unavailable(error.to_string()), None),
        }
    }

    /// Scans an installed skill again.
    pub fn audit(&self, installed: &InstalledSkill) -> Result<ScanReport> {
        let directory = self.skills().join(path_of(installed)?);
        Ok(scan_directory(
            &directory,
            &installed.name,
            trust_of(installed),
        )?)
    }

    /// The directory of an installed skill.
    pub fn directory_of(&self, installed: &InstalledSkill) -> Result<PathBuf> {
        Ok(self.skills().join(path_of(installed)?))
    }

    fn put(
        &self,
        skill: &FetchedSkill,
        name: &str,
        relative: &Path,
        force: bool,
        action: &str,
    ) -> Result<Installed> {
        let quarantined = self.quarantined(skill, name, force)?;
        self.publish(quarantined, skill, name, relative, action)
    }

    /// The files of a skill where nobody uses them yet, scanned.
    fn quarantined(
        &self,
        skill: &FetchedSkill,
        name: &str,
        force: bool,
    ) -> Result<(Staging, ScanReport)> {
        self.make_directories()?;
        let quarantine = self.quarantine();
        Staging::sweep(&quarantine, name)?;
        let staging = Staging::begin(&quarantine, name)?;
        for (path, bytes) in &skill.files {
            let relative = hermes_fs::confined_relative(path).map_err(|_| {
                let path = path.to_string_lossy();
                Error::refused(format!(
                    "The skill has a file with the path '{}'.",
                    shown(&path)
                ))
            })?;
            let file = staging.path().join(relative);
            if let Some(parent) = file.parent() {
                hermes_fs::create_dir_all(parent, 0o700)?;
            }
            hermes_fs::write_atomic(&file, bytes, 0o600)?;
        }
        let report = scan_directory(staging.path(), name, skill.trust)?;
        if !skill.trust.allows(report.verdict, force) {
            let origin = format!("{}:{}", skill.source, skill.trust.as_str());
            self.log(&["BLOCKED", name, &origin, report.verdict.as_str()]);
            let objection = if report.is_dangerous() {
                "the scan calls it dangerous, and --force does not change that"
            } else {
                "the scan advises caution; pass --force to install it anyway"
            };
            return Err(Error::Blocked {
                message: format!("'{name}' was not installed: {objection}."),
                report,
            });
        }
        Ok((staging, report))
    }

    fn publish(
        &self,
        (staging, report): (Staging, ScanReport),
        skill: &FetchedSkill,
        name: &str,
        relative: &Path,
        action: &str,
    ) -> Result<Installed> {
        let directory = self.skills().join(relative);
        if let Some(parent) = directory.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let hash = skill.content_hash();
        staging.publish(&directory)?;
        let now = jiff::Timestamp::now().to_string();
        let known = self.installed()?.remove(name);
        let entry = InstalledSkill {
            name: name.to_owned(),
            source: skill.source.to_owned(),
            identifier: skill.identifier.clone(),
            trust_level: skill.trust.as_str().to_owned(),
            scan_verdict: report.verdict.as_str().to_owned(),
            content_hash: hash.clone(),
            install_path: relative.to_string_lossy().into_owned(),
            files: skill
                .files
                .keys()
                .map(|p| p.to_string_lossy().into_owned())
                .collect(),
            metadata: skill.metadata.clone(),
            installed_at: known.map_or_else(|| now.clone(), |known| known.installed_at),
            updated_at: now,
            others: serde_json::Map::from_iter([(
                "scan_provenance".to_owned(),
                Value::Object(serde_json::Map::new()),
            )]),
        };
        self.record(name, Some(&entry))?;
        let origin = format!("{}:{}", skill.source, skill.trust.as_str());
        self.log(&[action, name, &origin, report.verdict.as_str(), &hash]);
        Ok(Installed {
            name: name.to_owned(),
            directory,
            report,
        })
    }

    fn refuse_taken(&self, name: &str) -> Result<()> {
        if self.installed()?.contains_key(name) {
            return Err(Error::refused_with(
                format!("'{name}' is installed already."),
                format!("`hermes skills update {name}` brings it up to date"),
            ));
        }
        let own = Skills {
            roots: vec![SkillRoot {
                directory: self.skills(),
                remote: None,
                is_own: true,
            }],
            ..Skills::default()
        };
        match own.find(name) {
            Err(Absence::Unknown) => Ok(()),
            Ok(found) if found.place.is_none() => Ok(()),
            _ => Err(Error::refused_with(
                format!("There is a skill '{name}' already."),
                "choose another name with --name",
            )),
        }
    }

    fn archive(&self, directory: &Path, name: &str) -> Result<()> {
        let archive = self.skills().join(".archive");
        hermes_fs::create_dir_all(&archive, 0o700)?;
        let stamp = jiff::Timestamp::now()
            .strftime("%Y%m%dT%H%M%S%3fZ")
            .to_string();
        hermes_fs::rename_exclusive(directory, &archive.join(format!("{name}-{stamp}")))?;
        Ok(())
    }
}

/// The hash of an installed copy as it is now.
fn hash_of(directory: &Path) -> Result<String> {
    let files = read_files(directory)?;
    let files = files.iter();
    Ok(content_hash(
        files.map(|(path, bytes)| (path.as_path(), bytes.as_slice())),
    ))
}

/// Its directory below `skills/`.
fn path_of(installed: &InstalledSkill) -> Result<PathBuf> {
    installed.relative_path().ok_or_else(|| {
        Error::refused_with(
            format!(
                "The list of installed skills says that '{}' is in '{}', which cannot be.",
                installed.name,
                shown(&installed.install_path)
            ),
            "mend the entry in skills/.hub/lock.json",
        )
    })
}

fn trust_of(installed: &InstalledSkill) -> crate::guard::Trust {
    match installed.trust_level.as_str() {
        "builtin" => crate::guard::Trust::Builtin,
        "trusted" => crate::guard::Trust::Trusted,
        _ => crate::guard::Trust::Community,
    }
}
