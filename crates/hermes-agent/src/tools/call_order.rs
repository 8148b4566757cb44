//! Decides which calls of one answer may run in parallel. Pure.

use std::path::PathBuf;

use hermes_tools::ToolReach;
use serde_json::Value;

/// Splits calls, given by the reach of their tool and their arguments, into segments that run one
/// after the other; the calls of a segment, as positions, may run in parallel. `real` resolves a path
/// without links, if possible.
pub(crate) fn segments<'a>(
    calls: impl IntoIterator<Item = (ToolReach, &'a Value)>,
    real: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Vec<usize>> {
    let mut segments: Vec<Vec<usize>> = Vec::new();
    // What the calls of the last segment touch; empty if it takes no more.
    let mut touched: Vec<CallScope> = Vec::new();
    for (index, (reach, arguments)) in calls.into_iter().enumerate() {
        let scope = scope_of(reach, arguments, real);
        match (&scope, segments.last_mut()) {
            (Some(scope), Some(last))
                if !touched.is_empty()
                    && touched.iter().all(|other| scope.is_independent_of(other)) =>
            {
                last.push(index);
            }
            _ => {
                segments.push(vec![index]);
                touched.clear();
            }
        }
        touched.extend(scope);
    }
    segments
}

#[derive(Debug)]
enum CallScope {
    /// Reads anything.
    Looks,
    Reads(PathBuf),
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
fn scope_of(
    reach: ToolReach,
    arguments: &Value,
    real: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<CallScope> {
    let text = |name: &str| {
        let text = arguments.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    match reach {
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

    fn planned(calls: &[(&str, Value)]) -> Vec<Vec<usize>> {
        let calls = calls.iter().map(|(name, arguments)| {
            let reach = match *name {
                "read_file" => ToolReach::ReadsPath,
                "write_file" | "patch" => ToolReach::ChangesPath,
                "search_files" | "web_search" => ToolReach::ReadOnly,
                _ => ToolReach::Anything,
            };
            (reach, arguments)
        });
        segments(calls, &|path| match path {
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
            [vec![0, 1, 2], vec![3], vec![4], vec![5], vec![6, 7],]
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
            [vec![0], vec![1, 2], vec![3, 4],]
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
            [vec![0], vec![1], vec![2, 3], vec![4], vec![5, 6],]
        );
    }

    #[test]
    fn file_is_not_read_while_it_is_written() {
        assert_eq!(
            planned(&[file("write_file", "a"), file("read_file", "a")]),
            [vec![0], vec![1]]
        );
        assert_eq!(
            planned(&[
                file("write_file", "a"),
                ("search_files", json!({"pattern": "x"}))
            ]),
            [vec![0], vec![1]]
        );
    }

    #[test]
    fn patch_without_a_path_runs_alone() {
        assert_eq!(
            planned(&[
                file("read_file", "a"),
                ("patch", json!({"patch": "*** Begin"}))
            ]),
            [vec![0], vec![1]]
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
            let order: Vec<usize> = planned(&calls).concat();
            proptest::prop_assert_eq!(order, (0..calls.len()).collect::<Vec<_>>());
        }
    }
}
