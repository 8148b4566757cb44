//! The words that pass between Hermes and the supervisor of a background process.
//!
//! A frame is a kind, a length and that many bytes. Neither side trusts the other with memory: a
//! frame has a bound.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::shell::ShellKind;

/// Most that one frame holds; the first frame has the whole environment and command in it.
const LARGEST: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// To the supervisor: what to start.
    Start(Vec<u8>),
    /// To a guard: the number of the descriptor with the table it looks after.
    Guard(u32),
    /// To the supervisor: it is on record, let it run.
    Go,
    /// To the supervisor: type this.
    Type(Vec<u8>),
    /// From the supervisor: it is there.
    Started(Started),
    /// From the supervisor: it printed this.
    Output(Vec<u8>),
    /// From the supervisor, to one who came later: the end of what it has printed so far.
    History(Vec<u8>),
    /// From the supervisor: it ended with this code.
    Exited(i32),
    /// From the supervisor: it could not be started, for this reason.
    Failed(String),
}

/// A process that has been started and waits for [`Frame::Go`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) pid: u32,
    pub(super) start_time: u64,
    pub(super) pty: bool,
}

impl Frame {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, body): (u8, Vec<u8>) = match self {
            Self::Start(spec) => (b'S', spec.clone()),
            Self::Guard(number) => (b'W', number.to_le_bytes().to_vec()),
            Self::Go => (b'G', Vec::new()),
            Self::Type(bytes) => (b'T', bytes.clone()),
            Self::Started(started) => {
                let mut body = started.pid.to_le_bytes().to_vec();
                body.extend(started.start_time.to_le_bytes());
                body.push(u8::from(started.pty));
                (b'P', body)
            }
            Self::Output(bytes) => (b'O', bytes.clone()),
            Self::History(bytes) => (b'H', bytes.clone()),
            Self::Exited(code) => (b'X', code.to_le_bytes().to_vec()),
            Self::Failed(reason) => (b'F', reason.clone().into_bytes()),
        };
        let mut out = Vec::with_capacity(body.len() + 5);
        out.push(kind);
        out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(body);
        out
    }

    fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'S' => Self::Start(body.to_owned()),
            b'W' => Self::Guard(u32::from_le_bytes(body.try_into().ok()?)),
            b'G' => Self::Go,
            b'T' => Self::Type(body.to_owned()),
            b'P' => {
                let (pid, rest) = body.split_first_chunk()?;
                let (start_time, rest) = rest.split_first_chunk()?;
                Self::Started(Started {
                    pid: u32::from_le_bytes(*pid),
                    start_time: u64::from_le_bytes(*start_time),
                    pty: rest.first() == Some(&1),
                })
            }
            b'O' => Self::Output(body.to_owned()),
            b'H' => Self::History(body.to_owned()),
            b'X' => Self::Exited(i32::from_le_bytes(body.try_into().ok()?)),
            b'F' => Self::Failed(String::from_utf8_lossy(body).into_owned()),
            _ => return None,
        })
    }
}

/// Puts frames together from bytes as they arrive.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: VecDeque<u8>,
}

impl FrameReader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Frame>> {
        let nonsense = || io::Error::other("malformed frame");
        let bytes = self.bytes.make_contiguous();
        let Some((&kind, rest)) = bytes.split_first() else {
            return Ok(None);
        };
        let Some((length, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LARGEST {
            return Err(nonsense());
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = Frame::decode(kind, body).ok_or_else(nonsense)?;
        self.bytes.drain(..length + 5);
        Ok(Some(frame))
    }
}

/// What a supervisor is told to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartSpec {
    pub(crate) id: String,
    pub(crate) directory: PathBuf,
    pub(crate) shell: PathBuf,
    pub(crate) kind: ShellKind,
    pub(crate) cwd: PathBuf,
    pub(crate) pty: bool,
    /// What confines it, as a sandbox request; empty for
    /// nothing.
    pub(crate) sandbox: Vec<u8>,
    pub(crate) script: Vec<u8>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl StartSpec {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut fields: Vec<&[u8]> = vec![
            self.id.as_bytes(),
            self.directory.as_os_str().as_bytes(),
            self.shell.as_os_str().as_bytes(),
            if self.kind == ShellKind::Bash {
                b"bash"
            } else {
                b"posix"
            },
            self.cwd.as_os_str().as_bytes(),
            if self.pty { b"pty" } else { b"pipe" },
            &self.sandbox,
            &self.script,
        ];
        for (name, value) in &self.variables {
            fields.extend([name.as_bytes(), value.as_bytes()]);
        }
        let mut out = Vec::new();
        for field in fields {
            out.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend_from_slice(field);
        }
        out
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut next = || {
            let (length, rest) = bytes.split_first_chunk()?;
            let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            bytes = rest;
            Some(field.to_owned())
        };
        let mut spec = Self {
            id: String::from_utf8(next()?).ok()?,
            directory: OsString::from_vec(next()?).into(),
            shell: OsString::from_vec(next()?).into(),
            kind: if next()? == b"bash" {
                ShellKind::Bash
            } else {
                ShellKind::Posix
            },
            cwd: OsString::from_vec(next()?).into(),
            pty: next()? == b"pty",
            sandbox: next()?,
            script: next()?,
            variables: Vec::new(),
        };
        while let Some(name) = next() {
            let value = next()?;
            spec.variables
                .push((OsString::from_vec(name), OsString::from_vec(value)));
        }
        Some(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::Start(vec![1, 2]),
            Frame::Guard(7),
            Frame::Go,
            Frame::Type(b"x\n".to_vec()),
            Frame::Started(Started {
                pid: 7,
                start_time: u64::MAX,
                pty: true,
            }),
            Frame::Output(Vec::new()),
            Frame::History(vec![9]),
            Frame::Exited(-9),
            Frame::Failed("nö".into()),
        ]
    }

    #[test]
    fn frames_arrive_however_they_are_cut() {
        let bytes: Vec<u8> = frames().iter().flat_map(Frame::encode).collect();
        for size in [1, 3, 1000] {
            let mut reader = FrameReader::default();
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                reader.push(piece);
                while let Some(frame) = reader.next().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, frames());
        }
    }

    #[test]
    fn a_spec_comes_back_with_odd_bytes() {
        let spec = StartSpec {
            id: "proc_1".into(),
            directory: "/d".into(),
            shell: "/bin/bash".into(),
            kind: ShellKind::Bash,
            cwd: "/a b".into(),
            pty: true,
            sandbox: b"on\0w/a".to_vec(),
            script: b"a\0b".to_vec(),
            variables: vec![
                ("A".into(), OsString::from_vec(vec![255, b'='])),
                ("B".into(), "".into()),
            ],
        };
        assert_eq!(StartSpec::decode(&spec.encode()), Some(spec));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next() {}
            drop(StartSpec::decode(&bytes));
        }
    }
}
