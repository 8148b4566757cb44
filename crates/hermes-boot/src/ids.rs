//! The numbers that the runtime user is to have: `HERMES_UID` and `HERMES_GID`, else `PUID` and
//! `PGID`.

use hermes_config::Environment;
use hermes_config::vars::{self, Var};

/// Numbers that an account can have; the last one is nobody's.
const VALID: std::ops::RangeInclusive<u32> = 1..=65_534;

/// What the operator asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WantedIds {
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    /// Values that are ignored, each as a sentence.
    pub(crate) warnings: Vec<String>,
}

impl WantedIds {
    pub(crate) fn resolve(env: &Environment) -> Self {
        let mut wanted = Self::default();
        wanted.uid = wanted.first(env, [&vars::HERMES_UID, &vars::PUID]);
        wanted.gid = wanted.first(env, [&vars::HERMES_GID, &vars::PGID]);
        wanted
    }

    /// The first variable that is set counts, even if its value does not.
    fn first(&mut self, env: &Environment, names: [&Var; 2]) -> Option<u32> {
        let (var, text) = names
            .into_iter()
            .find_map(|var| Some((var, env.text(var)?)))?;
        let number = text
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse::<u32>().ok())
            .flatten()
            .filter(|number| VALID.contains(number));
        if number.is_none() {
            self.warnings.push(format!(
                "warning: {} is ignored: '{}' is not a number from 1 to 65534",
                var.name,
                hermes_text::shown(text, 40)
            ));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn resolve<const N: usize>(pairs: [(&str, &str); N]) -> WantedIds {
        WantedIds::resolve(&Environment::from_pairs(pairs))
    }

    #[test]
    fn own_names_win_over_those_of_others() {
        let wanted = resolve([("HERMES_UID", "99"), ("PUID", "1"), ("PGID", "100")]);
        assert_eq!((wanted.uid, wanted.gid), (Some(99), Some(100)));
        assert_eq!(wanted.warnings, [""; 0]);
        assert_eq!(resolve([("HOME", "/x")]), WantedIds::default());
    }

    #[test]
    fn what_is_no_id_is_named_and_ignored() {
        for bad in ["abc", "0", "65535", "-1", "1e3", "+5", "99999999999999"] {
            let wanted = resolve([("HERMES_UID", bad), ("PUID", "1000")]);
            assert_eq!(wanted.uid, None, "{bad}");
            assert!(wanted.warnings[0].contains("HERMES_UID"), "{bad}");
        }
    }
}
