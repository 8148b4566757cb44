//! Homes as the rules name them: `~` and `~/.hermes`, whatever path leads there.

use std::borrow::Cow;
use std::path::Path;

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
