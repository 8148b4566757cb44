//! The grammar of a pinned requirement: a name, optional extras, and exactly one `==` version.
//!
//! The functions are `const`, so that the catalog is checked by the compiler and a bad entry fails the
//! build. Everything that an installer would read as an option, a path, an address or a range is
//! refused.

/// Longest requirement.
const MAX_LENGTH: usize = 200;
/// What installers take for a file in the current directory.
const ARCHIVES: [&str; 8] = [".whl", ".zip", ".tar", ".gz", ".bz2", ".xz", ".tgz", ".egg"];

/// Whether a text is an exactly pinned requirement.
pub(crate) const fn is_pinned(spec: &str) -> bool {
    let bytes = spec.as_bytes();
    if bytes.is_empty() || bytes.len() > MAX_LENGTH {
        return false;
    }
    let mut index = 0;
    while index < ARCHIVES.len() {
        if ends_with(bytes, ARCHIVES[index].as_bytes()) {
            return false;
        }
        index += 1;
    }
    let name = word_end(bytes, 0, false);
    if name == 0 {
        return false;
    }
    let extras = extras_end(bytes, name);
    if extras == 0 || extras + 2 > bytes.len() {
        return false;
    }
    if bytes[extras] != b'=' || bytes[extras + 1] != b'=' {
        return false;
    }
    let end = word_end(bytes, extras + 2, true);
    end == bytes.len()
}

/// The end of `[a,b]` at `at`, or `at` where there is none; 0 for one that is malformed.
const fn extras_end(bytes: &[u8], at: usize) -> usize {
    if at >= bytes.len() || bytes[at] != b'[' {
        return at;
    }
    let mut index = at + 1;
    loop {
        index = word_end(bytes, index, false);
        if index == 0 || index >= bytes.len() {
            return 0;
        }
        match bytes[index] {
            b']' => return index + 1,
            b',' => index += 1,
            _ => return 0,
        }
    }
}

/// The end of a name that starts at `start`, or of a version; 0 if there is none. Both begin and end
/// with a letter or a digit.
const fn word_end(bytes: &[u8], start: usize, is_version: bool) -> usize {
    let mut index = start;
    while index < bytes.len() {
        let byte = bytes[index];
        let inside =
            matches!(byte, b'.' | b'-' | b'_') || (is_version && matches!(byte, b'+' | b'!'));
        if !byte.is_ascii_alphanumeric() && !inside {
            break;
        }
        index += 1;
    }
    if index == start
        || !bytes[start].is_ascii_alphanumeric()
        || !bytes[index - 1].is_ascii_alphanumeric()
    {
        return 0;
    }
    index
}

const fn ends_with(bytes: &[u8], end: &[u8]) -> bool {
    if bytes.len() < end.len() {
        return false;
    }
    let offset = bytes.len() - end.len();
    let mut index = 0;
    while index < end.len() {
        if !bytes[offset + index].eq_ignore_ascii_case(&end[index]) {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_pinned;

    #[test]
    fn exact_pins_are_accepted() {
        for spec in [
            "isodate==0.7.2",
            "python-telegram-bot[webhooks]==22.6",
            "uvicorn[standard,http]==0.41.0",
            "discord.py[voice]==2.7.1",
            "a==1",
            "A_b-c.d==1!2.0.post1+local.1",
        ] {
            assert!(is_pinned(spec), "{spec}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("{}==1", "a".repeat(201));
        let refused = [
            "",
            long.as_str(),
            "pkg;python_version>'3'",
            "pkg==1;x",
            "pkg==1|x",
            "pkg==1&x",
            "pkg==`x`",
            "pkg==$x",
            "pkg==1\\",
            "pkg==1\n",
            "pkg==1\r",
            "pkg==1\t",
            "-r req.txt",
            "--index-url=https://evil",
            "./x",
            "/x==1",
            ".x==1",
            "git+https://host/x",
            "pkg @ https://host/x.whl",
            "pkg@1",
            "pkg>=1, <2",
            "pkg>=1",
            "pkg~=1.0",
            "pkg",
            "a/b==1",
            "pkg#x==1",
            "пкг==1",
            "pkg=1.0",
            "pkg==",
            "pkg-",
            "pkg-==1",
            "pkg>1>2",
            "pkg==1.*",
            "pkg==1==2",
            "pkg===1",
            "pkg[]==1",
            "pkg[a==1",
            "pkg[a,]==1",
            "foo-1.0-py3-none-any.whl",
            "foo.tar.gz",
            "foo==1.0.tar.gz",
            "foo==1.ZIP",
            "evil; rm -rf x",
            "../x",
        ];
        for spec in refused {
            assert!(!is_pinned(spec), "{spec:?}");
        }
    }
}
