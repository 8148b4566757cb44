//! Keeps the beginning and the end of a text that may be endless.

use std::collections::VecDeque;

/// Pieces of the end are about this long, so that old ones can be dropped whole.
const PIECE: usize = 16 * 1024;

/// Beginning and end of a text, each up to a bound, and how long the whole was.
#[derive(Debug)]
pub(super) struct BoundedText {
    head: String,
    head_room: usize,
    tail: VecDeque<(String, usize)>,
    tail_length: usize,
    tail_bound: usize,
    total: usize,
    spare: String,
}

/// What was kept.
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
            tail: VecDeque::new(),
            tail_length: 0,
            tail_bound: bound / 2,
            total: 0,
            spare: String::new(),
        }
    }

    /// Characters so far.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn push(&mut self, text: &str) {
        // Most output is ASCII, where a character is a byte.
        let length = if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
        self.total += length;
        if length <= self.head_room {
            self.head.push_str(text);
            self.head_room -= length;
            return;
        }
        let (head, rest) = split_after(text, self.head_room);
        self.head.push_str(head);
        let rest_length = length - self.head_room;
        self.head_room = 0;
        self.push_tail(rest, rest_length);
    }

    fn push_tail(&mut self, text: &str, length: usize) {
        let skipped = length.saturating_sub(self.tail_bound);
        let (_, text) = split_after(text, skipped);
        let length = length - skipped;
        match self.tail.back_mut() {
            Some((piece, count)) if piece.len() + text.len() <= PIECE => {
                piece.push_str(text);
                *count += length;
            }
            _ => {
                let mut piece = std::mem::take(&mut self.spare);
                piece.push_str(text);
                self.tail.push_back((piece, length));
            }
        }
        self.tail_length += length;
        while let Some((_, count)) = self.tail.front()
            && self.tail_length - count >= self.tail_bound
        {
            self.tail_length -= count;
            if let Some((mut piece, _)) = self.tail.pop_front() {
                // Its memory is there already; asking for more, piece after piece, takes time.
                piece.clear();
                self.spare = piece;
            }
        }
    }

    pub(super) fn finish(self) -> Kept {
        let mut tail = String::with_capacity(self.tail.iter().map(|(piece, _)| piece.len()).sum());
        for (piece, _) in &self.tail {
            tail.push_str(piece);
        }
        let excess = self.tail_length.saturating_sub(self.tail_bound);
        let (_, kept) = split_after(&tail, excess);
        let kept_length = self.tail_length - excess;
        let head_length = self.head.chars().count();
        Kept {
            tail: kept.to_owned(),
            omitted: self.total - head_length - kept_length,
            head: self.head,
        }
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
        assert!(
            text.tail
                .iter()
                .map(|(piece, _)| piece.capacity())
                .sum::<usize>()
                < 64 * 1024
        );
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
