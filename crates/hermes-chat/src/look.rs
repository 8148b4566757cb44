//! How the conversation is shown, as far as people choose it.

use std::sync::Arc;

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourDepth {
    /// None, or none are wanted.
    None,
    Sixteen,
    Indexed,
    Full,
}

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// Colours of a skin. What a skin does not say is as the terminal's own theme has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skin {
    pub accent: Option<Rgb>,
    pub heading: Option<Rgb>,
    pub code: Option<Rgb>,
    pub good: Option<Rgb>,
    pub warning: Option<Rgb>,
    pub bad: Option<Rgb>,
    /// Text that stays in the background, such as the status line.
    pub faint: Option<Rgb>,
}

/// What the terminal can show, and in which colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub depth: ColourDepth,
    pub skin: Skin,
    /// Whether the terminal shows UTF-8.
    pub utf8: bool,
}

/// What Enter does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyMode {
    /// The turn ends, and the message is the next one.
    Interrupt,
    /// The message waits for the end of the turn.
    Queue,
    /// The running turn gets the message.
    Steer,
}

/// How much is shown of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolProgress {
    Off,
    /// A call of another tool than the one before.
    New,
    All,
    /// All calls, with their output.
    Verbose,
}

/// What moves while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indicator {
    Kaomoji,
    Emoji,
    Unicode,
    Ascii,
}

/// Something a line under an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FooterField {
    Model,
    /// How full the context window is.
    Context,
    Directory,
}

/// How the conversation is shown.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent wish of the person"
)]
pub struct Look {
    pub theme: Theme,
    /// Whether the terminal breaks lines anew when it gets narrower.
    pub reflows: bool,
    pub busy_mode: BusyMode,
    /// Whether answers are shown while they are written.
    pub streaming: bool,
    /// Whether the model's reasoning is shown while it thinks.
    pub reasoning: bool,
    /// Whether all of the reasoning stays above the answer.
    pub whole_reasoning: bool,
    /// Whether the cost is shown.
    pub cost: bool,
    /// Whether the terminal rings when a long turn ends.
    pub bell: bool,
    pub status_bar: bool,
    pub tool_progress: ToolProgress,
    pub indicator: Indicator,
    /// What a line under each answer says; none without fields.
    pub footer: Vec<FooterField>,
    /// Gives the time, for messages that show it.
    pub clock: Option<Arc<dyn Fn() -> String + Send + Sync>>,
}
