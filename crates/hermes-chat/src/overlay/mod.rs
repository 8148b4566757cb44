//! What is shown on the alternate screen: lists to pick from, and the transcript.

mod choose;
mod picker;
mod screen;
mod transcript;

pub use choose::{Choice, choose};
pub(crate) use picker::{Picked, Picker};
pub(crate) use screen::Alternate;
pub(crate) use transcript::Transcript;

/// What is shown instead of the conversation.
pub(crate) enum Overlay {
    Transcript(Transcript),
    /// Messages of the person, to change one.
    Messages(Picker),
}
