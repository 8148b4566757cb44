//! What a route turned out not to understand, learnt from its refusals.
//!
//! Each is learnt once, holds for the rest of the process, and never loses anything but comfort.

/// Changes to requests of one route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a server, each learnt on its own"
)]
pub(crate) struct Adaptations {
    /// It does not stream.
    pub(crate) no_stream: bool,
    /// It takes no images at all.
    pub(crate) no_images: bool,
    /// It takes no images in tool results.
    pub(crate) no_tool_images: bool,
    /// It does not know how much to think.
    pub(crate) no_effort: bool,
    /// It refuses its own thoughts.
    pub(crate) no_replay: bool,
    /// It takes simple schemas only.
    pub(crate) plain_schemas: bool,
}
