//! What runs on the other side of a transfer.
//!
//! Each script is one line for `sh`, because some login shells do not take quoted line ends, and uses
//! only what GNU, BSD and busybox tools share. It is handed over as one quoted word; names travel as
//! arguments or in the stream.

use super::archive_mark::MARK;
use super::error::{NO_TAR, NOTHING_THERE, TOO_LARGE};
use crate::client::command_line;

/// Where the stamp lies below `.hermes` there.
pub(super) const STAMP: &str = ".sync-stamp";
/// Parts of the archive that is sent.
pub(super) const FILES: &str = "files";
pub(super) const REMOVED: &str = "removed";
pub(super) const EMPTIED: &str = "emptied";
/// Comes last: an archive without it was cut off.
pub(super) const COMPLETE: &str = "stamp";
/// Name of a list of all files.
const PRESENT: &str = "present";
/// A hash and two spaces.
const HASH_COLUMNS: usize = 66;

/// Takes an archive from the input. It is unpacked beside its destination, and only when all of it
/// has arrived its files are moved in place, directory by directory; then what is gone is removed.
///
/// `find` takes only one `{}` per action, even inside quotes: hence the script in a variable.
pub(super) fn receive(base: &str, nonce: &str) -> String {
    let script = format!(
        "umask 077; base=$1; in=$base/.sync-in-$2; \
         trap 'rm -rf \"$in\"' 0; trap 'exit 1' 1 2 15; \
         command -v tar >/dev/null 2>&1 || exit {NO_TAR}; \
         mkdir -p \"$base\" && mkdir \"$in\" || exit 1; \
         find \"$base\" -maxdepth 1 -name '.sync-*-*' -mmin +60 -exec rm -rf {{}} + 2>/dev/null; \
         tar -x -o -f - -C \"$in\" || exit 1; \
         test -f \"$in/{COMPLETE}\" || {{ echo 'the archive was cut off' >&2; exit 1; }}; \
         m='mv -f -- \"$@\" \"$0\"'; \
         w='for d do mkdir -p -- \"$0/$d\" && \
         find \"$d\" -maxdepth 1 -type f -exec sh -c \"$m\" \"$0/$d\" {{}} +; done'; \
         export m w; \
         if test -d \"$in/{FILES}\"; then \
         cd \"$in/{FILES}\" || exit 1; \
         find . -type d -exec sh -c 'eval \"$w\"' \"$base\" {{}} +; \
         test -z \"$(find . -type f | head -n 1)\" || exit 1; \
         fi; \
         cd \"$base\" || exit 1; \
         if test -s \"$in/{REMOVED}\"; then xargs -0 rm -f -- <\"$in/{REMOVED}\" || exit 1; fi; \
         if test -s \"$in/{EMPTIED}\"; then \
         xargs -0 rmdir -- <\"$in/{EMPTIED}\" >/dev/null 2>&1; fi; \
         mv -f \"$in/{COMPLETE}\" \"$base/{STAMP}\""
    );
    command_line(&["sh", "-c", &script, "sh", base, nonce])
}

/// Sends an archive of the stamp and of the files in these directories below `base`, if that is not
/// more than `limit` bytes.
///
/// Where the tools there can, the other side compares: it reads a sorted list of hashes and names from
/// its input and leaves out files that are on it, and the list of all files there goes along under
/// the name that [`listing`] gives. Otherwise all files are sent.
pub(super) fn send(base: &str, nonce: &str, directories: &[&str], limit: u64) -> String {
    let kilobytes = limit / 1024;
    let check = format!(
        "| awk '{{ s += $1 }} END {{ print s + 0 }}'); \
         if test \"${{s:-0}}\" -gt {kilobytes}; then exit {TOO_LARGE}; fi; echo {MARK}"
    );
    let script = format!(
        "cd \"$1\" 2>/dev/null || exit {NOTHING_THERE}; t=$2; shift; shift; \
         command -v tar >/dev/null 2>&1 || exit {NO_TAR}; \
         test -f {STAMP} || exit {NOTHING_THERE}; \
         l=; for n do if test -d \"$n\"; then l=\"$l $n/.\"; fi; done; \
         h=; if command -v sha256sum >/dev/null 2>&1; then h=sha256sum; \
         elif command -v shasum >/dev/null 2>&1; then h='shasum -a 256'; fi; \
         for c in awk comm cut find grep sort tr xargs; do \
         command -v $c >/dev/null 2>&1 || h=; done; \
         COPYFILE_DISABLE=1; export COPYFILE_DISABLE; umask 077; \
         trap 'rm -rf \"$t\"' 0; trap 'exit 1' 1 2 15; \
         c=; if test -n \"$h\" && test -n \"$l\" && mkdir \"$t\" 2>/dev/null && \
         cat >\"$t/known\" && echo {STAMP} >\"$t/one\" && \
         tar -c -f /dev/null -T \"$t/one\" >/dev/null 2>&1; then \
         find $l -type f -exec $h {{}} + | grep '^[0-9a-f]' | LC_ALL=C sort >\"$t/{PRESENT}\" && \
         LC_ALL=C comm -13 \"$t/known\" \"$t/{PRESENT}\" | \
         LC_ALL=C cut -b 67- >\"$t/changed\" && c=1; fi; \
         if test -n \"$c\"; then \
         s=$(if test -s \"$t/changed\"; then \
         tr '\\n' '\\0' <\"$t/changed\" | xargs -0 du -k 2>/dev/null; fi {check}; \
         tar -c -f - {STAMP} \"$t/{PRESENT}\" -T \"$t/changed\"; \
         else s=$(du -sk {STAMP} $l 2>/dev/null {check}; tar -c -f - {STAMP} $l; fi"
    );
    let directory = listing_directory(nonce);
    let argv = ["sh", "-c", &script, "sh", base, &directory];
    let argv: Vec<&str> = argv.iter().chain(directories).copied().collect();
    command_line(&argv)
}

/// Where the list of all files lies in such an archive.
pub(super) fn listing(nonce: &str) -> String {
    format!("{}/{PRESENT}", listing_directory(nonce))
}

fn listing_directory(nonce: &str) -> String {
    format!(".sync-out-{nonce}")
}

/// A line of such lists: what `sha256sum` prints for a file found in a directory.
pub(super) fn listed_as(hash: &str, directory: &str, inside: &str) -> String {
    format!("{hash}  {directory}/./{inside}\n")
}

/// The name in such a line.
pub(super) fn name_in(line: &[u8]) -> Option<&[u8]> {
    line.get(HASH_COLUMNS..).filter(|name| !name.is_empty())
}

/// Prints the stamp, if there is one.
pub(super) fn show_stamp(base: &str) -> String {
    command_line(&["cat", &format!("{base}/{STAMP}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_are_written_as_they_are_read() {
        let line = listed_as(&"0".repeat(64), "cache/web", "a b.html");
        assert_eq!(
            name_in(line.trim_end().as_bytes()),
            Some(&b"cache/web/./a b.html"[..])
        );
        assert_eq!(name_in(b"short"), None);
    }

    #[test]
    fn every_script_is_one_line_without_history_marks() {
        // csh takes neither in quotes.
        for line in [
            receive("/root/.hermes", "x"),
            send("/root/.hermes", "x", &["skills"], 1),
            show_stamp("/root/.hermes"),
        ] {
            assert!(!line.contains(['\n', '!']), "{line}");
        }
    }
}
