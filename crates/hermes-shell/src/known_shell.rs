//! What the shell that will run a command already knows, as far as it can be told beforehand.

/// The state of the shell a command is for. Everything is looked up by name, when a command asks for
/// it: a session with a thousand functions costs nothing for a command that calls none of them.
pub trait KnownShell {
    /// The directory the command starts in.
    fn directory(&self) -> Option<String>;
    /// The value of a variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// What an alias stands for.
    fn alias(&self, name: &str) -> Option<String>;
    /// The definition of a function, as a shell prints it.
    fn function(&self, name: &str) -> Option<String>;
    /// Text that this very shell ran before, for what it left behind.
    fn earlier(&self) -> Option<&str> {
        None
    }
}

/// A shell of which nothing is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownShell;

impl KnownShell for UnknownShell {
    fn directory(&self) -> Option<String> {
        None
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn alias(&self, _: &str) -> Option<String> {
        None
    }

    fn function(&self, _: &str) -> Option<String> {
        None
    }
}
