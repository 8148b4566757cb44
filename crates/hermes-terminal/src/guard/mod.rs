//! Deciding whether a command may run: what it would do, which rules it meets, who is asked.
//!
//! Pure code over text and settings: nothing here spawns, reads the environment or touches a file,
//! except for the one place that remembers a permanent approval. It is defence in depth, not a
//! boundary.

mod detect;
mod foreground;
mod glob;
mod hardline;
mod keys;
mod normalise;
mod paths;
mod programs;
mod sudo;
mod syntax;

use syntax::Word;

/// Operands behind options, for facts about programs.
fn syntax_operands<'w>(args: &'w [Word], with_value: &[&str]) -> &'w [Word] {
    syntax::operands(args, with_value)
}
