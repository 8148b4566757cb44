//! Skills that a card's worker loads.

use crate::{Error, Result};

/// Names of skills: trimmed, each once, in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillList(Vec<String>);

impl SkillList {
    /// Checks the names. A comma would become two skills on a command line, and the name of a
    /// toolset is a mistake people and models make: all of them are named at once.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>, toolsets: &[&str]) -> Result<Self> {
        let mut skills: Vec<String> = Vec::new();
        let mut mistaken = Vec::new();
        for name in names {
            let name = name.trim();
            if name.is_empty() {
                continue;
            }
            if name.contains(',') {
                return Err(Error::SkillWithComma {
                    name: crate::shown(name, 64),
                });
            }
            let folded = name.to_lowercase();
            if toolsets
                .iter()
                .any(|toolset| toolset.to_lowercase() == folded)
            {
                mistaken.push(name.to_owned());
            } else if !skills.iter().any(|known| known == name) {
                skills.push(name.to_owned());
            }
        }
        if mistaken.is_empty() {
            Ok(Self(skills))
        } else {
            Err(Error::ToolsetsAsSkills { names: mistaken })
        }
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_are_trimmed_and_kept_once() {
        let skills = SkillList::parse([" a ", "b", "", "a"], &["web"]).unwrap();
        assert_eq!(skills.names(), ["a", "b"]);
    }

    #[test]
    fn all_toolsets_are_named_at_once() {
        let error = SkillList::parse(["Web", "ok", "terminal"], &["web", "terminal"]).unwrap_err();
        assert!(error.to_string().contains("Web, terminal"), "{error}");
        assert!(SkillList::parse(["a,b"], &[]).is_err());
    }
}
