//! What a script answered: fields of any bytes, each ended by a NUL, and what follows them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub(crate) struct ScriptAnswer {
    bytes: Vec<u8>,
    read: usize,
    host: String,
}

impl ScriptAnswer {
    pub(crate) fn new(bytes: Vec<u8>, host: String) -> Self {
        Self {
            bytes,
            read: 0,
            host,
        }
    }

    /// The next field; the error is a sentence.
    pub(crate) fn field(&mut self) -> Result<Vec<u8>, String> {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == 0) else {
            return Err(self.half());
        };
        let field = rest.get(..end).unwrap_or_default().to_vec();
        self.read += end + 1;
        Ok(field)
    }

    /// The next field as text.
    pub(crate) fn text(&mut self) -> Result<String, String> {
        let field = self.field()?;
        Ok(String::from_utf8_lossy(&field).into_owned())
    }

    /// The next field as an absolute path.
    pub(crate) fn path(&mut self) -> Result<PathBuf, String> {
        let path = tidied(Path::new(&OsString::from_vec(self.field()?)));
        if path.is_absolute() {
            Ok(path)
        } else {
            Err(format!("The shell of {} returned no path.", self.host))
        }
    }

    /// The next field as a number with blanks around it.
    pub(crate) fn number(&mut self) -> Result<u64, String> {
        let text = self.text()?;
        let number = text.trim().parse();
        number.map_err(|_| {
            format!(
                "The shell of {} returned {text:?} instead of a number.",
                self.host
            )
        })
    }

    /// The next bytes, as many as an earlier field said.
    pub(crate) fn take(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let taken = self.rest().get(..count).map(<[u8]>::to_vec);
        self.read = self.read.saturating_add(count);
        taken.ok_or_else(|| self.half())
    }

    /// What follows the fields.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.read..).unwrap_or_default()
    }

    /// What follows the fields, as fields; one without its end was cut off.
    pub(crate) fn paths(&mut self) -> Vec<PathBuf> {
        std::iter::from_fn(|| self.path().ok()).collect()
    }

    fn half(&self) -> String {
        format!("The shell of {} returned an incomplete answer.", self.host)
    }

    /// The sentence for an answer that is none.
    pub(crate) fn nonsense(&self) -> String {
        format!("The shell of {} returned an unexpected answer.", self.host)
    }

    /// The sentence for an answer that names a reason, or for one that makes no sense.
    pub(crate) fn refusal(&mut self, kind: &str, path: &Path, action: &str) -> String {
        let shown = path.display();
        match kind {
            "directory" => format!("{shown} is a directory."),
            "special" => format!("{shown} is not a regular file."),
            "missing" => format!("{shown} no longer exists."),
            "links" => format!("{shown} cannot be resolved: too many symbolic links"),
            "inside" => {
                format!("could not {action} {shown}: a part of the path is not a directory")
            }
            "denied" => format!("could not {action} {shown}: Permission denied"),
            "short" => format!(
                "could not {action} {shown}: the content arrived incomplete; the file is unchanged"
            ),
            "failed" => {
                let message = self.text().unwrap_or_default();
                format!("could not {action} {shown}: {}", reason(&message))
            }
            _ => self.nonsense(),
        }
    }
}

/// Why a program failed: what stands after the last colon of what it said.
fn reason(message: &str) -> &str {
    let last = message.trim().lines().last().unwrap_or_default();
    let reason = last.rsplit(": ").next().unwrap_or_default().trim();
    if reason.is_empty() {
        "no reason was given"
    } else {
        reason
    }
}

/// The path without `.` and doubled slashes, and with `..` gone where nothing is there yet to be
/// asked; scripts have followed it wherever something is.
fn tidied(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn half_an_answer_is_an_error() {
        let mut answer = ScriptAnswer::new(b"/a/./b/../c//d\0half".to_vec(), "x".to_owned());
        assert_eq!(answer.path().unwrap(), Path::new("/a/c/d"));
        assert_eq!(answer.rest(), b"half");
        assert!(answer.field().unwrap_err().contains("half an answer"));
    }

    #[test]
    fn reasons_are_short() {
        for (said, short) in [
            (
                "cat: write error: No space left on device\n",
                "No space left on device",
            ),
            (
                "sh: 3: cannot create /x: y: Permission denied",
                "Permission denied",
            ),
            ("", "no reason was given"),
            ("odd", "odd"),
        ] {
            assert_eq!(reason(said), short);
        }
    }
}
