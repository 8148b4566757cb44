//! Whether symbolic links of an archive stay inside it.
//!
//! Looking at one target is not enough: with `a -> .`, the target `a/..` climbs out although it
//! reads as harmless. So targets are resolved over all links of the archive, as a kernel would.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Links followed for one target; the kernel gives up at the same number.
const MAX_FOLLOWED: u32 = 40;

/// The symbolic links of an archive, by their path below its root.
pub(super) type Links = BTreeMap<PathBuf, PathBuf>;

/// Says why the link at this path must not be unpacked, or `None` if it never leaves the root.
pub(super) fn objection(links: &Links, link: &Path) -> Option<&'static str> {
    let target = links.get(link)?;
    if target.as_os_str().as_bytes().contains(&b'\\') {
        return Some("a link with a backslash in its target");
    }
    let mut at = link.parent().unwrap_or(Path::new("")).to_owned();
    let mut ahead: Vec<Component<'_>> = target.components().rev().collect();
    let mut followed = 0;
    while let Some(step) = ahead.pop() {
        match step {
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => {
                return Some("a link to an absolute path");
            }
            Component::ParentDir => {
                if !at.pop() {
                    return Some("a link that points outside the profile");
                }
            }
            Component::Normal(name) => {
                at.push(name);
                if let Some(next) = links.get(&at) {
                    followed += 1;
                    if followed > MAX_FOLLOWED {
                        return Some("a link through too many links");
                    }
                    at.pop();
                    ahead.extend(next.components().rev());
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(links: &[(&str, &str)]) -> Vec<String> {
        let mut map = Links::new();
        for (link, target) in links {
            map.insert(PathBuf::from(link), PathBuf::from(target));
        }
        links
            .iter()
            .filter(|(link, _)| objection(&map, Path::new(link)).is_some())
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
