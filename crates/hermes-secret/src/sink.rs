//! Where a text goes, and with it what counts as a secret by its looks.

/// Where a text goes. Known values are masked everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// A log, or anything that leaves the machine: whatever might be a secret is masked.
    Log,
    /// What a program printed, for whoever asked for it. Values are not taken for secrets because of
    /// a name before them, which would mangle source code, unless the text is nothing but variables;
    /// web addresses stay as they are.
    Output,
    /// What lists variables, and what is given away in a file of its own: names count, web
    /// addresses do not.
    Variables,
}
