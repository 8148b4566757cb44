//! Features that a server turned out not to support, learnt from its refusals.
//!
//! Each is learnt once and holds for the rest of the process.

use crate::message::{Image, Role};

/// Largest image, in bytes of base64, for servers that refused a larger one: 4 MiB of image data.
const MAX_SMALL_IMAGE: usize = (4 << 20) / 3 * 4;

/// Limits of one server, applied to every request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a server, each learnt on its own"
)]
pub(crate) struct ServerLimits {
    pub(crate) no_stream: bool,
    pub(crate) no_images: bool,
    /// It accepts no large images.
    pub(crate) small_images: bool,
    pub(crate) no_tool_images: bool,
    /// It does not know the reasoning effort.
    pub(crate) no_effort: bool,
    /// It refuses reasoning of earlier answers.
    pub(crate) no_replay: bool,
    /// It accepts simple schemas only.
    pub(crate) plain_schemas: bool,
}

impl ServerLimits {
    /// A note for the model in place of an image that is not sent; `None` if the image is sent.
    ///
    /// An image is scaled down before; one that cannot be is left out, and the model is told.
    pub(crate) fn omission_note(self, image: &Image, role: Role) -> Option<&'static str> {
        let is_large = match image {
            Image::Data { base64, .. } => base64.len() > MAX_SMALL_IMAGE,
            Image::Url(_) => false,
        };
        if self.no_images {
            Some("[image omitted: this model does not accept images]")
        } else if self.no_tool_images && role == Role::Tool {
            Some("[image omitted: this model does not accept images in tool results]")
        } else if self.small_images && is_large {
            Some("[image omitted: it is larger than 4 MiB, the limit of this provider]")
        } else {
            None
        }
    }
}
