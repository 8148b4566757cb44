//! What Linux tells about processes, from `/proc`.
//!
//! The only file that knows this operating system; another one gets a sibling with the same
//! functions. Everything may vanish while it is read, so every answer is optional.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// More than the kernel lets arguments and environment have by default.
const ARGUMENTS_LIMIT: u64 = 8 * 1024 * 1024;
/// One line of numbers.
const STAT_LIMIT: u64 = 64 * 1024;

/// The parts of `/proc/<pid>/stat` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// State letter: `R`, `S`, `Z`, …
    pub(crate) state: u8,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) threads: u32,
    /// Clock ticks from boot to start.
    pub(crate) start_time: u64,
}

impl Stat {
    /// Zombie (`Z`) or about to vanish (`X`). As long as it has another thread it holds locks and
    /// can still write, though its first thread looks like a zombie.
    pub(crate) fn has_ended(self) -> bool {
        self.is_dead() && self.threads <= 1
    }

    /// The same of the first thread alone.
    fn is_dead(self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    let mut stat = parse_stat(&read(pid, "stat", STAT_LIMIT)?)?;
    // A debugger keeps the threads of a process that was killed until it has looked at them.
    if stat.is_dead() && stat.threads > 1 && !has_live_thread(pid) {
        stat.threads = 1;
    }
    Some(stat)
}

fn has_live_thread(pid: u32) -> bool {
    // A list that cannot be read counts as one that has somebody in it.
    let Ok(threads) = hermes_fs::read_dir(&directory(pid).join("task")) else {
        return true;
    };
    threads.iter().any(|thread| {
        let line = hermes_fs::read_capped(&thread.path.join("stat"), STAT_LIMIT).ok();
        let stat = line.and_then(|line| parse_stat(&line));
        stat.is_some_and(|stat| !stat.is_dead())
    })
}

pub(crate) fn boot_id() -> Option<String> {
    let text =
        hermes_fs::read_text_capped(Path::new("/proc/sys/kernel/random/boot_id"), 128).ok()?;
    Some(text.trim().to_owned())
}

/// Time since the machine started, sleep included.
pub(crate) fn uptime() -> Option<Duration> {
    let text = hermes_fs::read_text_capped(Path::new("/proc/uptime"), 128).ok()?;
    let seconds: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The name of a process, which it can change.
pub(crate) fn name(pid: u32) -> Option<String> {
    let name = String::from_utf8(read(pid, "comm", STAT_LIMIT)?).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// The argument vector of a process. `None` if it is gone or shows none (zombies, kernel threads).
pub fn command_line(pid: u32) -> Option<Vec<OsString>> {
    let bytes = read(pid, "cmdline", ARGUMENTS_LIMIT)?;
    let arguments: Vec<_> = split_at_nul(&bytes).map(OsStr::to_owned).collect();
    (!arguments.is_empty()).then_some(arguments)
}

/// The environment a process was started with. `None` if it is gone or belongs to someone else.
pub fn environment(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    let bytes = read(pid, "environ", ARGUMENTS_LIMIT)?;
    let pairs = split_at_nul(&bytes).filter_map(|entry| {
        let mut halves = entry.as_bytes().splitn(2, |byte| *byte == b'=');
        let name = OsString::from_vec(halves.next()?.to_owned());
        let value = OsString::from_vec(halves.next()?.to_owned());
        Some((name, value))
    });
    Some(pairs.collect())
}

/// Whether a process has left its old program and not reached the new one yet: it has memory, which
/// threads of the kernel have not, and no arguments, which every program has.
pub(crate) fn is_becoming_another(pid: u32) -> bool {
    read(pid, "environ", ARGUMENTS_LIMIT).is_some_and(|bytes| bytes.is_empty())
        && read(pid, "cmdline", ARGUMENTS_LIMIT).is_some_and(|bytes| bytes.is_empty())
}

/// The process that a thread belongs to.
pub(crate) fn process_of_thread(thread: u32) -> Option<u32> {
    status_field(thread, "Tgid:")?.trim().parse().ok()
}

/// Under which users a process runs: the real one, the effective one and those it may become again.
pub(crate) fn users(pid: u32) -> Option<Vec<u32>> {
    let users = status_field(pid, "Uid:")?;
    let users = users.split_ascii_whitespace().map(str::parse);
    users.collect::<Result<_, _>>().ok()
}

/// In how many process spaces a process is, the outermost that we see included.
pub(crate) fn space_depth(pid: u32) -> Option<usize> {
    let pids = status_field(pid, "NSpid:")?;
    Some(pids.split_ascii_whitespace().count())
}

fn status_field(pid: u32, name: &str) -> Option<String> {
    let status = read(pid, "status", STAT_LIMIT)?;
    let status = String::from_utf8_lossy(&status);
    let mut lines = status.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.to_owned()))
}

/// The hard limit of this name, if there is such a one.
pub(crate) fn limit(pid: u32, name: &str) -> Option<u64> {
    let limits = read(pid, "limits", STAT_LIMIT)?;
    let limits = String::from_utf8_lossy(&limits);
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix(name))?;
    match values.split_ascii_whitespace().nth(1)? {
        "unlimited" => Some(libc::RLIM_INFINITY),
        value => value.parse().ok(),
    }
}

