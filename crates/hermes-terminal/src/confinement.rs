//! Whether a command is confined.

/// Whether the kernel confines a command. Backends other than this machine have walls of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confinement {
    #[default]
    None,
    Sandbox,
}
