//! Secrets in answers: masked in every text.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Write};
use std::ops::Range;

use hermes_secret::Redactor;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

/// Masks secrets in every text of a value that stays one; names of fields are not looked at.
pub(crate) fn redact(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = redactor.redact(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(redactor, item)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| redact(redactor, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes a value as JSON with secrets masked in every text; names of fields are not looked at.
///
/// The whole is written first and looked at once: few texts have anything that hints at a secret, and
/// only those are looked at by themselves.
pub(crate) fn masked_json(
    redactor: &Redactor,
    value: &(impl Serialize + ?Sized),
) -> serde_json::Result<String> {
    let length = Cell::new(0);
    let mut noting = Noting {
        length: &length,
        texts: Vec::new(),
        is_name: false,
    };
    let mut written = Written {
        bytes: Vec::new(),
        length: &length,
    };
    value.serialize(&mut Serializer::with_formatter(&mut written, &mut noting))?;
    let json = String::from_utf8(written.bytes).map_err(serde::ser::Error::custom)?;
    Ok(match masked_texts(redactor, &json, &noting.texts)? {
        masked if masked.is_empty() => json,
        masked => replaced(&json, &masked),
    })
}

/// A text in JSON, without its quotes.
struct Text {
    place: Range<usize>,
    /// Whether a character of it is written as an escape.
    is_escaped: bool,
}

/// The texts with a secret, and what to write instead, quotes included.
fn masked_texts(
    redactor: &Redactor,
    json: &str,
    texts: &[Text],
) -> serde_json::Result<Vec<(Range<usize>, String)>> {
    let mut masked = Vec::new();
    let mut hints = redactor.traces(json).into_iter().peekable();
    for text in texts {
        // Hints before this text are those of earlier texts, of names and of numbers. One may reach
        // into this one.
        while hints.next_if(|hint| hint.end <= text.place.start).is_some() {}
        let is_hinted = hints.peek().is_some_and(|hint| hint.start < text.place.end);
        if !is_hinted && !text.is_escaped {
            continue;
        }
        let quoted = text.place.start - 1..text.place.end + 1;
        let plain: Cow<'_, str> = if text.is_escaped {
            let written = json.get(quoted.clone()).unwrap_or_default();
            Cow::Owned(serde_json::from_str(written)?)
        } else {
            Cow::Borrowed(json.get(text.place.clone()).unwrap_or_default())
        };
        if let Cow::Owned(mask) = redactor.redact(&plain) {
            masked.push((quoted, serde_json::to_string(&mask)?));
        }
    }
    Ok(masked)
}

fn replaced(json: &str, parts: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(json.len());
    let mut done = 0;
    for (place, text) in parts {
        out.push_str(json.get(done..place.start).unwrap_or_default());
        out.push_str(text);
        done = place.end;
    }
    out.push_str(json.get(done..).unwrap_or_default());
    out
}

/// What is written so far. The formatter cannot see it, and is told how much it is.
struct Written<'l> {
    bytes: Vec<u8>,
    length: &'l Cell<usize>,
}

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.length.set(self.bytes.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Notes where texts are.
struct Noting<'l> {
    length: &'l Cell<usize>,
    texts: Vec<Text>,
    is_name: bool,
}

impl Formatter for &mut Noting<'_> {
    fn begin_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\"")?;
        if !self.is_name {
            let start = self.length.get();
            self.texts.push(Text {
                place: start..start,
                is_escaped: false,
            });
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        escaped: CharEscape,
    ) -> io::Result<()> {
        if !self.is_name
            && let Some(text) = self.texts.last_mut()
        {
            text.is_escaped = true;
        }
        CompactFormatter.write_char_escape(to, escaped)
    }

    fn end_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if !self.is_name
            && let Some(text) = self.texts.last_mut()
        {
            text.place.end = self.length.get();
        }
        to.write_all(b"\"")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.is_name = true;
        if first { Ok(()) } else { to.write_all(b",") }
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_name = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_the_masked_value() {
        let redactor = Redactor::new(["cl\"ever\nvalue".to_owned(), "plain-value".to_owned()]);
        let value = json!({
            "plain": "the plain-value, and again plain-value",
            "plain-value": ["a cl\"ever\nvalue", "", null, 1, true, {"x": "plain"}, {}, []],
            "escaped": "quote \" slash \\ / \u{8}\u{c}\n\r\t\u{1}\u{7f} é 🦀",
            "shape": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
            "twice": ["plain", "plain"],
        });
        let mut expected = value.clone();
        redact(&redactor, &mut expected);
        assert_ne!(expected, value);
        let written = masked_json(&redactor, &value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
        assert_eq!(written, expected.to_string());
    }

    #[test]
    fn many_clean_texts_do_not_hide_a_secret() {
        let redactor = Redactor::new(["plain-value".to_owned()]);
        let mut texts: Vec<String> = (0..1000).map(|number| format!("text {number}")).collect();
        texts.push("plain-value".to_owned());
        let written = masked_json(&redactor, &texts).unwrap();
        assert!(!written.contains("plain-value"));
        assert!(written.contains("text 999"));
    }
}
