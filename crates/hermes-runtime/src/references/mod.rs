//! Files, folders, changes and pages that a message refers to with an `@` and that go along with it.
//!
//! The message stays as it was typed; what it refers to stands below. What may not or cannot be
//! attached is left out, and both the person and the model are told.

mod attach;
mod parse;

pub(crate) use self::attach::Source;
use crate::person::Person;

/// Characters that a token stands for.
const CHARS_PER_TOKEN: u64 = 4;

/// Above the reasons why something is missing.
const NOT_ATTACHED: &str = "\n\n[Not attached]\n";
/// Above what is attached.
const ATTACHED: &str = "\n\n[Attached]\n\n";

/// A message as it was typed, without what [`expand`] has added.
pub fn typed_part(message: &str) -> &str {
    let ends = [NOT_ATTACHED, ATTACHED].map(|mark| message.find(mark));
    let end = ends.into_iter().flatten().min();
    message
        .get(..end.unwrap_or(message.len()))
        .unwrap_or(message)
}

/// The message with everything it refers to, as far as half of a context window of `window` tokens
/// holds it.
pub(crate) fn expand(text: &str, source: &Source<'_>, window: u64, person: &dyn Person) -> String {
    let references = parse::references(text);
    if references.is_empty() {
        return text.to_owned();
    }
    let mut blocks = Vec::new();
    let mut refused = Vec::new();
    for reference in &references {
        match source.attach(reference) {
            Ok(block) => blocks.push(block),
            Err(why) => refused.push(format!("{} was not attached: {why}", reference.written)),
        }
    }
    let room = window.saturating_mul(CHARS_PER_TOKEN) / 2;
    let size: usize = blocks.iter().map(|block| block.chars().count()).sum();
    if u64::try_from(size).unwrap_or(u64::MAX) > room {
        blocks.clear();
        refused.push(format!(
            "nothing was attached: it would take more than half of the context window of {window} \
             tokens"
        ));
    }
    for line in &refused {
        person.warn(line, None);
    }
    let mut message = text.to_owned();
    if !refused.is_empty() {
        message.push_str(NOT_ATTACHED);
        message.push_str(&refused.join("\n"));
    }
    if !blocks.is_empty() {
        message.push_str(ATTACHED);
        message.push_str(&blocks.join("\n\n"));
    }
    message
}
