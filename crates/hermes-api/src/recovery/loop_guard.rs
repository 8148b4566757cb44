//! Starts that found interrupted runs, as the reference counts them (`gateway/restart_loop.json`). Too
//! many in a row mean that a run ends the gateway: then none goes on.

use std::path::Path;

use serde_json::{Value, json};

use super::decision::Limits;
use crate::clock::unix_time;

/// Largest file that is read.
const MOST: u64 = 64 << 10;

/// Counts this start; whether there were too many.
pub(super) fn is_tripped(home: &Path, limits: &Limits) -> bool {
    let path = home.join("gateway").join("restart_loop.json");
    let known = hermes_fs::read_optional(&path, MOST).ok().flatten();
    let known: Value = serde_json::from_slice(&known.unwrap_or_default()).unwrap_or_default();
    let boots = boots_with(&known, unix_time(), limits.window_seconds);
    let written = hermes_fs::create_dir_all(&home.join("gateway"), 0o700).and_then(|()| {
        let text = json!({"boots": boots}).to_string();
        hermes_fs::write_atomic(&path, text.as_bytes(), 0o600)
    });
    if let Err(error) = written {
        // Runs go on: a count that cannot be kept must not stop them.
        tracing::warn!(%error, "starts with interrupted runs are not counted");
    }
    let most = usize::try_from(limits.max_restarts).unwrap_or_default();
    most > 0 && boots.len() >= most
}

/// The starts within the window, with this one.
fn boots_with(known: &Value, now: f64, window: i64) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a setting")]
    let since = now - window.max(1) as f64;
    let known = known.get("boots").and_then(Value::as_array);
    let known = known.into_iter().flatten().filter_map(Value::as_f64);
    known
        .filter(|at| (since..=now).contains(at))
        .chain([now])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_starts_within_the_window_count() {
        let known = json!({"boots": [10.0, 95.0, 99.0, 200.0, "x"]});
        assert_eq!(boots_with(&known, 100.0, 60), [95.0, 99.0, 100.0]);
        assert_eq!(boots_with(&json!([]), 100.0, 0), [100.0]);
    }

    #[test]
    fn the_third_start_in_a_minute_trips_the_guard_unless_it_is_off() {
        let home = tempfile::tempdir().unwrap();
        let limits = Limits {
            freshness: None,
            max_restarts: 3,
            window_seconds: 60,
        };
        let starts: Vec<bool> = (0..3).map(|_| is_tripped(home.path(), &limits)).collect();
        assert_eq!(starts, [false, false, true]);
        let off = Limits {
            max_restarts: 0,
            ..limits
        };
        assert!(!is_tripped(home.path(), &off));
    }
}
