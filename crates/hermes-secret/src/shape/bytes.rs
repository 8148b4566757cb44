//! Runs of byte classes. All classes are ASCII, so a run never ends inside a character.

/// A byte of the text, or `None` outside it.
pub(super) fn at(bytes: &[u8], index: usize) -> Option<u8> {
    bytes.get(index).copied()
}

/// The byte before an offset.
pub(super) fn before(bytes: &[u8], index: usize) -> Option<u8> {
    index.checked_sub(1).and_then(|index| at(bytes, index))
}

/// End of the run of bytes from `start` on for which `class` holds.
pub(super) fn run(bytes: &[u8], start: usize, class: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|&&byte| class(byte)).count()
}

/// Start of the run of bytes that ends before `end`, at most `most` bytes long.
pub(super) fn run_back(bytes: &[u8], end: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(..end).unwrap_or_default();
    end - rest
        .iter()
        .rev()
        .take(most)
        .take_while(|&&byte| class(byte))
        .count()
}

/// Characters of tokens as most vendors make them.
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Blank on one line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
