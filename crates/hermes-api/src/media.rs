//! `MEDIA:` tags of answers: a client elsewhere cannot open a file of this machine, so small images go
//! along as data URLs. A tag that cannot stays visible, followed by the reason.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_policy::{PrivateHomes, ReadGuard};
use hermes_runtime::Context;

const TAG: &str = "MEDIA:";
/// Largest image that goes along.
const MOST_BYTES: u64 = 5 << 20;
/// Directories of the machine from which nothing is delivered.
const DENIED: &[&str] = &[
    "/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/var/log", "/var/lib", "/var/run",
];
/// Image types by their extension.
const IMAGES: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
];

/// Whose files may be delivered.
#[derive(Debug, Clone)]
pub(crate) struct MediaRules {
    user_home: PathBuf,
    homes: PrivateHomes,
}

impl MediaRules {
    pub(crate) fn of(context: &Context) -> Self {
        let location = &context.location;
        Self {
            user_home: location.user_home.clone(),
            homes: PrivateHomes {
                accounts: vec![location.user_home.clone()],
                hermes: vec![location.home.clone(), location.root.clone()],
            },
        }
    }

    /// The text with its images in it.
    pub(crate) fn with_images(&self, text: String) -> String {
        if !text.contains(TAG) {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut is_fenced = false;
        for line in text.split_inclusive('\n') {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            }
            if is_fenced || line.trim_start().starts_with("```") {
                out.push_str(line);
            } else {
                self.add_line(line, &mut out);
            }
        }
        out
    }

    fn add_line(&self, line: &str, out: &mut String) {
        let mut rest = line;
        while let Some(at) = rest.find(TAG) {
            let (before, tagged) = rest.split_at(at);
            out.push_str(before);
            // An odd number of ticks before the tag: it is quoted as code.
            let is_code = line.get(..line.len() - tagged.len());
            let is_code = is_code.is_some_and(|all| all.matches('`').count() % 2 == 1);
            let after = tagged.get(TAG.len()..).unwrap_or_default();
            let Some((written, length)) = path_in(after).filter(|_| !is_code) else {
                out.push_str(TAG);
                rest = after;
                continue;
            };
            let (tag, behind) = tagged.split_at(TAG.len() + length);
            match self.image(written) {
                Some(Ok(image)) => out.push_str(&image),
                Some(Err(reason)) => {
                    out.push_str(tag);
                    out.push_str(&format!(" ({reason})"));
                }
                None => out.push_str(tag),
            }
            rest = behind;
        }
        out.push_str(rest);
    }

    /// The image of a tag, or why there is none; `None` if the file is no image.
    fn image(&self, written: &str) -> Option<Result<String, &'static str>> {
        let path = match written.strip_prefix("~/") {
            Some(below) => self.user_home.join(below),
            None => PathBuf::from(written),
        };
        let path = hermes_fs::resolved(&path);
        let extension = path.extension()?.to_str()?.to_lowercase();
        let kind = IMAGES.iter().find(|(known, _)| *known == extension)?.1;
        if !path.is_file() {
            return Some(Err("there is no such file here"));
        }
        if self.is_private(&path) {
            return Some(Err("this place is private"));
        }
        let Ok(Some(bytes)) = hermes_fs::read_optional(&path, MOST_BYTES) else {
            return Some(Err("the image cannot be read, or is larger than 5 MiB"));
        };
        let data = STANDARD.encode(bytes);
        Some(Ok(format!("![image](data:{kind};base64,{data})")))
    }

    fn is_private(&self, path: &Path) -> bool {
        let is_denied = DENIED.iter().any(|place| {
            // The home of the user is no place of the machine, where that is /root.
            path.starts_with(place) && !self.user_home.starts_with(place)
        });
        is_denied || ReadGuard::here(&self.homes).refuses_attaching(path)
    }
}

/// The path at the beginning of a text, and how much of the text it takes.
fn path_in(text: &str) -> Option<(&str, usize)> {
    let quote = text.chars().next().filter(|first| "\"'`".contains(*first));
    if let Some(quote) = quote {
        let inner = text.get(1..)?;
        let end = inner.find(quote)?;
        let path = inner.get(..end)?;
        return is_path(path).then_some((path, end + 2));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let path = text.get(..end)?;
    let path = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'']);
    is_path(path).then_some((path, path.len()))
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') || text.starts_with("~/")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files directly")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn scene() -> (tempfile::TempDir, MediaRules, String) {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("a.png", "ABC"),
            ("my b.jpg", "ABC"),
            ("notes.md", "x"),
            (".ssh/key.png", "secret"),
            (".hermes/auth.png", "x"),
        ] {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let rules = MediaRules {
            user_home: home.path().to_owned(),
            homes: PrivateHomes {
                accounts: vec![home.path().to_owned()],
                hermes: vec![home.path().join(".hermes")],
            },
        };
        let place = home.path().display().to_string();
        (home, rules, place)
    }

    #[test]
    fn images_go_along_and_everything_else_stays_as_it_is() {
        let (_home, rules, place) = scene();
        let image = |kind: &str| format!("![image](data:image/{kind};base64,QUJD)");
        for (text, expected) in [
            (
                format!("See MEDIA:{place}/a.png."),
                format!("See {}.", image("png")),
            ),
            (
                "MEDIA:~/a.png\nx".to_owned(),
                format!("{}\nx", image("png")),
            ),
            (
                format!("MEDIA:\"{place}/my b.jpg\" y"),
                format!("{} y", image("jpeg")),
            ),
        ] {
            assert_eq!(rules.with_images(text), expected);
        }
        for text in [
            "no tag".to_owned(),
            format!("MEDIA:{place}/notes.md"),
            "MEDIA:../a.png".to_owned(),
            format!("`MEDIA:{place}/a.png`"),
            format!("```\nMEDIA:{place}/a.png\n```\n"),
        ] {
            assert_eq!(rules.with_images(text.clone()), text);
        }
    }

    #[test]
    fn what_is_not_delivered_stays_visible_with_the_reason() {
        let (home, rules, place) = scene();
        std::os::unix::fs::symlink("/etc/passwd", home.path().join("link.png")).unwrap();
        let large = std::fs::File::create(home.path().join("large.png")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        for (name, reason) in [
            ("gone.png", "no such file"),
            (".ssh/key.png", "private"),
            ("large.png", "5 MiB"),
        ] {
            let told = rules.with_images(format!("MEDIA:{place}/{name}"));
            assert!(
                told.starts_with(&format!("MEDIA:{place}/{name} (")),
                "{told}"
            );
            assert!(told.contains(reason), "{told}");
        }
        // A link leads to what it is: no image.
        let told = rules.with_images(format!("MEDIA:{place}/link.png"));
        assert!(!told.contains("base64"), "{told}");
    }
}
