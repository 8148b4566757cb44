//! What runs on the other side of a transfer.
//!
//! Each script is one line for `sh`, because some login shells do not take quoted line ends, and uses
//! only what GNU, BSD and busybox tools share. It is handed over as one quoted word; names travel as
//! arguments or in the stream.

use super::archive_mark::MARK;
use super::error::{NO_TAR, NOTHING_THERE, TOO_LARGE};
use crate::ssh::client::command_line;

/// Where the stamp lies below `.hermes` there.
pub(super) const STAMP: &str = ".sync-stamp";
/// Parts of the archive that is sent.
pub(super) const FILES: &str = "files";
pub(super) const REMOVED: &str = "removed";
pub(super) const EMPTIED: &str = "emptied";
/// Comes last: an archive without it was cut off.
pub(super) const COMPLETE: &str = "stamp";

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
         find \"$base\" -maxdepth 1 -name '.sync-in-*' -mmin +60 -exec rm -rf {{}} + 2>/dev/null; \
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

/// Sends an archive of the stamp and of these directories below `base`, as far as they are there, if
/// they are not larger than `limit` bytes.
pub(super) fn send(base: &str, directories: &[&str], limit: u64) -> String {
    let kilobytes = limit / 1024;
    let script = format!(
        "cd \"$1\" 2>/dev/null || exit {NOTHING_THERE}; shift; \
         command -v tar >/dev/null 2>&1 || exit {NO_TAR}; \
         l=; if test -f {STAMP}; then l={STAMP}; fi; \
         for n do if test -d \"$n\"; then l=\"$l $n/.\"; fi; done; \
         if test -z \"$l\"; then exit {NOTHING_THERE}; fi; \
         s=$(du -sk $l 2>/dev/null | awk '{{ s += $1 }} END {{ print s + 0 }}'); \
         if test \"${{s:-0}}\" -gt {kilobytes}; then exit {TOO_LARGE}; fi; \
         echo {MARK}; COPYFILE_DISABLE=1; export COPYFILE_DISABLE; exec tar -c -f - $l"
    );
    let argv = ["sh", "-c", &script, "sh", base];
    let argv: Vec<&str> = argv.iter().chain(directories).copied().collect();
    command_line(&argv)
}

/// Prints the stamp, if there is one.
pub(super) fn show_stamp(base: &str) -> String {
    command_line(&["cat", &format!("{base}/{STAMP}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_one_line_without_history_marks() {
        // csh takes neither in quotes.
        for line in [
            receive("/root/.hermes", "x"),
            send("/root/.hermes", &["skills"], 1),
            show_stamp("/root/.hermes"),
        ] {
            assert!(!line.contains(['\n', '!']), "{line}");
        }
    }
}
