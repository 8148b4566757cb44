//! Which calls of one answer may run at the same time. Pure: nothing here runs anything.

use std::path::PathBuf;

use hermes_tools::Reach;
use serde_json::Value;

/// A call as far as planning cares.
pub(crate) struct Planning<'a> {
    /// What its tool can touch.
    pub(crate) reach: Reach,
    /// Its arguments.
    pub(crate) arguments: &'a Value,
}

/// Neighbouring calls, as positions in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// One call alone.
    Alone(usize),
    /// Calls that may run at the same time, at least two.
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

/// Splits calls into segments that run one after the other. `real` is the file a path means, without
/// links, if that is known.
pub(crate) fn segments(
    calls: &[Planning<'_>],
    real: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut run: Vec<(usize, Scope)> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        match scope_of(call, real) {
            Some(scope) if run.iter().all(|(_, other)| scope.is_apart_from(other)) => {
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

fn close(run: &mut Vec<(usize, Scope)>, segments: &mut Vec<Segment>) {
    let calls: Vec<usize> = run.drain(..).map(|(index, _)| index).collect();
    match calls.as_slice() {
        [] => {}
        [one] => segments.push(Segment::Alone(*one)),
        _ => segments.push(Segment::Together(calls)),
    }
}

/// What a call touches.
#[derive(Debug)]
enum Scope {
    /// Nothing that another call could change beside it.
    Looks,
    /// Reads this path.
    Reads(PathBuf),
    /// Changes this path.
    Changes(PathBuf),
}

impl Scope {
    fn is_apart_from(&self, other: &Self) -> bool {
        match (self, other) {
            // Reading one file twice harms nobody.
            (Self::Looks | Self::Reads(_), Self::Looks | Self::Reads(_)) => true,
            // A search may pass any file that is being written.
            (Self::Looks, Self::Changes(_)) | (Self::Changes(_), Self::Looks) => false,
            (Self::Changes(one), Self::Reads(two) | Self::Changes(two))
            | (Self::Reads(one), Self::Changes(two)) => {
                !one.starts_with(two) && !two.starts_with(one)
            }
        }
    }
}

/// What a call touches; `None` if it must run alone.
fn scope_of(call: &Planning<'_>, real: &dyn Fn(&str) -> Option<PathBuf>) -> Option<Scope> {
    let text = |name: &str| {
        let text = call.arguments.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    match call.reach {
        Reach::Looks => Some(Scope::Looks),
        // Which file it is may be unknown; that it is only read is not.
        Reach::ReadsPath => Some(real(text("path")?).map_or(Scope::Looks, Scope::Reads)),
        // A patch names its files itself.
        Reach::ChangesPath if text("mode").is_some_and(|mode| mode.trim() != "replace") => None,
        Reach::ChangesPath => Some(Scope::Changes(real(text("path")?)?)),
        Reach::Anything => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn planned(calls: &[(&str, Value)]) -> Vec<Segment> {
        let calls: Vec<Planning<'_>> = calls
            .iter()
            .map(|(name, arguments)| Planning {
                reach: match *name {
                    "read_file" => Reach::ReadsPath,
                    "write_file" | "patch" => Reach::ChangesPath,
                    "search_files" | "web_search" => Reach::Looks,
                    _ => Reach::Anything,
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
    fn readers_run_together_and_everything_else_alone() {
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
    fn writers_of_one_path_never_meet() {
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
    fn writers_of_files_nobody_knows_run_alone() {
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
    fn a_file_is_not_read_while_it_is_written() {
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
    fn a_call_without_a_path_waits_for_nobody_beside_it() {
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
        fn every_call_is_planned_once_and_in_order(names in proptest::collection::vec(0..5_usize, 0..12)) {
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
