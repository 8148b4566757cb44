//! A text file as edits see it: its text, and what must be the same when it is written back.

use std::path::Path;

/// Larger files are not edited in memory.
const MAX_EDITED_BYTES: u64 = 64 * 1024 * 1024;

/// A file read for editing. Line ends are `\n` in `text` whatever they are on disk.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) text: String,
    pub(super) bytes: Vec<u8>,
    crlf: bool,
    byte_order_mark: bool,
}

impl TextFile {
    /// Reads a file; the error is a sentence.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let meta = hermes_fs::metadata(path).map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err(format!("{} is not a regular file.", path.display()));
        }
        let bytes =
            hermes_fs::read_capped(path, MAX_EDITED_BYTES).map_err(|error| error.to_string())?;
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(format!(
                "{} is not UTF-8 text; editing it as text would damage it.",
                path.display()
            ));
        };
        if text.contains('\0') {
            return Err(format!("{} is a binary file.", path.display()));
        }
        let (byte_order_mark, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // Only a file that is consistent can be restored; a mixed one is edited as it is.
        let crlf = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
        let text = if crlf {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        };
        Ok(Self {
            text,
            bytes,
            crlf,
            byte_order_mark,
        })
    }

    /// The bytes of a new text in the form of this file.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        let mut out = String::with_capacity(text.len() + 3);
        if self.byte_order_mark {
            out.push('\u{feff}');
        }
        if self.crlf {
            out.push_str(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
        } else {
            out.push_str(text);
        }
        out.into_bytes()
    }
}

/// The mode of a new file under the umask of this process.
pub(super) fn new_file_mode() -> u32 {
    0o666 & !umask()
}

/// The mode of a new directory under the umask of this process.
pub(super) fn new_directory_mode() -> u32 {
    0o777 & !umask()
}

/// Read from the kernel: the system call can only ask by changing it, for all threads.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = hermes_fs::read_text_capped(Path::new("/proc/self/status"), 64 * 1024);
    let line = status.ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(line.trim(), 8).ok()
    });
    line.unwrap_or(USUAL)
}
