//! What a route turned out not to understand, learnt from its refusals.
//!
//! Each is learnt once, holds for the rest of the process, and never loses anything but comfort.

use crate::message::Image;

/// Largest image, in bytes of base64, for servers that refused a larger one: 4 MiB of picture.
const SMALL_IMAGE: usize = (4 << 20) / 3 * 4;

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
    /// It takes no large images.
    pub(crate) small_images: bool,
    /// It takes no images in tool results.
    pub(crate) no_tool_images: bool,
    /// It does not know how much to think.
    pub(crate) no_effort: bool,
    /// It refuses its own thoughts.
    pub(crate) no_replay: bool,
    /// It takes simple schemas only.
    pub(crate) plain_schemas: bool,
}

impl Adaptations {
    /// Whether this image may be sent.
    pub(crate) fn admits(self, image: &Image) -> bool {
        let small = match image {
            Image::Data { base64, .. } => base64.len() <= SMALL_IMAGE,
            Image::Url(_) => true,
        };
        !self.no_images && (small || !self.small_images)
    }
}
