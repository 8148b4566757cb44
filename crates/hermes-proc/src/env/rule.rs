//! The rules by which a variable was kept, stripped or set.

macro_rules! rules {
    ($($rule:ident $id:literal $text:literal)*) => {
        /// Why a variable met its fate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($rule,)*
        }

        impl Rule {
            /// Stable name for programs.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$rule => $id,)*
                }
            }

            /// A few words for a table; at most 34 columns.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$rule => $text,)*
                }
            }
        }
    };
}

rules! {
    Inherited "inherited" "inherited, no rule against it"
    AllowListed "allow-listed" "on the list of this class"
    SameProgram "same-program" "the child is Hermes itself"
    OperatorPassthrough "passthrough" "terminal.env_passthrough"
    SkillPassthrough "skill-passthrough" "a skill of this session needs it"
    TrustedPassthrough "trusted-passthrough" "terminal.trusted_env_passthrough"
    Granted "granted" "this call needs it"
    Internal "t0-internal" "T0: internal to Hermes"
    OtherSession "other-session" "T0: names another conversation"
    Credential "t1-credential" "T1: credential held by Hermes"
    ListedSecret "t2-listed" "T2: provider or platform setting"
    DerivedSecret "t2-settings" "T2: credential in your settings"
    ActivationMarker "t3-activation" "T3: activated environment"
    OwnInstall "t4-own-install" "T4: points into Hermes' install"
    NotAllowListed "not-allow-listed" "not on the list of this class"
    SecretName "secret-name" "its name suggests a secret"
    StaleDirectory "stale-directory" "taken from the real directory"
    OtherCommand "other-command" "names another command"
    Withheld "withheld" "excluded for this call"
    Unrepresentable "unrepresentable" "cannot be passed to a program"
    Given "given" "set for this call"
    SearchPath "search-path" "search path, normalised"
    SessionHome "session-home" "home of the session's profile"
    HomeMode "home-mode" "terminal.home_mode"
    RealHome "real-home" "home of the account"
    SessionIdentity "session-identity" "names this conversation"
    CommandIdentity "command-identity" "names this command"
    AgentShell "agent-shell" "marks what an agent runs"
    Unbuffered "unbuffered" "background output is unbuffered"
    TerminalKind "terminal-kind" "a pseudo-terminal needs a terminal type"
    LoginShell "login-shell" "set by shell start-up files"
    SessionState "session-state" "set earlier in this session"
    SessionUnset "session-unset" "unset earlier in this session"
    Protected "protected" "sessions cannot change it"
}
