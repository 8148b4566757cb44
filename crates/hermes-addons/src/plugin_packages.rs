//! Packages of Python that a plugin declares: pinned, resolved once, and kept in an environment of the
//! plugin's own.

use crate::error::{AddonError, Code, Result};
use crate::spec::is_pinned;

/// How the names of such environments begin.
pub(crate) const PREFIX: &str = "plugin:";

/// What a plugin declares, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPackages {
    /// The name of the environment: `plugin:<key>`.
    pub feature: String,
    /// The pins, sorted.
    pub specs: Vec<String>,
}

impl PluginPackages {
    /// Whether a text means the environment of a plugin.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The pins that a manifest declares; the error names the first that is none.
    pub fn check(specs: &[String]) -> Result<Vec<String>> {
        let mut checked: Vec<String> = Vec::new();
        for spec in specs {
            let spec = spec.trim();
            if !is_pinned(spec) {
                let reason = format!(
                    "'{}' in python_dependencies is not a package with an exact version",
                    hermes_text::shown(spec, 80)
                );
                return Err(AddonError::new(Code::UnsafeSpec, reason).hint(
                    "write name==version; addresses, paths, ranges and options are refused",
                ));
            }
            checked.push(spec.to_owned());
        }
        checked.sort();
        checked.dedup();
        Ok(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_sorted_and_named_once() {
        let specs = [" b==2 ", "a==1", "b==2"].map(str::to_owned);
        assert_eq!(PluginPackages::check(&specs).unwrap(), ["a==1", "b==2"]);
    }

    #[test]
    fn the_first_bad_pin_is_named() {
        for spec in [
            "requests",
            "requests>=2",
            "git+https://host/x",
            "x @ https://host/x.whl",
            "./local",
            "--index-url=https://evil",
            "-r other.txt",
            "x-1.0-py3-none-any.whl",
            "",
        ] {
            let error = PluginPackages::check(&["a==1".to_owned(), spec.to_owned()]).unwrap_err();
            assert_eq!(error.code, Code::UnsafeSpec, "{spec}");
            assert!(
                error.reason.contains(&format!("'{spec}'")),
                "{}",
                error.reason
            );
        }
    }
}
