//! The logs by the names users type, and where they are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use crate::ArgumentError;

/// A log of a home.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LogName {
    /// Everything.
    Agent,
    /// Warnings and worse.
    Errors,
    Gateway,
    Gui,
    Boot,
    /// What a supervised gateway of this profile printed.
    GatewayProfile(String),
    /// What the processes of this add-on printed.
    Addon(String),
}

impl LogName {
    const FIXED: [Self; 5] = [
        Self::Agent,
        Self::Errors,
        Self::Gateway,
        Self::Gui,
        Self::Boot,
    ];

    /// The newest file of the log, below the `logs` directory.
    pub fn path(&self, dir: &Path) -> PathBuf {
        match self {
            Self::Boot => dir.join("container-boot.log"),
            Self::GatewayProfile(profile) => dir.join("gateways").join(profile).join("current"),
            Self::Addon(feature) => dir.join("addons").join(format!("{feature}.log")),
            other => dir.join(format!("{other}.log")),
        }
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent => formatter.write_str("agent"),
            Self::Errors => formatter.write_str("errors"),
            Self::Gateway => formatter.write_str("gateway"),
            Self::Gui => formatter.write_str("gui"),
            Self::Boot => formatter.write_str("boot"),
            Self::GatewayProfile(profile) => write!(formatter, "gateways/{profile}"),
            Self::Addon(feature) => write!(formatter, "addons/{feature}"),
        }
    }
}

impl FromStr for LogName {
    type Err = ArgumentError;

    fn from_str(value: &str) -> Result<Self, ArgumentError> {
        let wanted = value.trim();
        if let Some(profile) = wanted.strip_prefix("gateways/")
            && is_profile_name(profile)
        {
            return Ok(Self::GatewayProfile(profile.to_owned()));
        }
        if let Some(feature) = wanted.strip_prefix("addons/")
            && is_feature(feature)
        {
            return Ok(Self::Addon(feature.to_owned()));
        }
        Self::FIXED
            .into_iter()
            .find(|name| name.to_string() == wanted)
            .ok_or_else(|| ArgumentError::UnknownLog(value.to_owned()))
    }
}

/// The alphabet of profile names; anything else could leave the directory.
fn is_profile_name(name: &str) -> bool {
    let inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    name.len() <= 64 && name.bytes().all(inner) && !name.starts_with(['_', '-']) && !name.is_empty()
}

/// The alphabet of the names of add-ons.
fn is_feature(name: &str) -> bool {
    let mut parts = name.split('.');
    name.len() <= 64 && parts.all(is_profile_name)
}

/// A log that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// What to type for it.
    pub name: LogName,
    pub path: PathBuf,
    /// Size of that file.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// The logs there are, in the order of their kinds, gateways by profile.
pub fn list(dir: &Path) -> hermes_fs::Result<Vec<LogFile>> {
    let mut names = LogName::FIXED.to_vec();
    match hermes_fs::read_dir(&dir.join("gateways")) {
        Ok(entries) => names.extend(
            entries
                .iter()
                .map(|entry| entry.name.to_string_lossy().into_owned())
                .filter(|profile| is_profile_name(profile))
                .map(LogName::GatewayProfile),
        ),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    match hermes_fs::read_dir(&dir.join("addons")) {
        Ok(entries) => names.extend(entries.iter().filter_map(|entry| {
            let name = entry.name.to_string_lossy();
            let feature = name.strip_suffix(".log").filter(|name| is_feature(name))?;
            Some(LogName::Addon(feature.to_owned()))
        })),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    let mut files = Vec::new();
    for name in names {
        let path = name.path(dir);
        match hermes_fs::metadata(&path) {
            Ok(meta) if meta.is_file() => files.push(LogFile {
                name,
                path,
                bytes: meta.len(),
                modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            }),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_name_is_read_back() {
        let gateway = LogName::GatewayProfile("coder".to_owned());
        let addon = LogName::Addon("tts.espeak".to_owned());
        for name in LogName::FIXED.into_iter().chain([gateway, addon]) {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
    }

    #[test]
    fn bad_names_are_refused_and_named() {
        for bad in [
            "",
            "nope",
            "gateways/",
            "gateways/../x",
            "gateways/a/b",
            "gateways/-a",
            "addons/",
            "addons/../x",
            "addons/a..b",
            "../agent",
        ] {
            let error = bad.parse::<LogName>().unwrap_err();
            assert_eq!(error.to_string(), format!("unknown log '{bad}'"));
            assert!(error.hint().contains("gateways/<profile>"));
        }
    }

    #[test]
    fn the_list_holds_what_exists() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list(dir.path()).unwrap(), []);
        std::fs::write(dir.path().join("errors.log"), "abc\n").unwrap();
        std::fs::create_dir_all(dir.path().join("gateways/coder")).unwrap();
        std::fs::write(dir.path().join("gateways/coder/current"), "x\n").unwrap();
        std::fs::create_dir_all(dir.path().join("gateways/empty")).unwrap();
        std::fs::create_dir_all(dir.path().join("addons")).unwrap();
        std::fs::write(dir.path().join("addons/tts.espeak.log"), "y\n").unwrap();
        std::fs::write(
            dir.path()
                .join("addons/install-tts.espeak-20260101T000000Z.log"),
            "",
        )
        .unwrap();
        let found: Vec<_> = list(dir.path())
            .unwrap()
            .into_iter()
            .map(|file| (file.name.to_string(), file.bytes))
            .collect();
        assert_eq!(
            found,
            [
                ("errors".to_owned(), 4),
                ("gateways/coder".to_owned(), 2),
                ("addons/tts.espeak".to_owned(), 2)
            ]
        );
    }
}
