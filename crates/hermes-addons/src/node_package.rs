//! The grammar of a package of npm: `npm:<name>@<version>`, the version exact.

use crate::error::{AddonError, Code, Result};

/// How such add-ons begin.
pub(crate) const PREFIX: &str = "npm:";
/// Longest name that npm takes.
const MAX_NAME: usize = 214;
const MAX_VERSION: usize = 64;

/// A package of npm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePackage {
    /// With its scope.
    pub name: String,
    /// `None` means the one that is installed.
    pub version: Option<String>,
}

impl NodePackage {
    /// Whether a text means a package of npm, valid or not.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Reads `npm:<name>` or `npm:<name>@<version>`.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |why: &str| {
            AddonError::new(Code::UnknownFeature, why)
                .of(&hermes_text::shown(text, 80))
                .hint("write npm:<name>@<version>, for example npm:@scope/server@1.2.3")
        };
        let rest = text
            .strip_prefix(PREFIX)
            .ok_or_else(|| refused("it is no package of npm"))?;
        // The first character of a name may be the mark of its scope.
        let at = rest.char_indices().skip(1).find(|(_, c)| *c == '@');
        let (name, version) = match at {
            Some((at, _)) => (rest.get(..at), rest.get(at + 1..)),
            None => (Some(rest), None),
        };
        let name = name.filter(|name| is_name(name));
        let name = name.ok_or_else(|| refused("that is not a name that npm allows"))?;
        if version.is_some_and(|version| !is_exact(version)) {
            return Err(refused(
                "only one exact version can be installed, no range, tag, address or file",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        })
    }

    /// The name in lists and in the index.
    pub fn feature(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

fn is_name(name: &str) -> bool {
    let parts: Vec<&str> = match name.strip_prefix('@') {
        Some(scoped) => scoped.split('/').collect(),
        None => vec![name],
    };
    let wanted = if name.starts_with('@') { 2 } else { 1 };
    let is_part = |part: &&str| {
        let is_allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        part.chars().all(is_allowed) && !part.starts_with(['.', '_']) && !part.is_empty()
    };
    name.len() <= MAX_NAME && parts.len() == wanted && parts.iter().all(is_part)
}

/// `1.2.3`, perhaps with `-beta.1`.
fn is_exact(version: &str) -> bool {
    let (numbers, label) = match version.split_once('-') {
        Some((numbers, label)) => (numbers, Some(label)),
        None => (version, None),
    };
    let numbers: Vec<&str> = numbers.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty() && part.len() <= 10 && part.chars().all(|c| c.is_ascii_digit())
    };
    let is_label = |label: &str| {
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        label.split('.').all(is_word)
    };
    version.len() <= MAX_VERSION
        && numbers.len() == 3
        && numbers.iter().all(is_number)
        && label.is_none_or(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_and_versions_are_told_apart() {
        let parsed = |text: &str| {
            let package = NodePackage::parse(text).unwrap();
            (package.name, package.version)
        };
        let version = Some("1.2.3".to_owned());
        assert_eq!(parsed("npm:a-b"), ("a-b".to_owned(), None));
        assert_eq!(parsed("npm:a@1.2.3"), ("a".to_owned(), version.clone()));
        assert_eq!(parsed("npm:@s/n@1.2.3"), ("@s/n".to_owned(), version));
        assert_eq!(parsed("npm:n@1.0.0-rc.1").1.as_deref(), Some("1.0.0-rc.1"));
    }

    #[test]
    fn everything_that_is_not_exact_is_refused() {
        for text in [
            "npm:",
            "npm:@",
            "npm:@s",
            "npm:A",
            "npm:../x",
            "npm:a/b",
            "npm:.hidden",
            "npm:a b@1.0.0",
            "npm:a@",
            "npm:a@latest",
            "npm:a@^1.0.0",
            "npm:a@1.x",
            "npm:a@1.0",
            "npm:a@>=1.0.0",
            "npm:a@file:../x",
            "npm:a@https://example.com/x.tgz",
            "npm:a@git+ssh://x",
            "npm:a@npm:b@1.0.0",
            "npm:a@1.0.0;rm",
            "npm:a@1.0.0-",
            "npm:--flag@1.0.0",
        ] {
            let parsed = NodePackage::parse(text);
            // A name may begin with a hyphen; it never stands where an option could.
            if text == "npm:--flag@1.0.0" {
                assert!(parsed.is_ok());
            } else {
                assert!(parsed.is_err(), "{text}");
            }
        }
        let long = format!("npm:{}@1.0.0", "a".repeat(MAX_NAME + 1));
        assert!(NodePackage::parse(&long).is_err());
    }
}
