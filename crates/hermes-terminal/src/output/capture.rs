//! Keeps the beginning and the end of a text that may be endless.

/// The end of a text, up to a bound.
#[derive(Debug)]
pub(crate) struct TextTail {
    text: String,
    /// Of `text`.
    characters: usize,
    bound: usize,
    is_cut: bool,
}

impl TextTail {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            text: String::new(),
            characters: 0,
            bound,
            is_cut: false,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.characters += characters(text);
        // Not before there is twice as much: what is kept has to be moved.
        if self.characters > 2 * self.bound {
            let excess = self.text.len() - self.as_str().len();
            self.text.drain(..excess);
            self.characters = self.bound;
            self.is_cut = true;
        }
    }

    /// Whether the beginning is not in the text any more.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut || self.characters > self.bound
    }

    pub(crate) fn as_str(&self) -> &str {
        split_after(&self.text, self.characters.saturating_sub(self.bound)).1
    }
}

/// Beginning and end of a text, each up to a bound, and how long the whole was.
#[derive(Debug)]
pub(super) struct BoundedText {
    head: String,
    head_room: usize,
    tail: TextTail,
    total: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) head: String,
    /// What follows the head, after a gap of `omitted` characters.
    pub(super) tail: String,
    pub(super) omitted: usize,
}

impl BoundedText {
    /// Keeps `bound` characters at most, half of them from the beginning.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            head: String::new(),
            head_room: bound.div_ceil(2),
            tail: TextTail::new(bound / 2),
            total: 0,
        }
    }

    /// Characters so far.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn push(&mut self, text: &str) {
        let length = characters(text);
        self.total += length;
        let (head, rest) = split_after(text, self.head_room);
        self.head.push_str(head);
        self.head_room = self.head_room.saturating_sub(length);
        if !rest.is_empty() {
            self.tail.push(rest);
        }
    }

    pub(super) fn finish(self) -> Kept {
        let tail = self.tail.as_str().to_owned();
        Kept {
            omitted: self.total - characters(&self.head) - characters(&tail),
            head: self.head,
            tail,
        }
    }
}

/// How many characters; most output is ASCII, where each is a byte.
fn characters(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// Cuts after so many characters.
pub(super) fn split_after(text: &str, characters: usize) -> (&str, &str) {
    if characters == 0 {
        return ("", text);
    }
    if text.is_ascii() {
        return text.split_at(characters.min(text.len()));
    }
    let index = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(index, _)| index);
    text.split_at(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn memory_does_not_grow_with_the_text() {
        let mut text = BoundedText::new(1000);
        for _ in 0..10_000 {
            text.push(&"x".repeat(4096));
        }
        assert_eq!(text.total(), 40_960_000);
        assert!(text.tail.text.capacity() < 64 * 1024);
        let kept = text.finish();
        assert_eq!(
            (kept.head.len(), kept.tail.len(), kept.omitted),
            (500, 500, 40_959_000)
        );
    }

    proptest! {
        #[test]
        fn beginning_and_end_are_exact(
            pieces in proptest::collection::vec("[a-zé€]{0,9}", 0..20),
            bound in 2_usize..40,
        ) {
            let mut text = BoundedText::new(bound);
            for piece in &pieces {
                text.push(piece);
            }
            let whole: Vec<char> = pieces.concat().chars().collect();
            let kept = text.finish();
            let head = whole.len().min(bound.div_ceil(2));
            let tail = (whole.len() - head).min(bound / 2);
            prop_assert_eq!(kept.head, String::from_iter(&whole[..head]));
            prop_assert_eq!(kept.tail, String::from_iter(&whole[whole.len() - tail..]));
            prop_assert_eq!(kept.omitted, whole.len() - head - tail);
        }
    }
}
