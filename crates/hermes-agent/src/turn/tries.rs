//! How often a turn has tried to get a usable answer, by what was wrong with the last one.

/// Continuations of an answer that was cut.
pub(super) const CONTINUATIONS: u32 = 3;
/// Repetitions after a call that was cut.
pub(super) const CUT_CALLS: u32 = 1;
/// Requests for words after an answer of thoughts alone.
pub(super) const THOUGHTS_ONLY: u32 = 2;
/// Repetitions after an empty answer.
pub(super) const EMPTY: u32 = 3;
/// Answers in a row with nothing but unknown tools before the turn ends.
pub(super) const UNKNOWN_TOOLS: u32 = 3;
/// Repetitions after arguments that are no JSON object.
pub(super) const BAD_ARGUMENTS: u32 = 3;
/// Compactions for one request, before an answer to it comes.
pub(super) const COMPACTIONS: u32 = 3;
/// Smaller output caps after the provider refused one.
pub(super) const OUTPUT_CAPS: u32 = 3;

/// Counts.
#[derive(Debug, Default)]
pub(super) struct Tries {
    pub(super) continuations: u32,
    pub(super) cut_calls: u32,
    pub(super) thoughts_only: u32,
    pub(super) empty_nudged: bool,
    pub(super) empty: u32,
    pub(super) unknown_tools: u32,
    pub(super) bad_arguments: u32,
    pub(super) compactions: u32,
    pub(super) output_caps: u32,
}

impl Tries {
    /// A usable answer came: only what counts for the whole turn stays.
    pub(super) fn reset(&mut self) {
        *self = Self {
            unknown_tools: self.unknown_tools,
            ..Self::default()
        };
    }
}
