//! The machine's zone, read from the one file that describes it.
//!
//! The zone directory is never listed: that takes longer than the commands that want to know the
//! time.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Where the machine's own zone stands.
const LOCAL: &str = "/etc/localtime";
/// Where zones are kept; the first directory that knows a name wins.
const DIRECTORIES: [&str; 3] = [
    "/usr/share/zoneinfo",
    "/usr/share/lib/zoneinfo",
    "/etc/zoneinfo",
];
/// The largest description of a zone has some 4,000 bytes.
const LARGEST: u64 = 256 * 1024;

/// The machine's zone; UTC where nothing says which.
pub fn local() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(|| zone_of(variable("TZ").as_deref(), Path::new(LOCAL)));
    zone.clone()
}

/// The time, in the machine's zone.
pub fn now() -> Zoned {
    Timestamp::now().to_zoned(local())
}

/// Seconds since 1970 of a time of the machine's zone, written as `2026-11-05 13:45:10`.
pub fn local_seconds(written: &str) -> Option<f64> {
    let time: jiff::civil::DateTime = written.parse().ok()?;
    let moment = time.to_zoned(local()).ok()?.timestamp();
    Some(moment.as_duration().as_secs_f64())
}

/// The zone of this name, such as `Europe/Berlin`; nothing if the machine does not know it.
pub fn named(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") {
        return Some(TimeZone::UTC);
    }
    let stays_inside = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !stays_inside {
        return None;
    }
    let own = variable("TZDIR").map(PathBuf::from);
    let kept = DIRECTORIES.iter().map(PathBuf::from);
    let mut directories = own.into_iter().chain(kept);
    directories.find_map(|directory| described(name, &directory.join(name)))
}

fn zone_of(variable: Option<&str>, local: &Path) -> TimeZone {
    let Some(value) = variable else {
        return described("Local", local).unwrap_or(TimeZone::UTC);
    };
    let value = value.strip_prefix(':').unwrap_or(value);
    let zone = if Path::new(value).is_absolute() {
        described(value, Path::new(value))
    } else {
        named(value).or_else(|| TimeZone::posix(value).ok())
    };
    // As the C library takes a value that names no zone.
    zone.unwrap_or(TimeZone::UTC)
}

fn described(name: &str, path: &Path) -> Option<TimeZone> {
    TimeZone::tzif(name, &small_file(path)?).ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "time zones come from the system; an unreadable one is ignored"
)]
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    std::fs::read(path).ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "variables of the C library, not settings of this program"
)]
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(OsStr::to_string_lossy(&value).into_owned())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Midnight of 2027-01-01 and of 2027-07-01, UTC, as hours in that zone.
    fn hours(zone: &TimeZone) -> (i8, i8) {
        let hour = |second| {
            let moment = Timestamp::from_second(second).unwrap();
            moment.to_zoned(zone.clone()).hour()
        };
        (hour(1_798_761_600), hour(1_814_400_000))
    }

    #[test]
    fn the_variable_is_a_name_a_rule_or_a_file() {
        let nowhere = Path::new("/nonexistent");
        for (value, expected) in [
            ("UTC", (0, 0)),
            ("CET-1CEST,M3.5.0,M10.5.0/3", (1, 2)),
            (":EST5", (19, 19)),
            ("no such zone", (0, 0)),
            ("../../etc/passwd", (0, 0)),
            ("/etc/passwd", (0, 0)),
            ("", (0, 0)),
        ] {
            assert_eq!(hours(&zone_of(Some(value), nowhere)), expected, "{value}");
        }
    }

    #[test]
    fn without_the_variable_the_machines_file_counts() {
        assert_eq!(hours(&zone_of(None, Path::new("/nonexistent"))), (0, 0));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("localtime");
        std::fs::write(&file, six_hours_east()).unwrap();
        assert_eq!(hours(&zone_of(None, &file)), (6, 6));
        let named = file.to_str().unwrap();
        assert_eq!(
            hours(&zone_of(Some(named), Path::new("/nonexistent"))),
            (6, 6)
        );
        std::fs::write(&file, "no zone").unwrap();
        assert_eq!(hours(&zone_of(None, &file)), (0, 0));
    }

    #[test]
    fn names_stay_in_the_directory() {
        assert!(named("utc").is_some());
        for bad in ["", "../passwd", "/etc/localtime", "Nowhere/Town", "."] {
            assert!(named(bad).is_none(), "{bad}");
        }
    }

    /// A description of one fixed zone, second version.
    fn six_hours_east() -> Vec<u8> {
        let block = |version: u8| {
            let mut block = b"TZif".to_vec();
            block.push(version);
            block.extend([0; 15]);
            for count in [0_u32, 0, 0, 0, 1, 4] {
                block.extend(count.to_be_bytes());
            }
            block.extend(21_600_i32.to_be_bytes());
            block.extend([0, 0]);
            block.extend(b"EST\0");
            block
        };
        let mut whole = block(b'2');
        whole.extend(block(b'2'));
        whole.extend(b"\nEST-6\n");
        whole
    }
}
