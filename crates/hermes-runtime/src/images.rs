//! Images that go with a message, read from files.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_providers::Image;
use hermes_tools::ImageReference;

use crate::error::{Error, Result};

/// Larger files are refused; no provider takes them.
const LARGEST: u64 = 20 * 1024 * 1024;

/// An image from a file.
pub fn load_image(path: &Path) -> Result<Image> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let media_type = match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("bmp") => "image/bmp",
        Some("tif" | "tiff") => "image/tiff",
        Some("heic") => "image/heic",
        _ => {
            return Err(Error::user(
                format!("{} is not an image that can be sent", path.display()),
                Some("png, jpg, gif, webp, bmp, tiff and heic files can be sent"),
            ));
        }
    };
    let bytes = hermes_fs::read_capped(path, LARGEST)?;
    Ok(Image::Data {
        media_type: media_type.to_owned(),
        base64: STANDARD.encode(bytes),
    })
}

/// Images that a text refers to; one that cannot be read is left out and logged.
pub(crate) fn load_references(references: &[ImageReference]) -> Vec<Image> {
    let images = references.iter().filter_map(|reference| match reference {
        ImageReference::Url(url) => Some(Image::Url(url.clone())),
        ImageReference::File(path) => match load_image(path) {
            Ok(image) => Some(image),
            Err(error) => {
                tracing::warn!(%error, "an image was left out");
                None
            }
        },
    });
    images.collect()
}
