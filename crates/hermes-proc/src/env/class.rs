//! What a child is, which decides what it may know.

use std::str::FromStr;

/// The kind of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpawnClass {
    /// A: a shell of the agent, in the foreground, in the background or on a pseudo-terminal.
    ToolShell,
    /// B: a program the agent wrote.
    ScriptSandbox,
    /// C: a script of the user's: hook, quick command, scheduled job.
    UserScript,
    /// D: an MCP server that speaks over its standard streams.
    McpServer,
    /// E: Hermes itself: worker, detached gateway.
    Hermes,
    /// F: a program we call for our own ends: git, docker, an editor.
    Helper,
    /// G: another agent's command line. It logs in by itself; a key it needs is granted by name.
    ModelCli,
}

/// A letter that names no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown child class '{0}'; the classes are A, B, C, D, E, F and G")]
pub struct UnknownClass(String);

impl SpawnClass {
    /// All classes, in order.
    pub const ALL: [Self; 7] = [
        Self::ToolShell,
        Self::ScriptSandbox,
        Self::UserScript,
        Self::McpServer,
        Self::Hermes,
        Self::Helper,
        Self::ModelCli,
    ];

    /// The letter people use.
    pub fn letter(self) -> char {
        match self {
            Self::ToolShell => 'A',
            Self::ScriptSandbox => 'B',
            Self::UserScript => 'C',
            Self::McpServer => 'D',
            Self::Hermes => 'E',
            Self::Helper => 'F',
            Self::ModelCli => 'G',
        }
    }

    /// What children of this class are.
    pub fn describe(self) -> &'static str {
        match self {
            Self::ToolShell => "shells of the agent",
            Self::ScriptSandbox => "programs the agent writes",
            Self::UserScript => "hooks, quick commands and scheduled scripts",
            Self::McpServer => "MCP servers",
            Self::Hermes => "Hermes itself",
            Self::Helper => "helper programs",
            Self::ModelCli => "command lines of other agents",
        }
    }

    /// Whether the state of the session is laid over, and names that skills asked for count.
    pub(super) fn takes_overlay(self) -> bool {
        matches!(self, Self::ToolShell | Self::ScriptSandbox)
    }

    /// Whether the operator's passthrough list counts: where the agent or the user's own code runs,
    /// and in a Hermes that runs it. Helpers are ours, and an MCP server has a list of its own.
    pub(super) fn takes_operator_passthrough(self) -> bool {
        matches!(
            self,
            Self::ToolShell
                | Self::ScriptSandbox
                | Self::UserScript
                | Self::Hermes
                | Self::ModelCli
        )
    }

    /// Whether the child learns which conversation it works for: not where it gets named variables
    /// only, instead of all but some.
    pub(super) fn knows_session(self) -> bool {
        !matches!(self, Self::ScriptSandbox | Self::McpServer)
    }
}

impl std::fmt::Display for SpawnClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.letter())
    }
}

impl FromStr for SpawnClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        let wanted = text.trim();
        Self::ALL
            .into_iter()
            .find(|class| wanted.eq_ignore_ascii_case(&class.letter().to_string()))
            .ok_or_else(|| UnknownClass(wanted.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_both_ways() {
        for class in SpawnClass::ALL {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert_eq!(" g ".parse(), Ok(SpawnClass::ModelCli));
        let error = "H".parse::<SpawnClass>().unwrap_err();
        assert!(error.to_string().contains("'H'"), "{error}");
        assert!("".parse::<SpawnClass>().is_err());
        assert!("AB".parse::<SpawnClass>().is_err());
    }
}
