//! Secrets in answers: masked in every text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};

use hermes_secret::Redactor;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// Short texts that are known to have no secret: most of a board is the same few words.
const MOST_CLEAN: usize = 256;
const LONGEST_CLEAN: usize = 256;

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
pub(crate) fn masked_json(
    redactor: &Redactor,
    value: &(impl Serialize + ?Sized),
) -> serde_json::Result<String> {
    let mut written = Vec::new();
    let masking = Masking {
        redactor,
        text: Vec::new(),
        is_name: false,
        clean: HashSet::new(),
    };
    value.serialize(&mut Serializer::with_formatter(&mut written, masking))?;
    String::from_utf8(written).map_err(serde::ser::Error::custom)
}

/// Holds a text back until it is whole, and writes what is left of it.
struct Masking<'r> {
    redactor: &'r Redactor,
    text: Vec<u8>,
    is_name: bool,
    clean: HashSet<Vec<u8>>,
}

impl Masking<'_> {
    fn masked(&mut self) -> io::Result<Option<String>> {
        if self.is_name || self.clean.contains(&self.text) {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.text).map_err(io::Error::other)?;
        if let Cow::Owned(masked) = self.redactor.redact(text) {
            return Ok(Some(masked));
        }
        if self.clean.len() < MOST_CLEAN && self.text.len() <= LONGEST_CLEAN {
            self.clean.insert(self.text.clone());
        }
        Ok(None)
    }
}

impl Formatter for Masking<'_> {
    fn begin_string<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.text.clear();
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.text.extend_from_slice(fragment.as_bytes());
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        escaped: CharEscape,
    ) -> io::Result<()> {
        self.text.push(match escaped {
            CharEscape::Quote => b'"',
            CharEscape::ReverseSolidus => b'\\',
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        });
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let masked = self.masked()?;
        let text = match &masked {
            Some(masked) => masked.as_bytes(),
            None => &self.text,
        };
        if text
            .iter()
            .all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\')
        {
            to.write_all(b"\"")?;
            to.write_all(text)?;
            return to.write_all(b"\"");
        }
        let text = std::str::from_utf8(text).map_err(io::Error::other)?;
        Ok(serde_json::to_writer(to, text)?)
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
