//! How the machine is doing: memory, load, disk. What cannot be found out is left out.

use std::path::Path;

use serde_json::{Value, json};

use crate::call::{Answered, Call};

/// Largest file of `/proc` that is read.
const MOST: u64 = 64 << 10;

/// `GET /api/system/stats`.
pub(crate) fn stats(call: &Call) -> Answered {
    let context = call.context();
    let mut answer = json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "platform": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "hostname": text("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()),
        "hermes_version": env!("CARGO_PKG_VERSION"),
        "cpu_count": std::thread::available_parallelism().ok().map(usize::from),
    });
    if let Some(memory) = text("/proc/meminfo").as_deref().and_then(memory) {
        answer["memory"] = memory;
    }
    if let Some(disk) = hermes_fs::disk_space(&context.location.home) {
        let used = disk.total.saturating_sub(disk.free);
        answer["disk"] = json!({
            "total": disk.total, "used": used, "free": disk.free,
            "percent": percent(used, disk.total),
        });
    }
    if let Some(load) = text("/proc/loadavg") {
        let numbers = load.split(' ').take(3).map(str::parse::<f64>);
        answer["load_avg"] = json!(numbers.filter_map(Result::ok).collect::<Vec<_>>());
    }
    if let Some(up) = text("/proc/uptime") {
        let whole = up.split(['.', ' ']).next().unwrap_or_default();
        answer["uptime_seconds"] = json!(whole.parse::<i64>().ok());
    }
    let resident = text("/proc/self/status")
        .as_deref()
        .and_then(|text| kilobytes(text, "VmRSS:"));
    answer["process"] = json!({"pid": std::process::id(), "rss": resident});
    call.answer(answer)
}

fn text(path: &str) -> Option<String> {
    hermes_fs::read_text_capped(Path::new(path), MOST).ok()
}

/// A line of a file of `/proc`, which counts in units of 1024 bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(number << 10)
}

fn memory(text: &str) -> Option<Value> {
    let total = kilobytes(text, "MemTotal:")?;
    let available = kilobytes(text, "MemAvailable:")?;
    let used = total.saturating_sub(available);
    Some(json!({
        "total": total, "available": available, "used": used, "percent": percent(used, total),
    }))
}

/// With one digit.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 1_000.0 / whole.max(1) as f64).round() / 10.0
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn memory_is_what_programs_can_have() {
        let text = "MemTotal:        1000 kB\nMemFree:  10 kB\nMemAvailable:    250 kB\n";
        let expected = json!({
            "total": 1_024_000, "available": 256_000, "used": 768_000, "percent": 75.0,
        });
        assert_eq!(memory(text), Some(expected));
        assert_eq!(memory("nothing"), None);
    }
}
