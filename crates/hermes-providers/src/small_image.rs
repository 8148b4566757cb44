//! Images made smaller for servers that refused a large one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use crate::message::{Content, ContentPart, Image, Message};
use crate::request::ModelRequest;

/// Bytes that an image may have afterwards.
const MAX_BYTES: usize = 4 << 20;
/// Longest sides that are tried, in turn. No model sees more than the first.
const SIDES: [u32; 4] = [2_000, 1_400, 1_000, 700];
/// Pixels of one side, and bytes in memory, of an image that is worth decoding.
const MAX_SIDE: u32 = 20_000;
const MAX_MEMORY: u64 = 512 << 20;

/// Images that were made smaller, by the hash of what they were: a conversation sends them again and
/// again.
#[derive(Debug, Default)]
pub(crate) struct SmallImages {
    known: Mutex<HashMap<u64, Option<Image>>>,
}

impl SmallImages {
    /// The request with its large images made smaller. One that cannot be stays as it is.
    pub(crate) fn in_request(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        for message in &mut request.messages {
            self.in_message(message);
        }
        request
    }

    fn in_message(&self, message: &mut Message) {
        let Content::Parts(parts) = &mut message.content else {
            return;
        };
        for part in parts {
            if let ContentPart::Image(image) = part
                && let Some(small) = self.small(image)
            {
                *image = small;
            }
        }
    }

    /// `None` if the image is small enough, or cannot be made so.
    fn small(&self, image: &Image) -> Option<Image> {
        let Image::Data { base64, .. } = image else {
            return None;
        };
        if base64.len() <= MAX_BYTES / 3 * 4 {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        base64.hash(&mut hasher);
        let hash = hasher.finish();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(hash).or_insert_with(|| shrunk(base64)).clone()
    }
}

fn shrunk(base64: &str) -> Option<Image> {
    let bytes = STANDARD.decode(base64).ok()?;
    let mut reader = ImageReader::new(Cursor::new(&bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let whole = reader.decode().ok()?;
    SIDES.iter().find_map(|side| {
        let image = if whole.width().max(whole.height()) > *side {
            whole.thumbnail(*side, *side)
        } else {
            whole.clone()
        };
        encoded(&image)
    })
}

/// As JPEG, or as PNG where something shows through; `None` if that is too large.
fn encoded(image: &DynamicImage) -> Option<Image> {
    let (format, media_type, image) = if image.color().has_alpha() {
        (ImageFormat::Png, "image/png", image.clone())
    } else {
        let opaque = DynamicImage::ImageRgb8(image.to_rgb8());
        (ImageFormat::Jpeg, "image/jpeg", opaque)
    };
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).ok()?;
    let bytes = bytes.into_inner();
    (bytes.len() <= MAX_BYTES).then(|| Image::Data {
        media_type: media_type.to_owned(),
        base64: STANDARD.encode(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of noise, which no format compresses.
    fn noise(width: u32, height: u32) -> Image {
        let mut seed = 1_u32;
        let image = image::RgbImage::from_fn(width, height, |_, _| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [red, green, blue, _] = seed.to_be_bytes();
            image::Rgb([red, green, blue])
        });
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        Image::Data {
            media_type: "image/png".to_owned(),
            base64: STANDARD.encode(bytes.into_inner()),
        }
    }

    #[test]
    fn large_image_is_scaled_down_once() {
        let images = SmallImages::default();
        let large = noise(2_400, 1_200);
        let Some(Image::Data { media_type, base64 }) = images.small(&large) else {
            panic!("it was not made smaller");
        };
        assert_eq!(media_type, "image/jpeg");
        assert!(base64.len() <= MAX_BYTES / 3 * 4);
        let decoded = image::load_from_memory(&STANDARD.decode(&base64).unwrap()).unwrap();
        assert_eq!(decoded.width(), decoded.height() * 2);
        assert_eq!(images.known.lock().unwrap().len(), 1);
        assert!(images.small(&large).is_some());
        assert_eq!(images.known.lock().unwrap().len(), 1);
    }

    #[test]
    fn small_and_broken_images_stay() {
        let images = SmallImages::default();
        assert_eq!(images.small(&noise(20, 10)), None);
        let broken = Image::Data {
            media_type: "image/png".to_owned(),
            base64: "A".repeat(8 << 20),
        };
        assert_eq!(images.small(&broken), None);
        assert_eq!(
            images.small(&Image::Url("https://a/b.png".to_owned())),
            None
        );
    }
}
