//! Contents of messages: texts, or lists of text and image parts.

use hermes_agent::TurnInput;
use hermes_providers::Image;
use serde_json::{Map, Value, json};

use crate::http::ApiError;
use crate::turn::HistoryMessage;

/// Longest text of a part; the rest is cut off.
const MOST_TEXT: usize = 65_536;
/// Most parts of a message; the rest is left out.
const MOST_PARTS: usize = 1_000;

/// A content that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReadContent {
    pub(crate) text: String,
    images: Vec<(String, Option<String>)>,
}

impl ReadContent {
    /// Reads a content; `param` names its place in errors.
    pub(crate) fn read(content: Option<&Value>, param: &str) -> Result<Self, ApiError> {
        let mut read = Self::default();
        match content {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => read.add_text(text),
            Some(Value::Array(parts)) => {
                for part in parts.iter().take(MOST_PARTS) {
                    read.add_part(part)
                        .map_err(|error| error.param(param.to_owned()))?;
                }
            }
            Some(_) => {
                return Err(
                    ApiError::bad_request("a content is a string or a list of parts")
                        .code("invalid_content_part")
                        .param(param),
                );
            }
        }
        Ok(read)
    }

    fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(hermes_text::cut(text, MOST_TEXT));
    }

    fn add_part(&mut self, part: &Value) -> Result<(), ApiError> {
        let part = match part {
            Value::String(text) => {
                self.add_text(text);
                return Ok(());
            }
            Value::Object(part) => part,
            _ => {
                return Err(
                    ApiError::bad_request("a part of a content is a string or an object")
                        .code("invalid_content_part"),
                );
            }
        };
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind.trim().to_ascii_lowercase().as_str() {
            "text" | "input_text" | "output_text" => {
                match part.get("text") {
                    Some(Value::String(text)) => self.add_text(text),
                    None | Some(Value::Null) => {}
                    Some(_) => {
                        return Err(ApiError::bad_request("the text of a part is a string")
                            .code("invalid_content_part"));
                    }
                }
                Ok(())
            }
            "image_url" | "input_image" => self.add_image(part),
            "file" | "input_file" => Err(ApiError::bad_request(
                "files and documents are not taken here; text and images are",
            )
            .code("unsupported_content_type")),
            _ => Err(ApiError::bad_request(format!(
                "parts of the type '{}' are not taken here; text and images are",
                hermes_text::shown(kind, 40)
            ))
            .code("unsupported_content_type")),
        }
    }

    fn add_image(&mut self, part: &Map<String, Value>) -> Result<(), ApiError> {
        let (url, detail) = match part.get("image_url") {
            Some(Value::Object(image)) => (image.get("url"), image.get("detail")),
            other => (other, part.get("detail")),
        };
        let url = url.and_then(Value::as_str).unwrap_or_default().trim();
        let lower = url.get(..url.len().min(12)).unwrap_or_default();
        let lower = lower.to_ascii_lowercase();
        if url.is_empty() {
            return Err(
                ApiError::bad_request("an image part needs a URL").code("invalid_image_url")
            );
        }
        if lower.starts_with("data:") {
            if !lower.starts_with("data:image/") || !url.contains(',') {
                return Err(
                    ApiError::bad_request("of data URLs only images are taken here")
                        .code("unsupported_content_type"),
                );
            }
        } else if !lower.starts_with("http://") && !lower.starts_with("https://") {
            return Err(ApiError::bad_request(
                "an image is given by an http, https or data:image/ URL",
            )
            .code("invalid_image_url"));
        }
        let detail = match detail {
            None | Some(Value::Null) => None,
            Some(Value::String(detail)) if !detail.trim().is_empty() => {
                Some(detail.trim().to_owned())
            }
            Some(_) => {
                return Err(ApiError::bad_request("the detail of an image is a word")
                    .code("invalid_content_part"));
            }
        };
        self.images.push((url.to_owned(), detail));
        Ok(())
    }

    /// Whether there is nothing to see.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// As the input of a turn.
    pub(crate) fn into_input(self) -> TurnInput {
        TurnInput {
            text: self.text,
            images: self.images.into_iter().map(|(url, _)| image(url)).collect(),
            ..TurnInput::default()
        }
    }

    /// As the client gave it, in the chat wire format.
    pub(crate) fn to_json(&self) -> Value {
        if self.images.is_empty() {
            return Value::String(self.text.clone());
        }
        let text = (!self.text.is_empty()).then(|| json!({"type": "text", "text": self.text}));
        let images = self.images.iter().map(|(url, detail)| {
            let mut image = json!({"url": url});
            if let Some(detail) = detail {
                image["detail"] = json!(detail);
            }
            json!({"type": "image_url", "image_url": image})
        });
        text.into_iter().chain(images).collect()
    }

    /// As an earlier message of a conversation.
    pub(crate) fn into_history(self, is_user: bool) -> HistoryMessage {
        HistoryMessage {
            is_user,
            parts: (!self.images.is_empty()).then(|| self.to_json()),
            text: self.text,
        }
    }
}

fn image(url: String) -> Image {
    let inline = url.strip_prefix("data:").and_then(|rest| {
        let (kind, data) = rest.split_once(',')?;
        let media_type = kind.strip_suffix(";base64")?;
        Some(Image::Data {
            media_type: media_type.to_owned(),
            base64: data.to_owned(),
        })
    });
    inline.unwrap_or(Image::Url(url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(content: &Value) -> Result<ReadContent, ApiError> {
        ReadContent::read(Some(content), "messages[0].content")
    }

    #[test]
    fn text_parts_become_one_text_and_images_are_kept() {
        let parts =
            json!(["a", {"type": "text", "text": "b"}, {"type": "input_text", "text": "c"}]);
        assert_eq!(read(&parts).unwrap().text, "a\nb\nc");
        let image =
            json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]);
        let read = read(&image).unwrap();
        assert!(!read.is_empty());
        assert!(matches!(
            read.into_input().images.as_slice(),
            [Image::Data { media_type, base64 }] if media_type == "image/png" && base64 == "QUJD"
        ));
    }

    #[test]
    fn what_is_not_taken_is_named_with_its_place() {
        for (part, code) in [
            (
                json!({"type": "file", "file": {}}),
                "unsupported_content_type",
            ),
            (json!({"type": "audio"}), "unsupported_content_type"),
            (json!(7), "invalid_content_part"),
            (json!({"type": "text", "text": 7}), "invalid_content_part"),
            (
                json!({"type": "image_url", "image_url": "data:text/html,x"}),
                "unsupported_content_type",
            ),
            (
                json!({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}),
                "invalid_image_url",
            ),
            (json!({"type": "input_image"}), "invalid_image_url"),
            (
                json!({"type": "input_image", "image_url": "https://a/b", "detail": 3}),
                "invalid_content_part",
            ),
        ] {
            let error = read(&json!([part.clone()])).unwrap_err().to_json();
            assert_eq!(error["error"]["code"], code, "{part}");
            assert_eq!(error["error"]["param"], "messages[0].content");
        }
    }

    #[test]
    fn a_text_is_cut_at_characters() {
        let long = "é".repeat(MOST_TEXT + 5);
        assert_eq!(read(&json!(long)).unwrap().text.chars().count(), MOST_TEXT);
    }
}
