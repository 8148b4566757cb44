//! Attempts to get a usable answer, by problem of the last one.

/// Maximum continuations of a truncated answer.
pub(super) const CONTINUATIONS: u32 = 3;
/// Maximum retries after a truncated call.
pub(super) const TRUNCATED_CALLS: u32 = 1;
/// Maximum requests for text after an answer with only reasoning.
pub(super) const REASONING_ONLY: u32 = 2;
/// Maximum retries after an empty answer.
pub(super) const EMPTY: u32 = 3;
/// Answers in a row with unknown tools before the turn ends.
pub(super) const UNKNOWN_TOOLS: u32 = 3;
/// Maximum retries after arguments that are not a JSON object.
pub(super) const BAD_ARGUMENTS: u32 = 3;
/// Maximum compactions before an answer.
pub(super) const COMPACTIONS: u32 = 3;
/// Maximum lower output limits after the provider refused one.
pub(super) const OUTPUT_CAPS: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Attempts {
    pub(super) continuations: u32,
    pub(super) truncated_calls: u32,
    pub(super) reasoning_only: u32,
    pub(super) empty_reminded: bool,
    pub(super) empty: u32,
    pub(super) unknown_tools: u32,
    pub(super) bad_arguments: u32,
    pub(super) compactions: u32,
    pub(super) output_caps: u32,
}

impl Attempts {
    /// Resets the counts after a usable answer, except those of the whole turn.
    pub(super) fn reset(&mut self) {
        *self = Self {
            unknown_tools: self.unknown_tools,
            ..Self::default()
        };
    }
}
