//! Decides which calls of one answer may run in parallel. Pure.

use std::path::PathBuf;

use hermes_tools::ToolReach;
use serde_json::Value;

/// What a call can touch.
pub(crate) struct CallReach<'a> {
    /// The reach of its tool.
    pub(crate) reach: ToolReach,
    /// Its arguments.
    pub(crate) arguments: &'a Value,
}

/// Consecutive calls, as positions in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// A single call.
    Alone(usize),
    /// At least two calls that may run in parallel.
    Together(Vec<usize>),
}

impl Segment {
    /// The positions.
    pub(crate) fn calls(&self) -> &[usize] {
        match self {
            Self::Alone(one) => std::slice::from_ref(one),
            Self::Together(calls) => calls,
        }
    }
}

/// Splits calls into segments that run one after the other. `real` resolves a path without links, if
/// possible.
pub(crate) fn segments(
    calls: &[CallReach<'_>],
    real: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut run: Vec<(usize, CallScope)> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        match scope_of(call, real) {
            Some(scope) if run.iter().all(|(_, other)| scope.is_independent_of(other)) => {
                run.push((index, scope));
            }
            Some(scope) => {
                close(&mut run, &mut segments);
                run.push((index, scope));
            }
            None => {
                close(&mut run, &mut segments);
                segments.push(Segment::Alone(index));
            }
        }
    }
    close(&mut run, &mut segments);
    segments
}

fn close(run: &mut Vec<(usize, CallScope)>, segments: &mut Vec<Segment>) {
    let calls: Vec<usize> = run.drain(..).map(|(index, _)| index).collect();
    match calls.as_slice() {
        [] => {}
        [one] => segments.push(Segment::Alone(*one)),
        _ => segments.push(Segment::Together(calls)),
    }
}

/// What a call touches.
#[derive(Debug)]
enum CallScope {
    /// Reads anything.
    Looks,
    /// Reads this path.
    Reads(PathBuf),
    /// Changes this path.
    Changes(PathBuf),
}

impl CallScope {
    fn is_independent_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Looks | Self::Reads(_), Self::Looks | Self::Reads(_)) => true,
            // A search may read a file that is being written.
            (Self::Looks, Self::Changes(_)) | (Self::Changes(_), Self::Looks) => false,
            (Self::Changes(one), Self::Reads(two) | Self::Changes(two))
            | (Self::Reads(one), Self::Changes(two)) => {
                !one.starts_with(two) && !two.starts_with(one)
            }
        }
    }
}

/// What a call touches; `None` if it must run alone.
fn scope_of(call: &CallReach<'_>, real: &dyn Fn(&str) -> Option<PathBuf>) -> Option<CallScope> {
    let text = |name: &str| {
        let text = call.arguments.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    match call.reach {
        ToolReach::ReadOnly => Some(CallScope::Looks),
        // An unknown file is still only read.
        ToolReach::ReadsPath => {
            Some(real(text("path")?).map_or(CallScope::Looks, CallScope::Reads))
        }
        // A patch names its files itself.
        ToolReach::ChangesPath if text("mode").is_some_and(|mode| mode.trim() != "replace") => None,
        ToolReach::ChangesPath => Some(CallScope::Changes(real(text("path")?)?)),
        ToolReach::Anything => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn planned(calls: &[(&str, Value)]) -> Vec<Segment> {
        let calls: Vec<CallReach<'_>> = calls
            .iter()
            .map(|(name, arguments)| CallReach {
                reach: match *name {
                    "read_file" => ToolReach::ReadsPath,
                    "write_file" | "patch" => ToolReach::ChangesPath,
                    "search_files" | "web_search" => ToolReach::ReadOnly,
                    _ => ToolReach::Anything,
                },
                arguments,
            })
            .collect();
        segments(&calls, &|path| match path {
            "unknown" => None,
            "link" => Some(PathBuf::from("/w/a")),
            path => Some(Path::new("/w").join(path)),
        })
    }

    fn file(name: &'static str, path: &str) -> (&'static str, Value) {
        (name, json!({"path": path}))
    }

    #[test]
    fn reads_run_in_parallel_and_everything_else_alone() {
        assert_eq!(
            planned(&[
                file("read_file", "a"),
                file("read_file", "b"),
                ("search_files", json!({"pattern": "x"})),
                ("terminal", json!({"command": "true"})),
                file("read_file", "c"),
                ("clarify", json!({})),
                file("read_file", "d"),
                ("web_search", json!({})),
            ]),
            [
                Segment::Together(vec![0, 1, 2]),
                Segment::Alone(3),
                Segment::Alone(4),
                Segment::Alone(5),
                Segment::Together(vec![6, 7]),
            ]
        );
    }

    #[test]
    fn writes_to_one_path_never_run_in_parallel() {
        assert_eq!(
            planned(&[
                file("write_file", "a"),
                file("write_file", "link"),
                file("write_file", "/w/b"),
                file("patch", "b/c"),
                file("write_file", "d"),
            ]),
            [
                Segment::Alone(0),
                Segment::Together(vec![1, 2]),
                Segment::Together(vec![3, 4]),
            ]
        );
    }

    #[test]
    fn writes_to_unknown_files_run_alone() {
        assert_eq!(
            planned(&[
                file("write_file", "unknown"),
                file("write_file", "a"),
                file("read_file", "unknown"),
                file("read_file", "b"),
                (
                    "patch",
                    json!({"mode": "patch", "path": "a", "patch": "*** Begin"})
                ),
                (
                    "patch",
                    json!({"mode": "replace", "path": "c", "old_string": "x"})
                ),
                file("write_file", "d"),
            ]),
            [
                Segment::Alone(0),
                Segment::Alone(1),
                Segment::Together(vec![2, 3]),
                Segment::Alone(4),
                Segment::Together(vec![5, 6]),
            ]
        );
    }

    #[test]
    fn file_is_not_read_while_it_is_written() {
        assert_eq!(
            planned(&[file("write_file", "a"), file("read_file", "a")]),
            [Segment::Alone(0), Segment::Alone(1)]
        );
        assert_eq!(
            planned(&[
                file("write_file", "a"),
                ("search_files", json!({"pattern": "x"}))
            ]),
            [Segment::Alone(0), Segment::Alone(1)]
        );
    }

    #[test]
    fn patch_without_a_path_runs_alone() {
        assert_eq!(
            planned(&[
                file("read_file", "a"),
                ("patch", json!({"patch": "*** Begin"}))
            ]),
            [Segment::Alone(0), Segment::Alone(1)]
        );
    }

    proptest::proptest! {
        #[test]
        fn every_call_is_ordered_once(names in proptest::collection::vec(0..5_usize, 0..12)) {
            let all = ["read_file", "write_file", "terminal", "search_files", "clarify"];
            let calls: Vec<(&str, Value)> = names
                .iter()
                .map(|name| file(all[*name], ["a", "b"][*name % 2]))
                .collect();
            let order: Vec<usize> = planned(&calls).iter().flat_map(|s| s.calls().to_vec()).collect();
            proptest::prop_assert_eq!(order, (0..calls.len()).collect::<Vec<_>>());
        }
    }
}
