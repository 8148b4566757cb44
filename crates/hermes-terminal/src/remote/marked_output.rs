//! The output stream of a channel, cut to what belongs to one command.
//!
//! The command's shell prints a word before the command, the loop another one behind it. What stands before the first (late output of
//! something an earlier command left) is dropped; the second tells that nothing more will come.

use memchr::memmem;

/// Looks for the two words in pieces of any size.
#[derive(Debug)]
pub(super) struct MarkedOutput {
    begin: Vec<u8>,
    end: Vec<u8>,
    /// What may be the first part of the word that is looked for.
    held: Vec<u8>,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    Inside,
    After,
}

impl MarkedOutput {
    /// The words, each with a letter of its own behind it.
    pub(super) fn new(begin: &str, end: &str) -> Self {
        Self {
            begin: format!("{begin}b").into_bytes(),
            end: format!("{end}e").into_bytes(),
            held: Vec::new(),
            position: Position::Before,
        }
    }

    /// Whether everything has come.
    pub(super) fn is_complete(&self) -> bool {
        self.position == Position::After
    }

    /// Takes the next piece and passes on what the command printed.
    pub(super) fn push(&mut self, piece: &[u8], sink: &mut dyn FnMut(&[u8])) {
        self.held.extend_from_slice(piece);
        if self.position == Position::Before {
            match memmem::find(&self.held, &self.begin) {
                Some(found) => {
                    self.held.drain(..found + self.begin.len());
                    self.position = Position::Inside;
                }
                None => {
                    let gone = self.held.len().saturating_sub(self.begin.len() - 1);
                    self.held.drain(..gone);
                    return;
                }
            }
        }
        if self.position == Position::After {
            self.held.clear();
            return;
        }
        if let Some(found) = memmem::find(&self.held, &self.end) {
            sink(self.held.get(..found).unwrap_or_default());
            self.held.clear();
            self.position = Position::After;
            return;
        }
        let passed = self.held.len().saturating_sub(self.end.len() - 1);
        sink(self.held.get(..passed).unwrap_or_default());
        self.held.drain(..passed);
    }

    /// Nothing more comes: what was held is output.
    pub(super) fn finish(self, sink: &mut dyn FnMut(&[u8])) {
        if self.position == Position::Inside {
            sink(&self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn cut(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut output = MarkedOutput::new("nX", "nX");
        let mut got = Vec::new();
        for piece in pieces {
            output.push(piece, &mut |bytes| got.extend_from_slice(bytes));
        }
        let is_complete = output.is_complete();
        output.finish(&mut |bytes| got.extend_from_slice(bytes));
        (got, is_complete)
    }

    #[test]
    fn what_stands_between_the_words_is_the_output() {
        assert_eq!(
            cut(&[b"late\nnXbhello\nnXemore"]),
            (b"hello\n".to_vec(), true)
        );
        assert_eq!(cut(&[b"nXb", b"half nX"]), (b"half nX".to_vec(), false));
        assert_eq!(cut(&[b"nXbnXe"]), (Vec::new(), true));
        assert_eq!(cut(&[b"never began"]), (Vec::new(), false));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            before in "[a-n]{0,9}",
            body in "[nXe\\n]{0,40}",
            after in "[a-n]{0,9}",
            size in 1_usize..12,
        ) {
            prop_assume!(!body.contains("nXe") && !format!("{body}nX").contains("nXe"));
            prop_assume!(!format!("{before}nX").contains("nXb"));
            let text = format!("{before}nXb{body}nXe{after}");
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(cut(&pieces), (body.into_bytes(), true));
        }
    }
}
