//! Text without quotations: code blocks, quoted lines, and text between quotes or backticks.

/// Maximum characters of a quotation, so that an unpaired mark does not swallow the rest.
const MAX_CHARS: usize = 400;

/// Whether a line opens or closes a code block.
pub fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// A paragraph with code blocks and quoted lines blanked.
pub(super) fn outside_blocks(paragraph: &str, mut in_fence: bool) -> String {
    let mut text = String::with_capacity(paragraph.len());
    for line in paragraph.lines() {
        if is_fence(line) {
            in_fence = !in_fence;
        } else if !in_fence && !line.trim_start().starts_with('>') {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

pub(super) fn without_code(text: &str) -> String {
    without_between(text, '`', '`')
}

/// The text without inline code and quotations.
pub(super) fn without_quotes(text: &str) -> String {
    let marks = [('`', '`'), ('"', '"'), ('“', '”'), ('«', '»'), ('\'', '\'')];
    marks.iter().fold(text.to_owned(), |text, &(open, close)| {
        without_between(&text, open, close)
    })
}

fn without_between(text: &str, open: char, close: char) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(open) {
        kept.push_str(before);
        // Inside a word the mark is an apostrophe.
        let opens = open != '\'' || kept.ends_with(|c: char| c.is_whitespace() || c == '(');
        let opens = opens || kept.is_empty();
        match after_quotation(behind, close).filter(|_| opens) {
            Some(after) => {
                kept.push_str(" … ");
                rest = after;
            }
            None => {
                kept.push(open);
                rest = behind;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// The text after a quotation at the start of `text`, if there is one.
fn after_quotation(text: &str, close: char) -> Option<&str> {
    let mut near = text.char_indices().take(MAX_CHARS + 1);
    let (end, last) = near.find(|&(_, c)| c == close || c == '\n')?;
    let is_quotation = last == close && end > 0;
    text.get(end + close.len_utf8()..).filter(|_| is_quotation)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn quotations_are_removed() {
        for (text, said) in [
            ("a `b` c", "a  …  c"),
            ("\"b\" c", " …  c"),
            ("“b” «c»", " …   … "),
            ("'b' and it's (Ann's 'd')", " …  and it's (Ann's  … )"),
            ("a \"b\nc\" d", "a \"b\nc\" d"),
            ("a \"\" d", "a \"\" d"),
            ("a \" d", "a \" d"),
        ] {
            assert_eq!(without_quotes(text), said);
        }
        assert_eq!(without_code("`a` \"b\""), " …  \"b\"");
    }

    #[test]
    fn unpaired_mark_swallows_nothing() {
        let far = format!("\"{}\"", "é".repeat(MAX_CHARS));
        assert_eq!(without_quotes(&far), " … ");
        let too_far = format!("\"{}\"", "é".repeat(MAX_CHARS + 1));
        assert_eq!(without_quotes(&too_far), too_far);
    }
}
