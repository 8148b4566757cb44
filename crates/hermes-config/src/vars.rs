//! Every environment variable the product reads, declared once with what it does.
//!
//! `docs/reference/variables.md` is generated from [`ALL`]. New behaviour gets a key in
//! `config.yaml`, not a variable; what stands here is honoured because the reference has it, because
//! it must be known before there is a configuration, or because it belongs to the system.

/// A declared environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    /// Its name.
    pub name: &'static str,
    /// What it does, one sentence.
    pub doc: &'static str,
}

macro_rules! vars {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        $($(#[doc = $doc])+ pub const $name: Var = Var { name: stringify!($name), doc: concat!($($doc),+) };)+
        /// All variables of this list, in the order of declaration.
        pub const ALL: &[&Var] = &[$(&$name),+];
    };
}

vars! {
    /// Home of the profile in use; unset or blank means `~/.hermes`.
    HERMES_HOME;
    /// Octal mode for directories of the home instead of 0700; unparsable means 0700.
    HERMES_HOME_MODE;
    /// Any value: file modes in the home are left alone.
    HERMES_SKIP_CHMOD;
    /// Any value: this process runs in a container whose volume decides file modes.
    HERMES_CONTAINER;
    /// The install belongs to a package manager (`nix`, `brew`, or any yes): settings are read-only.
    HERMES_MANAGED;
    /// Directory of the administrator's `config.yaml`, which beats all but flags.
    HERMES_MANAGED_DIR;
    /// Owner of directories that root creates in the home.
    HERMES_UID;
    /// Group of directories that root creates in the home.
    HERMES_GID;
    /// Set in gateways that s6 supervises: the sticky profile is not consulted.
    HERMES_S6_SUPERVISED_CHILD;
    /// `false` turns off the masking of secrets in logs; fixed when a process starts.
    HERMES_REDACT_SECRETS;
    /// Largest file, in megabytes, that `backup` takes; 0 means no limit, unset means 2048.
    HERMES_BACKUP_MAX_FILE_MB;
    /// `1` skips the migration of settings when a container boots.
    HERMES_SKIP_CONFIG_MIGRATION;
    /// Zone for timestamps; overrides the setting `timezone`.
    HERMES_TIMEZONE;
    /// The user's home directory.
    HOME;
    /// Where programs are looked up.
    PATH;
    /// Name of the user who ran `sudo`; profiles of that user are found from a root shell.
    SUDO_USER;
    /// Program that `config edit` opens, before `VISUAL`.
    EDITOR;
    /// Program that `config edit` opens if `EDITOR` is unset.
    VISUAL;
    /// Any value: no colour.
    NO_COLOR;
    /// Set in Kubernetes pods: counts as a container.
    KUBERNETES_SERVICE_HOST;
    /// Zone of the system, as in every Unix program.
    TZ;
    /// Width of the terminal in columns, where it cannot be asked for.
    COLUMNS;
}
