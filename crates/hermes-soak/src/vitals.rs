//! Memory, descriptors and threads of a process, and how they grow.

use std::fmt;
use std::time::Duration;

/// Bytes that the allocator reserves for a pool.
const POOL: u64 = 64 << 20;

/// What a process takes at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vitals {
    /// Resident memory.
    pub kilobytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Pools of memory that the allocator has made for threads beside the first.
    pub pools: u64,
}

impl Vitals {
    /// Of a process; `None` if it has ended.
    pub fn of(pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|rest| rest.split_whitespace().next());
            word.and_then(|word| word.parse().ok()).unwrap_or_default()
        };
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        Some(Self {
            kilobytes: number("VmRSS:"),
            descriptors: open as u64,
            threads: number("Threads:"),
            pools: pools(&maps),
        })
    }

    /// Resident memory.
    pub fn megabytes(self) -> f64 {
        self.kilobytes as f64 / 1024.0
    }
}

impl fmt::Display for Vitals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.1} MB, {} descriptors, {} threads",
            self.megabytes(),
            self.descriptors,
            self.threads
        )
    }
}

/// The pools in a list of mappings: the allocator of glibc reserves each at a multiple of its size and
/// makes the beginning writable, as much as is needed. What is reserved behind it may look like a part.
fn pools(maps: &str) -> u64 {
    let lines: Vec<(u64, u64, &str)> = maps.lines().filter_map(mapping).collect();
    let pools = lines.windows(2).filter(|pair| {
        let [(begin, end, access), (next, last, next_access)] = pair else {
            return false;
        };
        begin % POOL == 0
            && (*access, *next_access) == ("rw-p", "---p")
            && end == next
            && last - begin >= POOL
    });
    pools.count() as u64
}

/// Begin, end and access of one mapping.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split_whitespace();
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(begin)?, number(end)?, words.next()?))
}

/// The straight line through samples of one number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Trend {
    /// The mean.
    pub mean: f64,
    /// Growth per minute.
    pub per_minute: f64,
}

impl Trend {
    /// The line of least squares through samples, each with its time.
    pub fn through(samples: &[(Duration, f64)]) -> Self {
        if samples.is_empty() {
            return Self::default();
        }
        let count = samples.len() as f64;
        let minutes = |at: &Duration| at.as_secs_f64() / 60.0;
        let mean_time = samples.iter().map(|(at, _)| minutes(at)).sum::<f64>() / count;
        let mean = samples.iter().map(|(_, value)| value).sum::<f64>() / count;
        let spread: f64 = samples
            .iter()
            .map(|(at, _)| (minutes(at) - mean_time).powi(2))
            .sum();
        let together: f64 = samples
            .iter()
            .map(|(at, value)| (minutes(at) - mean_time) * (value - mean))
            .sum();
        let per_minute = if spread > 0.0 { together / spread } else { 0.0 };
        Self { mean, per_minute }
    }

    /// Growth per minute as a share of the mean.
    pub fn share(self) -> f64 {
        if self.mean > 0.0 {
            self.per_minute / self.mean
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(value: impl Fn(f64) -> f64) -> Vec<(Duration, f64)> {
        let seconds = (0..120).map(Duration::from_secs);
        seconds.map(|at| (at, value(at.as_secs_f64()))).collect()
    }

    #[test]
    fn a_leak_is_a_slope_and_noise_is_none() {
        let leak = Trend::through(&samples(|second| 100.0 + second / 60.0));
        assert!((leak.per_minute - 1.0).abs() < 1e-9, "{leak:?}");
        let noise = Trend::through(&samples(|second| 100.0 + (second * 7.0) % 3.0));
        assert!(noise.share().abs() < 0.005, "{noise:?}");
        assert_eq!(Trend::through(&[]), Trend::default());
    }

    #[test]
    fn pools_are_told_from_other_mappings() {
        let maps = "\
55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0 [heap]
7f2c84000000-7f2c84a21000 rw-p 00000000 00:00 0
7f2c84a21000-7f2c88000000 ---p 00000000 00:00 0
7f2c88000000-7f2c88021000 rw-p 00000000 00:00 0
7f2c8c000000-7f2c8c001000 ---p 00000000 00:00 0
";
        assert_eq!(pools(maps), 1);
    }

    #[test]
    fn the_own_process_has_vitals() {
        let own = Vitals::of(std::process::id()).unwrap();
        assert!(own.kilobytes > 0 && own.descriptors > 2 && own.threads > 0);
        assert_eq!(Vitals::of(u32::MAX), None);
    }
}
