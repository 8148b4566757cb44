//! The rules by which a variable was kept, stripped or set.

/// Why a variable met its fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// No rule is against it.
    Inherited,
    /// On the allow-list of the class.
    AllowListed,
    /// The child is Hermes under the same user.
    SameProgram,
    /// `terminal.env_passthrough`.
    OperatorPassthrough,
    /// A skill viewed in this session asked for it.
    SkillPassthrough,
    /// `terminal.trusted_env_passthrough`.
    TrustedPassthrough,
    /// The call site needs this name of the parent's.
    Granted,
    /// Tier 0.
    Internal,
    /// Belongs to another conversation.
    OtherSession,
    /// Tier 1.
    Credential,
    /// Tier 2, fixed list.
    ListedSecret,
    /// Tier 2, named in the settings.
    DerivedSecret,
    /// Tier 3.
    ActivationMarker,
    /// Tier 4.
    OwnInstall,
    /// Not on the allow-list of the class.
    NotAllowListed,
    /// Allow-listed by shape, but the name speaks of a secret.
    SecretName,
    /// The child's real directory is what counts.
    StaleDirectory,
    /// Identity of another command.
    OtherCommand,
    /// Removed by the call site.
    Withheld,
    /// Not a name or value that can be handed to a program.
    Unrepresentable,
    /// Given by the call site.
    Given,
    /// Normalised search path.
    SearchPath,
    /// The home of the calling session.
    SessionHome,
    /// `terminal.home_mode`.
    HomeMode,
    /// The account's home, so that a child finds back.
    RealHome,
    /// Bound for this conversation.
    SessionIdentity,
    /// Identity of this command.
    CommandIdentity,
    /// Background output must not wait in a buffer.
    Unbuffered,
    /// A pseudo-terminal has a kind.
    TerminalKind,
    /// The user's shell start-up files.
    LoginShell,
    /// An earlier command of this session.
    SessionState,
    /// Unset by start-up files or an earlier command.
    SessionUnset,
    /// A session may not change it.
    Protected,
}

impl Rule {
    /// Stable name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Inherited => "inherited",
            Self::AllowListed => "allow-listed",
            Self::SameProgram => "same-program",
            Self::OperatorPassthrough => "passthrough",
            Self::SkillPassthrough => "skill-passthrough",
            Self::TrustedPassthrough => "trusted-passthrough",
            Self::Granted => "granted",
            Self::Internal => "t0-internal",
            Self::OtherSession => "other-session",
            Self::Credential => "t1-credential",
            Self::ListedSecret => "t2-listed",
            Self::DerivedSecret => "t2-settings",
            Self::ActivationMarker => "t3-activation",
            Self::OwnInstall => "t4-own-install",
            Self::NotAllowListed => "not-allow-listed",
            Self::SecretName => "secret-name",
            Self::StaleDirectory => "stale-directory",
            Self::OtherCommand => "other-command",
            Self::Withheld => "withheld",
            Self::Unrepresentable => "unrepresentable",
            Self::Given => "given",
            Self::SearchPath => "search-path",
            Self::SessionHome => "session-home",
            Self::HomeMode => "home-mode",
            Self::RealHome => "real-home",
            Self::SessionIdentity => "session-identity",
            Self::CommandIdentity => "command-identity",
            Self::Unbuffered => "unbuffered",
            Self::TerminalKind => "terminal-kind",
            Self::LoginShell => "login-shell",
            Self::SessionState => "session-state",
            Self::SessionUnset => "session-unset",
            Self::Protected => "protected",
        }
    }

    /// A few words for a table; at most 34 columns.
    pub fn text(self) -> &'static str {
        match self {
            Self::Inherited => "inherited, no rule against it",
            Self::AllowListed => "on the list of this class",
            Self::SameProgram => "the child is Hermes too",
            Self::OperatorPassthrough => "terminal.env_passthrough",
            Self::SkillPassthrough => "a skill of this session needs it",
            Self::TrustedPassthrough => "terminal.trusted_env_passthrough",
            Self::Granted => "the call needs it",
            Self::Internal => "T0: internal to Hermes",
            Self::OtherSession => "T0: names another conversation",
            Self::Credential => "T1: credential held by Hermes",
            Self::ListedSecret => "T2: provider or platform setting",
            Self::DerivedSecret => "T2: credential in your settings",
            Self::ActivationMarker => "T3: activated environment",
            Self::OwnInstall => "T4: points into Hermes' install",
            Self::NotAllowListed => "not on the list of this class",
            Self::SecretName => "its name speaks of a secret",
            Self::StaleDirectory => "the real directory counts",
            Self::OtherCommand => "names another command",
            Self::Withheld => "not wanted for this call",
            Self::Unrepresentable => "cannot be handed to a program",
            Self::Given => "set for this call",
            Self::SearchPath => "search path, normalised",
            Self::SessionHome => "home of the session's profile",
            Self::HomeMode => "terminal.home_mode",
            Self::RealHome => "home of the account",
            Self::SessionIdentity => "names this conversation",
            Self::CommandIdentity => "names this command",
            Self::Unbuffered => "background output comes at once",
            Self::TerminalKind => "a pseudo-terminal has a kind",
            Self::LoginShell => "set by shell start-up files",
            Self::SessionState => "set earlier in this session",
            Self::SessionUnset => "unset earlier in this session",
            Self::Protected => "sessions cannot change it",
        }
    }
}
