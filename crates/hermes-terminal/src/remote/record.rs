//! Records on the control stream: fields between zero bytes, behind a word nobody can guess.
//!
//! Whatever else gets onto the stream (a client's warnings, what a child wrote by accident) stands
//! between records and is ignored.

use std::ops::Range;

use memchr::memmem;

/// The fields of the record `kind` of `nonce`, if there are `count` of them, each ended by a zero
/// byte; records with a kind of their own end after the fields, a greeting ends with the nonce again.
/// Also says which bytes the record takes up.
pub(super) fn fields_of<'b>(
    bytes: &'b [u8],
    nonce: &str,
    kind: &str,
    count: usize,
) -> Option<(Vec<&'b [u8]>, Range<usize>)> {
    let head = format!("\0{nonce}\0{kind}\0");
    let start = memmem::find(bytes, head.as_bytes())?;
    let mut index = start + head.len();
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let rest = bytes.get(index..)?;
        let length = memchr::memchr(0, rest)?;
        fields.push(rest.get(..length)?);
        index += length + 1;
    }
    if kind == "hello" {
        let tail = format!("{nonce}\0");
        if !bytes.get(index..)?.starts_with(tail.as_bytes()) {
            return None;
        }
        index += tail.len();
    }
    Some((fields, start..index))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) pid: u32,
    /// When it started, in clock ticks; told for background processes.
    pub(super) start_time: Option<u64>,
    /// The launcher of a background process, which leads the session, and when it started.
    pub(super) launcher: Option<(u32, Option<u64>)>,
    pub(super) has_moved: bool,
    /// Where it runs, without links.
    pub(super) cwd: Vec<u8>,
}

impl Started {
    pub(super) fn find(bytes: &[u8], nonce: &str) -> Option<(Self, Range<usize>)> {
        let (fields, range) = fields_of(bytes, nonce, "start", 6)?;
        let [pid, time, launcher, launcher_time, moved, cwd] = fields.try_into().ok()?;
        let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<u64>().ok();
        let pid_of = |bytes: &[u8]| number(bytes).and_then(|pid| u32::try_from(pid).ok());
        let started = Self {
            pid: pid_of(pid)?,
            start_time: number(time),
            launcher: pid_of(launcher).map(|pid| (pid, number(launcher_time))),
            has_moved: moved == b"moved",
            cwd: cwd.to_owned(),
        };
        Some((started, range))
    }
}

/// What a loop says when a command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) status: i32,
    /// Whether no process is there that was started since the command before it.
    pub(super) left_nothing: bool,
}

impl Ended {
    pub(super) fn find(bytes: &[u8], nonce: &str) -> Option<(Self, Range<usize>)> {
        let (fields, range) = fields_of(bytes, nonce, "end", 2)?;
        let [status, rest] = fields.try_into().ok()?;
        let status: &[u8] = status;
        let ended = Self {
            status: std::str::from_utf8(status).ok()?.parse().ok()?,
            left_nothing: rest == b"idle",
        };
        Some((ended, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn records_are_found_whole_and_by_their_word() {
        let bytes = b"junk\0nA\0start\x0012\0\x003\x009\0moved\0/a b\0tail";
        let (started, range) = Started::find(bytes, "nA").unwrap();
        assert_eq!(
            started,
            Started {
                pid: 12,
                start_time: None,
                launcher: Some((3, Some(9))),
                has_moved: true,
                cwd: b"/a b".to_vec()
            }
        );
        assert_eq!(&bytes[range.end..], b"tail");
        for end in 0..range.end - 1 {
            assert_eq!(Started::find(&bytes[..end], "nA"), None, "{end}");
        }
        assert_eq!(Started::find(bytes, "nB"), None);
        let ended = |status, left_nothing| Ended {
            status,
            left_nothing,
        };
        let end = |bytes: &[u8]| Ended::find(bytes, "nE").map(|(ended, _)| ended);
        assert_eq!(end(b"\0nE\0end\x00137\0\0"), Some(ended(137, false)));
        assert_eq!(end(b"\0nE\0end\x000\0idle\0"), Some(ended(0, true)));
        assert_eq!(end(b"\0nE\0end\x000\0id"), None);
        assert_eq!(end(b"\0nE\0end\0many\0\0"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..200)) {
            let mut bytes = bytes;
            bytes.splice(0..0, b"\0n\0start\0".iter().copied());
            Started::find(&bytes, "n");
            Ended::find(&bytes, "n");
        }
    }
}
