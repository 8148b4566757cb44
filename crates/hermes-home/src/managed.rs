//! Installs that belong to a package manager: settings, updates and services are its business.

use std::path::Path;

use hermes_config::{Environment, vars};

/// The owner of a managed install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Managed {
    /// A NixOS module; also any plain yes.
    NixOs,
    Homebrew,
    Other(String),
}

impl Managed {
    /// Reads `HERMES_MANAGED`, else the marker `.managed` in the home.
    pub fn detect(env: &Environment, home: &Path) -> Option<Self> {
        match env.text(&vars::HERMES_MANAGED) {
            Some(value) => Some(Self::named(value)),
            None => hermes_fs::exists_no_follow(&home.join(".managed")).then_some(Self::NixOs),
        }
    }

    fn named(value: &str) -> Self {
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "nix" | "nixos" => Self::NixOs,
            "brew" | "homebrew" => Self::Homebrew,
            _ => Self::Other(crate::name::shown(value)),
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        match self {
            Self::NixOs => "NixOS",
            Self::Homebrew => "Homebrew",
            Self::Other(name) => name,
        }
    }

    /// How settings are changed there.
    pub fn settings_advice(&self) -> String {
        match self {
            Self::NixOs => "edit services.hermes-agent.settings in configuration.nix, then run: \
                            sudo nixos-rebuild switch"
                .to_owned(),
            Self::Homebrew => {
                "reinstall with the options you want: brew reinstall hermes-agent".to_owned()
            }
            Self::Other(name) => format!("change the settings through {name}"),
        }
    }
}
