//! Whether symbolic links of an archive stay inside it.
//!
//! Looking at one target is not enough: with `a -> .`, the target `a/..` climbs out although it
//! reads as harmless. So targets are resolved over all links of the archive, as a kernel would.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Links followed for one target; the kernel gives up at the same number.
const MAX_FOLLOWED: u32 = 40;

/// The symbolic links of an archive, by their path below its root.
#[derive(Debug, Default)]
pub(super) struct Links {
    targets: BTreeMap<PathBuf, PathBuf>,
}

impl Links {
    /// Adds a link; false if the path has one already.
    pub(super) fn insert(&mut self, link: PathBuf, target: PathBuf) -> bool {
        self.targets.insert(link, target).is_none()
    }

    /// All links and their targets, in order of their paths.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.targets
            .iter()
            .map(|(link, target)| (link.as_path(), target.as_path()))
    }

    /// Says why the link at this path must not be unpacked, or `None` if it never leaves the root.
    pub(super) fn objection(&self, link: &Path) -> Option<&'static str> {
        let target = self.targets.get(link)?;
        if target.as_os_str().as_bytes().contains(&b'\\') {
            return Some("a link with a backslash in its target");
        }
        let mut at: Vec<OsString> = link
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .map(|component| component.as_os_str().to_owned())
            .collect();
        let mut ahead: Vec<PathBuf> = reversed(target);
        let mut followed = 0;
        while let Some(step) = ahead.pop() {
            match step.components().next() {
                None | Some(Component::CurDir) => {}
                Some(Component::RootDir | Component::Prefix(_)) => {
                    return Some("a link to an absolute path");
                }
                Some(Component::ParentDir) => {
                    if at.pop().is_none() {
                        return Some("a link that leaves the profile");
                    }
                }
                Some(Component::Normal(name)) => {
                    at.push(name.to_owned());
                    let here: PathBuf = at.iter().collect();
                    if let Some(next) = self.targets.get(&here) {
                        followed += 1;
                        if followed > MAX_FOLLOWED {
                            return Some("a link through too many links");
                        }
                        at.pop();
                        ahead.extend(reversed(next));
                    }
                }
            }
        }
        None
    }
}

/// The components of a path, last one first.
fn reversed(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .map(|component| PathBuf::from(component.as_os_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(links: &[(&str, &str)]) -> Vec<String> {
        let mut map = Links::default();
        for (link, target) in links {
            assert!(map.insert(PathBuf::from(link), PathBuf::from(target)));
        }
        links
            .iter()
            .filter(|(link, _)| map.objection(Path::new(link)).is_some())
            .map(|(link, _)| (*link).to_owned())
            .collect()
    }

    #[test]
    fn links_inside_are_fine_even_if_dangling() {
        let links = [
            ("a/b/c", "../../x"),
            ("d", "no/such/file"),
            ("e", "."),
            ("f", "a/./b"),
        ];
        assert_eq!(objections(&links), Vec::<String>::new());
    }

    #[test]
    fn links_that_leave_are_not() {
        assert_eq!(
            objections(&[
                ("a", ".."),
                ("b/c", "../../x"),
                ("d", "/etc"),
                ("e", "x\\y")
            ]),
            ["a", "b/c", "d", "e"]
        );
    }

    #[test]
    fn links_that_leave_through_other_links_are_not() {
        assert_eq!(
            objections(&[("a", "."), ("b", "a/..")]),
            ["b"],
            "reads as the root, resolves to its parent"
        );
        assert_eq!(
            objections(&[("deep/er/link", "../.."), ("x", "deep/er/link/../y")]),
            ["x"]
        );
    }

    #[test]
    fn loops_end() {
        assert_eq!(objections(&[("a", "b"), ("b", "a")]), ["a", "b"]);
    }
}
