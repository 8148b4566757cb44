//! A locked closure: every package of a feature, pinned by version and hashes.

use sha2::{Digest, Sha256};

use crate::marker::{self, MarkerValues};

/// A lock in the format of requirement files.
#[derive(Debug, Clone)]
pub(crate) struct Closure {
    text: String,
    packages: Vec<LockedPackage>,
}

/// One package of a closure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedPackage {
    /// In the normal form of package indexes.
    pub(crate) name: String,
    pub(crate) version: String,
    hashes: usize,
    marker: Option<String>,
}

impl Closure {
    /// Reads a lock. `None` if a line is no pinned package with at least one hash.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut packages: Vec<LockedPackage> = Vec::new();
        for line in text.lines() {
            let line = line.trim_end_matches('\\').trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(hash) = line.strip_prefix("--hash=sha256:") {
                if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return None;
                }
                packages.last_mut()?.hashes += 1;
                continue;
            }
            let (spec, marker) = match line.split_once(';') {
                Some((spec, marker)) => (spec.trim(), Some(marker.trim().to_owned())),
                None => (line, None),
            };
            if !crate::spec::is_pinned(spec) {
                return None;
            }
            let (name, version) = spec.split_once("==")?;
            packages.push(LockedPackage {
                name: normal_name(name.split('[').next().unwrap_or(name)),
                version: version.to_owned(),
                hashes: 0,
                marker,
            });
        }
        let is_whole = !packages.is_empty() && packages.iter().all(|package| package.hashes > 0);
        is_whole.then(|| Self {
            text: text.to_owned(),
            packages,
        })
    }

    /// What installers are given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The part of the lock that is about each package, by name and version.
    pub(crate) fn blocks(&self) -> Vec<((String, String), &str)> {
        blocks(&self.text)
    }

    /// The SHA-256 of the lock: what makes one closure another.
    pub(crate) fn digest(&self) -> String {
        hermes_fs::hex(&Sha256::digest(self.text.as_bytes()))
    }

    /// All packages, on whatever platform.
    pub(crate) fn packages(&self) -> &[LockedPackage] {
        &self.packages
    }

    /// The packages for an interpreter, as name and version, sorted. An unreadable marker is an error.
    pub(crate) fn packages_for(
        &self,
        values: &MarkerValues,
    ) -> Result<Vec<(String, String)>, String> {
        let mut wanted = Vec::new();
        for package in &self.packages {
            let applies = match &package.marker {
                None => true,
                Some(marker) => marker::applies(marker, values)
                    .ok_or_else(|| format!("the marker `{marker}` cannot be understood"))?,
            };
            if applies {
                wanted.push((package.name.clone(), package.version.clone()));
            }
        }
        wanted.sort();
        Ok(wanted)
    }
}

/// The parts of a lock, each with the package that it is about.
pub(crate) fn blocks(lock: &str) -> Vec<((String, String), &str)> {
    let mut blocks: Vec<((String, String), usize, usize)> = Vec::new();
    let mut at = 0;
    for line in lock.split_inclusive('\n') {
        let end = at + line.len();
        let is_comment = line.starts_with('#');
        match line.split_once("==").filter(|_| !is_comment) {
            Some((name, rest)) if !line.starts_with([' ', '\t']) => {
                let version = rest.split([' ', ';', '\\', '\n']).next().unwrap_or(rest);
                let name = normal_name(name.split('[').next().unwrap_or(name));
                blocks.push(((name, version.to_owned()), at, end));
            }
            _ => {
                if let Some((_, _, last)) = blocks.last_mut() {
                    *last = end;
                }
            }
        }
        at = end;
    }
    let text = |(pin, from, to)| Some((pin, lock.get(from..to)?));
    blocks.into_iter().filter_map(text).collect()
}

/// The normal form of a package's name: lower case, one `-` for every run of `-`, `_` and `.`.
pub(crate) fn normal_name(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            _ => normal.push(letter.to_ascii_lowercase()),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "28009937d8031054830160fce6d409ed342816b543597cece116d966c6d99e15";

    #[test]
    fn packages_markers_and_the_digest_are_read() {
        let text = format!(
            "a.B_c==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{HASH}\nd==2 \\\n    --hash=sha256:{HASH}\n"
        );
        let closure = Closure::parse(&text).unwrap();
        let linux = [("sys_platform".to_owned(), "linux".to_owned())].into();
        let windows = [("sys_platform".to_owned(), "win32".to_owned())].into();
        let d = ("d".to_owned(), "2".to_owned());
        assert_eq!(closure.packages_for(&linux), Ok(vec![d.clone()]));
        let a = ("a-b-c".to_owned(), "1.0".to_owned());
        assert_eq!(closure.packages_for(&windows), Ok(vec![a, d]));
        assert_eq!(closure.digest().len(), 64);
    }

    #[test]
    fn anything_without_hashes_is_no_lock() {
        for text in [
            String::new(),
            "a==1\n".to_owned(),
            format!("    --hash=sha256:{HASH}\n"),
            "a==1 \\\n    --hash=sha256:12\n".to_owned(),
            "a==1 \\\n    --hash=md5:12\n".to_owned(),
            format!("--index-url https://evil\na==1 \\\n    --hash=sha256:{HASH}\n"),
        ] {
            assert!(Closure::parse(&text).is_none(), "{text}");
        }
    }
}
