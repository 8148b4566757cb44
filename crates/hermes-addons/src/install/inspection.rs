//! What an installer wrote, looked at before anything of it goes into service.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hermes_fs::{Directory, Kind};

use crate::closure::normal_name;
use crate::error::{AddonError, Code, Result};

/// Largest metadata file that is read.
const MAX_METADATA: u64 = 4 << 20;

/// Removes what no worker needs, and refuses what a closure never contains.
pub(super) fn inspect(site: &Path, wanted: &[(String, String)]) -> Result<()> {
    let failed = |error: hermes_fs::Error| refused(error.to_string());
    for needless in ["bin", ".lock"] {
        hermes_fs::remove_tree(&site.join(needless)).map_err(failed)?;
    }
    let root = Directory::open(site).map_err(failed)?;
    let mut found = Vec::new();
    root.walk(&mut |relative, entry| {
        let entry = entry.map_err(failed)?;
        let shown = relative.display();
        let meta = root.metadata(relative).map_err(failed)?;
        let at_top = relative.components().count() == 1;
        let name = entry.name.to_string_lossy();
        match entry.kind {
            Kind::Symlink => return Err(refused(format!("it wrote a symbolic link, {shown}"))),
            Kind::Special => {
                return Err(refused(format!(
                    "it wrote something that is no file, {shown}"
                )));
            }
            Kind::File if meta.nlink() > 1 => {
                return Err(refused(format!("it wrote a hard link, {shown}")));
            }
            Kind::File if at_top && name.ends_with(".pth") => {
                return Err(refused(format!(
                    "it wrote {shown}, which would run at every start"
                )));
            }
            Kind::File | Kind::Dir => {}
        }
        if entry.kind == Kind::File && meta.mode() & 0o6000 != 0 {
            return Err(refused(format!(
                "{shown} would run with the rights of its owner"
            )));
        }
        if at_top && name.ends_with(".egg-info") {
            return Err(refused(format!(
                "it wrote {shown}, which no wheel contains"
            )));
        }
        if at_top && entry.kind == Kind::Dir && name.ends_with(".dist-info") {
            found.push(package_of(site, &name)?);
        }
        Ok(true)
    })?;
    found.sort();
    if found == wanted {
        return Ok(());
    }
    let list = |all: &[(String, String)], other: &[(String, String)]| {
        let only = all.iter().filter(|package| !other.contains(package));
        let only: Vec<String> = only
            .map(|(name, version)| format!("{name}=={version}"))
            .collect();
        if only.is_empty() {
            "nothing".to_owned()
        } else {
            only.join(", ")
        }
    };
    Err(refused(format!(
        "the packages differ from the lock: missing {}, unexpected {}",
        list(wanted, &found),
        list(&found, wanted)
    )))
}

/// The name and version that a package's metadata give.
fn package_of(site: &Path, directory: &str) -> Result<(String, String)> {
    let path = site.join(directory).join("METADATA");
    let text =
        hermes_fs::read_capped(&path, MAX_METADATA).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let header = |name: &str| {
        text.lines()
            .take_while(|line| !line.is_empty())
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim().to_owned())
    };
    match (header("Name:"), header("Version:")) {
        (Some(name), Some(version)) => Ok((normal_name(&name), version)),
        _ => Err(refused(format!(
            "{directory} does not say which package it is"
        ))),
    }
}

fn refused(why: String) -> AddonError {
    AddonError::new(
        Code::InstallerFailed,
        format!("what the installer wrote is refused: {why}"),
    )
    .hint("nothing was installed; report it")
}

/// Takes the right to write from everything in an environment.
pub(crate) fn make_read_only(site: &Path) -> hermes_fs::Result<()> {
    let root = Directory::open(site)?;
    root.walk(&mut |relative, entry| {
        let entry = entry?;
        let mode = root.metadata(relative)?.mode();
        let mode = if entry.kind == Kind::Dir || mode & 0o100 != 0 {
            0o555
        } else {
            0o444
        };
        hermes_fs::set_mode(&site.join(relative), mode)?;
        Ok::<bool, hermes_fs::Error>(true)
    })?;
    hermes_fs::set_mode(site, 0o555)
}
