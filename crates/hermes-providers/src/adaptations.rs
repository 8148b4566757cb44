//! What a route turned out not to understand, learnt from its refusals.
//!
//! Each is learnt once, holds for the rest of the process, and never loses anything but comfort.

use crate::message::{Image, Role};

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
    /// Why this image of a message is not sent, in words for the model; `None` if it is.
    ///
    /// No picture is made smaller here, that would take codecs for every format there is. The model is
    /// told that it does not see it, and can have it made smaller with a tool.
    pub(crate) fn why_left_out(self, image: &Image, role: Role) -> Option<&'static str> {
        let is_large = match image {
            Image::Data { base64, .. } => base64.len() > SMALL_IMAGE,
            Image::Url(_) => false,
        };
        if self.no_images {
            Some("[an image was left out: this model takes none]")
        } else if self.no_tool_images && role == Role::Tool {
            Some("[an image was left out: this model takes none in the results of tools]")
        } else if self.small_images && is_large {
            Some("[an image was left out: it has more than 4 MiB, which this provider refuses]")
        } else {
            None
        }
    }
}
