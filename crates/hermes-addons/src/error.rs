//! Why a feature is unavailable: a code for programs, a reason for people, and what to do about it.

use serde::{Deserialize, Serialize};

/// What went wrong, as programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    UnknownFeature,
    Unsupported,
    DisabledConfig,
    DisabledEnv,
    Managed,
    NoInterpreter,
    InstallerMissing,
    StoreInvalid,
    StoreForeign,
    StoreUnsafe,
    StoreUnwritable,
    StoreBusy,
    NoSpace,
    Offline,
    IndexError,
    HashMismatch,
    /// No versions agree with everything that was asked for.
    Conflict,
    /// A package is named in a way that an installer could take for something else.
    UnsafeSpec,
    NoWheel,
    /// The package is known to do harm.
    Malware,
    /// Nobody agreed to the install, or nobody could be asked.
    Declined,
    ProbeFailed,
    InstallerFailed,
    Timeout,
    Cancelled,
    InUse,
    NotInstalled,
    Broken,
    /// Being installed, for longer than the caller waits.
    Installing,
    /// The last install failed a short while ago.
    CoolingDown,
    AddonCrashed,
    /// It did not speak as a worker does.
    ProtocolError,
    /// It was asked for more than it takes at once.
    Overloaded,
    /// It could not do what it was asked for.
    AddonError,
}

/// Who is at fault, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// What was typed.
    Usage,
    /// Something the user can act on.
    User,
    /// A switch that is off, or an outside part that is missing or down.
    Outside,
}

impl Code {
    /// The name for programs.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }

    /// The code of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// Who is at fault.
    pub fn fault(self) -> Fault {
        match self {
            Self::UnknownFeature => Fault::Usage,
            Self::DisabledConfig
            | Self::DisabledEnv
            | Self::Managed
            | Self::Unsupported
            | Self::NoInterpreter
            | Self::InstallerMissing
            | Self::NoSpace
            | Self::Offline => Fault::Outside,
            Self::StoreInvalid
            | Self::StoreForeign
            | Self::StoreUnsafe
            | Self::StoreUnwritable
            | Self::StoreBusy
            | Self::IndexError
            | Self::HashMismatch
            | Self::Conflict
            | Self::UnsafeSpec
            | Self::NoWheel
            | Self::Malware
            | Self::Declined
            | Self::ProbeFailed
            | Self::InstallerFailed
            | Self::Timeout
            | Self::Cancelled
            | Self::InUse
            | Self::NotInstalled
            | Self::Broken
            | Self::Installing
            | Self::CoolingDown
            | Self::AddonCrashed
            | Self::ProtocolError
            | Self::Overloaded
            | Self::AddonError => Fault::User,
        }
    }
}

/// What an installer said before it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallerReport {
    pub tool: String,
    pub version: String,
    pub exit: Option<i32>,
    /// The end of what it printed.
    pub tail: String,
    /// The file with all of it.
    pub log: Option<String>,
}

/// A feature that cannot be used, or a store that cannot.
#[derive(Debug, Clone)]
pub struct AddonError {
    pub code: Code,
    /// None where the store itself is meant.
    pub feature: Option<String>,
    pub reason: String,
    pub hint: Option<String>,
    pub installer: Option<Box<InstallerReport>>,
}

/// Result of an operation on add-ons.
pub type Result<T> = std::result::Result<T, AddonError>;

impl AddonError {
    pub(crate) fn new(code: Code, reason: impl Into<String>) -> Self {
        Self {
            code,
            feature: None,
            reason: reason.into(),
            hint: None,
            installer: None,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn of(mut self, feature: &str) -> Self {
        self.feature = Some(feature.to_owned());
        self
    }

    /// A name that is in no catalog.
    pub(crate) fn unknown(name: &str) -> Self {
        let shown = hermes_text::shown(name, 80);
        let hint = match crate::catalog::Feature::nearest(name) {
            Some(near) => {
                format!("did you mean {near}? `hermes addons list --all` shows all features")
            }
            None => "`hermes addons list --all` shows all features".to_owned(),
        };
        Self::new(Code::UnknownFeature, "not in the add-on catalog")
            .of(&shown)
            .hint(hint)
    }

    /// A failed change below the store.
    pub(crate) fn store(root: &std::path::Path, error: &hermes_fs::Error) -> Self {
        if error.is_storage_full() {
            return Self::new(Code::NoSpace, error.to_string())
                .hint("free some space and try again");
        }
        if let hermes_fs::Error::SymlinkInPath { path } = error {
            let reason = format!(
                "{} is a symbolic link that leads out of the store",
                path.display()
            );
            return Self::new(Code::StoreUnsafe, reason)
                .hint(format!("remove it: rm '{}'", path.display()));
        }
        let reason = format!(
            "lazy install target {} is not writable: {error}",
            root.display()
        );
        Self::new(Code::StoreUnwritable, reason).hint(
            "check its owner and mode, or set HERMES_LAZY_INSTALL_TARGET to another directory",
        )
    }
}

impl std::fmt::Display for AddonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.feature {
            Some(feature) => write!(f, "Feature '{feature}' unavailable: {}", self.reason),
            None => write!(f, "{}", self.reason),
        }
    }
}

impl std::error::Error for AddonError {}
