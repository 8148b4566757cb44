//! What a loop on the remote host says about itself when it begins.

use std::collections::BTreeMap;
use std::ffi::OsString;

use memchr::memmem;

use super::record::fields_of;
use crate::shell::ShellKind;
use crate::shell::report::parse_exports;

/// The shell of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) kind: ShellKind,
    /// Of bash; empty for others.
    pub(super) version: String,
    pub(super) pid: u32,
    /// Mask for new files, in octal digits.
    pub(super) umask: String,
    pub(super) exports: BTreeMap<OsString, OsString>,
}

/// Older ones cannot read an exact number of bytes.
const OLDEST_BASH: (u32, u32) = (4, 1);

impl Hello {
    /// Finds the greeting in what came; `None` if it is not complete yet. The first number is how
    /// many bytes came before it, the second how many it takes up.
    pub(super) fn find(bytes: &[u8], nonce: &str) -> Option<(Self, std::ops::Range<usize>)> {
        let (fields, range) = fields_of(bytes, nonce, "hello", 7)?;
        let [name, version, pid, _apart, umask, _home, exports] = fields.try_into().ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let hello = Self {
            kind: if name == b"bash" {
                ShellKind::Bash
            } else {
                ShellKind::Posix
            },
            version: text(version),
            pid: text(pid).parse().ok()?,
            umask: Some(text(umask))
                .filter(|mask| !mask.is_empty() && mask.bytes().all(|digit| digit.is_ascii_digit()))
                .unwrap_or_else(|| "022".to_owned()),
            exports: parse_exports(exports),
        };
        Some((hello, range))
    }

    /// Whether a greeting has come to its end, be it one that makes sense or not.
    pub(super) fn is_over(bytes: &[u8], nonce: &str) -> bool {
        memmem::find_iter(bytes, format!("\0{nonce}\0").as_bytes()).count() > 1
    }

    /// Whether the shell can do what is asked of it.
    pub(super) fn is_new_enough(&self) -> bool {
        if self.kind == ShellKind::Posix {
            return true;
        }
        let mut numbers = self.version.split('.').map_while(|part| part.parse().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        version >= OLDEST_BASH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn greeting(version: &str) -> Vec<u8> {
        format!(
            "Warning: noise\n\0nNONCE\0hello\0bash\0{version}\x0077\0session\x000022\n\0/root\0declare -x A=\"1\"\n\0nNONCE\0rest"
        )
        .into_bytes()
    }

    #[test]
    fn a_greeting_is_found_behind_noise_and_only_when_complete() {
        let bytes = greeting("5.2.15(1)-release");
        let (hello, range) = Hello::find(&bytes, "nNONCE").unwrap();
        assert_eq!(&bytes[..range.start], b"Warning: noise\n");
        assert_eq!(&bytes[range.end..], b"rest");
        assert_eq!(hello.pid, 77);
        assert_eq!(
            (hello.umask.as_str(), hello.is_new_enough()),
            ("0022", true)
        );
        assert_eq!(hello.exports, [("A".into(), "1".into())].into());
        for end in 0..range.end - 1 {
            assert_eq!(Hello::find(&bytes[..end], "nNONCE"), None, "{end}");
        }
        assert_eq!(Hello::find(&bytes, "nOTHER"), None);
    }

    #[test]
    fn a_greeting_that_was_interrupted_is_known_by_its_end() {
        let whole = greeting("5.2");
        assert!(Hello::is_over(&whole, "nNONCE"));
        assert!(!Hello::is_over(&whole[..whole.len() - 6], "nNONCE"));
        let text = String::from_utf8(whole).unwrap();
        let garbled = text.replace("session", "ses\0noise\0sion");
        assert_eq!(Hello::find(garbled.as_bytes(), "nNONCE"), None);
        assert!(Hello::is_over(garbled.as_bytes(), "nNONCE"));
    }

    #[test]
    fn an_old_bash_is_told_apart() {
        for (version, is_new) in [
            ("3.2.57(1)-release", false),
            ("4.0.1", false),
            ("4.1.2", true),
            ("", false),
        ] {
            let bytes = greeting(version);
            let (hello, _) = Hello::find(&bytes, "nNONCE").unwrap();
            assert_eq!(hello.is_new_enough(), is_new, "{version}");
        }
    }
}
