//! Bringing a command into the shape the rules are written for.
//!
//! The rules see the normalised text; the text as given is what runs. A normalised text can hide what
//! the raw one shows (a wide quotation mark becomes a real one), so the rules look at both.

use std::borrow::Cow;
use std::path::Path;

use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};

/// Terminal sequences and NUL taken out, compatibility forms folded, continued lines joined.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    let mut result = Cow::Borrowed(text);
    if text.contains(['\u{1b}', '\u{9b}', '\0']) {
        // The one-character form of `ESC [` is not known to the stripper.
        let text = text.replace('\0', "").replace('\u{9b}', "\u{1b}[");
        result = Cow::Owned(anstream::adapter::strip_str(&text).to_string());
    }
    if !result.is_ascii()
        && is_nfkc_quick(result.chars()) != unicode_normalization::IsNormalized::Yes
    {
        result = Cow::Owned(result.nfkc().collect());
    }
    if result.contains("\\\n") || result.contains("\\\r\n") {
        result = Cow::Owned(join_lines(&result));
    }
    result
}

/// The text without NUL bytes: what a shell would get to see of it.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Drops a line break behind an odd number of backslashes, together with the last of them.
fn join_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('\\') {
        out.push_str(before);
        let joined = tail
            .strip_prefix('\n')
            .or_else(|| tail.strip_prefix("\r\n"));
        rest = joined.unwrap_or_else(|| {
            let mut chars = tail.chars();
            out.push('\\');
            out.extend(chars.next());
            chars.as_str()
        });
    }
    out.push_str(rest);
    out
}

/// The directories that `~` and `~/.hermes` stand for.
#[derive(Debug, Clone, Default)]
pub struct KnownHomes {
    homes: Vec<String>,
    hermes: Vec<String>,
}

impl KnownHomes {
    /// `homes` is the real home and the HOME of children, `hermes` the profile's home and the root.
    pub fn new<H: AsRef<Path>, R: AsRef<Path>>(
        homes: impl IntoIterator<Item = H>,
        hermes: impl IntoIterator<Item = R>,
    ) -> Self {
        Self {
            homes: homes
                .into_iter()
                .filter_map(|p| directory(p.as_ref()))
                .collect(),
            hermes: hermes
                .into_iter()
                .filter_map(|p| directory(p.as_ref()))
                .collect(),
        }
    }

    /// A path with dots and double slashes collapsed and known directories folded. Relative paths
    /// stay relative; `..` that leads out of them stays in front.
    pub fn canonical(&self, path: &str) -> String {
        if path.starts_with("./~") {
            // A file of that name, not the home directory.
            return format!("./{}", collapse(path));
        }
        let unfolded = self.unfold(path);
        self.fold(&collapse(&unfolded))
    }

    fn unfold<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let under = |rest: &str| rest.is_empty() || rest.starts_with('/');
        if let Some(rest) = path.strip_prefix("~/.hermes").filter(|rest| under(rest))
            && let Some(hermes) = self.hermes.first()
        {
            return Cow::Owned(format!("{hermes}{rest}"));
        }
        if let Some(rest) = path.strip_prefix('~').filter(|rest| under(rest)) {
            return match self.homes.first() {
                Some(home) => Cow::Owned(format!("{home}{rest}")),
                None if leaves_home(rest) => Cow::Owned(format!("/home/user{rest}")),
                None => Cow::Borrowed(path),
            };
        }
        if path == "~root" || path.starts_with("~root/") {
            return Cow::Owned(path.replacen("~root", "/root", 1));
        }
        Cow::Borrowed(path)
    }

    fn fold(&self, path: &str) -> String {
        for (directories, name) in [(&self.hermes, "~/.hermes"), (&self.homes, "~")] {
            for directory in directories {
                if let Some(rest) = path.strip_prefix(directory.as_str())
                    && (rest.is_empty() || rest.starts_with('/'))
                {
                    return format!("{name}{rest}");
                }
            }
        }
        path.to_owned()
    }

    /// A text with every occurrence of a known directory folded, for patterns over whole commands.
    pub fn fold_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut result = Cow::Borrowed(text);
        for (directories, name) in [(&self.hermes, "~/.hermes"), (&self.homes, "~")] {
            for directory in directories {
                if result.contains(directory.as_str()) {
                    result = Cow::Owned(result.replace(directory.as_str(), name));
                }
            }
        }
        result
    }
}

fn directory(path: &Path) -> Option<String> {
    let text = collapse(path.to_str()?);
    // A home of `/` would make every path a path of the user's.
    (text.starts_with('/') && text != "/").then_some(text)
}

fn leaves_home(rest: &str) -> bool {
    rest.split('/').any(|part| part == "..")
}

fn collapse(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let below = parts
                    .last()
                    .is_some_and(|&last| last != ".." && last != "~");
                if below {
                    parts.pop();
                } else if !absolute {
                    parts.push("..");
                }
            }
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_and_wide_letters_are_normalised() {
        assert_eq!(normalise("\u{1b}[31mls\u{1b}[0m"), "ls");
        assert_eq!(normalise("\u{1b}]0;title\u{7}ls"), "ls");
        assert_eq!(normalise("r\0m"), "rm");
        assert_eq!(normalise("ｒｍ -rf /"), "rm -rf /");
        assert_eq!(normalise("r\\\nm"), "rm");
        assert_eq!(normalise("a\\\r\nb"), "ab");
        assert_eq!(normalise("a\\\\\nb"), "a\\\\\nb");
        assert!(matches!(normalise("ls -l"), Cow::Borrowed(_)));
    }

    #[test]
    fn truncated_control_sequences_do_not_panic() {
        for text in [
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[3",
            "\u{1b}]0;x",
            "\u{9b}",
            "\\",
            "a\\\r",
        ] {
            drop(normalise(text));
        }
    }

    #[test]
    fn canonical_paths_are_collapsed_and_folded() {
        let homes = KnownHomes::new(["/home/u"], ["/home/u/.hermes/profiles/p"]);
        for (path, expected) in [
            ("//", "/"),
            ("/.", "/"),
            ("/..", "/"),
            ("/tmp/../etc/", "/etc"),
            ("/home/u", "~"),
            ("/home/u2", "/home/u2"),
            ("/home/u/.hermes/profiles/p/.env", "~/.hermes/.env"),
            ("~/.hermes/config.yaml", "~/.hermes/config.yaml"),
            ("~/..", "/home"),
            ("~/x/../../..", "/"),
            ("a/../../b", "../b"),
            ("~root/x", "/root/x"),
            ("./~/x", "./~/x"),
            ("", "."),
        ] {
            assert_eq!(homes.canonical(path), expected, "{path}");
        }
    }

    #[test]
    fn root_directory_as_home_folds_nothing() {
        let homes = KnownHomes::new(["/"], ["relative"]);
        assert_eq!(homes.canonical("/etc"), "/etc");
        assert_eq!(KnownHomes::default().canonical("~/../.."), "/");
    }
}