/// All processes of a user, by effective uid, in ascending order.
pub fn pids_of_user(uid: u32) -> Vec<u32> {
    let mut pids = pids();
    pids.retain(|pid| {
        hermes_fs::symlink_metadata(&directory(*pid)).is_ok_and(|meta| meta.uid() == uid)
    });
    pids
}

/// All processes, in ascending order.
pub(crate) fn pids() -> Vec<u32> {
    // A machine without `/proc` shows no processes; callers treat that as "none found".
    let entries = hermes_fs::read_dir(Path::new("/proc")).unwrap_or_default();
    let mut pids: Vec<u32> = entries
        .iter()
        .filter_map(|entry| entry.name.to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids
}

fn directory(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn read(pid: u32, file: &str, limit: u64) -> Option<Vec<u8>> {
    // Gone, hidden or foreign: to callers all three mean that nothing is known.
    hermes_fs::read_capped(&directory(pid).join(file), limit).ok()
}

fn split_at_nul(bytes: &[u8]) -> impl Iterator<Item = &OsStr> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let parts = (!bytes.is_empty()).then(|| bytes.split(|byte| *byte == 0));
    parts.into_iter().flatten().map(OsStr::from_bytes)
}

/// The process name stands in parentheses and may hold anything, spaces and parentheses included:
/// fields count from the last closing one.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // State is field 3 and the session field 6, so field 20 is the fourteenth after it and field 22
    // the second after that.
    let threads = fields.nth(13)?.parse().ok()?;
    let start_time = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        group,
        session,
        threads,
        start_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> String {
        format!("42 ({name}) S 7 42 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3\n")
    }

    #[test]
    fn odd_process_names_do_not_shift_the_fields() {
        let expected = Some(Stat {
            state: b'S',
            parent: 7,
            group: 42,
            session: 41,
            threads: 1,
            start_time: 987_654,
        });
        for name in ["bash", "a b", ") R 1 2 3", "((", "x)\n(y"] {
            assert_eq!(parse_stat(line(name).as_bytes()), expected, "{name:?}");
        }
    }

    #[test]
    fn a_zombie_whose_threads_run_has_not_ended() {
        let zombie = |threads: u32| {
            let line = format!("42 (x) Z 7 42 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 9 1\n");
            parse_stat(line.as_bytes()).unwrap().has_ended()
        };
        assert!(zombie(0) && zombie(1) && !zombie(2));
        assert!(!parse_stat(line("x").as_bytes()).unwrap().has_ended());
    }

    #[test]
    fn a_short_or_foreign_line_is_no_answer() {
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b"42 (x) S 7"), None);
        assert_eq!(parse_stat(b"42 (x) \xff\xfe"), None);
    }

    #[test]
    fn arguments_keep_empty_ones_and_lose_the_last_nul_only() {
        let shown: Vec<_> = split_at_nul(b"a\0\0b\0").collect();
        assert_eq!(shown, ["a", "", "b"]);
        assert_eq!(split_at_nul(b"").count(), 0);
    }
}
