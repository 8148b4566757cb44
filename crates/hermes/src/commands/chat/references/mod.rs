//! What a message names with an `@` goes along with it: files, folders, changes, pages.
//!
//! The words stay as they were typed; what they name stands below them. What may not or cannot be
//! brought along is left out, and both the person and the model are told.

mod attach;
mod parse;

use super::conversation::Conversation;
use crate::error::Result;

use self::attach::Source;

/// Characters that a token stands for.
const CHARS_PER_TOKEN: u64 = 4;

/// The message with everything it names.
pub(super) fn expanded(text: &str, conversation: &mut Conversation) -> Result<String> {
    let references = parse::references(text);
    if references.is_empty() {
        return Ok(text.to_owned());
    }
    let source = Source {
        root: conversation.agent().context().session.cwd(),
        is_elsewhere: conversation.toolbox().elsewhere().is_some(),
        private_homes: conversation.toolbox().private_homes().clone(),
        context: conversation.context(),
    };
    let mut blocks = Vec::new();
    let mut refused = Vec::new();
    for reference in &references {
        match source.attach(reference) {
            Ok(block) => blocks.push(block),
            Err(why) => refused.push(format!("{} was not attached: {why}", reference.written)),
        }
    }
    let window = conversation.agent().provider().route().context_length;
    let room = window.saturating_mul(CHARS_PER_TOKEN) / 2;
    let size: usize = blocks.iter().map(|block| block.chars().count()).sum();
    if u64::try_from(size).unwrap_or(u64::MAX) > room {
        blocks.clear();
        refused.push(format!(
            "nothing was attached: it would take more than half of the window of {window} tokens"
        ));
    }
    let printer = &conversation.context().printer;
    for line in &refused {
        printer.warn(line, None)?;
    }
    let mut message = text.to_owned();
    if !refused.is_empty() {
        message.push_str("\n\n[Not attached]\n");
        message.push_str(&refused.join("\n"));
    }
    if !blocks.is_empty() {
        message.push_str("\n\n[Attached]\n\n");
        message.push_str(&blocks.join("\n\n"));
    }
    Ok(message)
}
