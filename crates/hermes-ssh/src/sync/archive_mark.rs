//! The line behind which an archive begins.
//!
//! Start-up files of the user's shell there may print things; everything before the mark is theirs.

use std::io::{self, BufRead, Read};

pub(super) const MARK: &str = "hermes-archive-follows";
/// What start-up files may print.
const MAX_BEFORE: u64 = 256 * 1024;

/// Reads up to the mark; false if the stream ends without it.
pub(super) fn skip_to_mark(reader: &mut impl BufRead) -> io::Result<bool> {
    let mut before = reader.take(MAX_BEFORE);
    let mut line = Vec::new();
    while before.read_until(b'\n', &mut line)? > 0 {
        if line.strip_suffix(b"\n") == Some(MARK.as_bytes()) {
            return Ok(true);
        }
        line.clear();
    }
    if before.limit() == 0 {
        return Err(io::Error::other("it begins with something else"));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn what_comes_before_is_skipped_and_what_follows_stays() {
        let text = format!("hello\n\n{MARK} not\n{MARK}\nrest\n");
        let mut reader = BufReader::with_capacity(3, text.as_bytes());
        assert!(skip_to_mark(&mut reader).unwrap());
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "rest\n");
    }

    #[test]
    fn a_stream_without_a_mark_is_not_read_for_ever() {
        assert!(!skip_to_mark(&mut "hello\n".as_bytes()).unwrap());
        let mut endless = BufReader::new(io::repeat(b'x'));
        assert!(skip_to_mark(&mut endless).is_err());
    }
}
