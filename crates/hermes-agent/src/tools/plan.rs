//! Which calls of one answer may run at the same time. Pure: nothing here runs anything.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Tools that only look.
const READ_ONLY: &[&str] = &[
    "read_file",
    "search_files",
    "web_search",
    "web_extract",
    "session_search",
    "skill_view",
    "skills_list",
    "vision_analyze",
    "ha_get_state",
    "ha_list_entities",
    "ha_list_services",
];

/// Tools that touch the one path they name.
const PATH_SCOPED: &[&str] = &["read_file", "write_file", "patch"];

/// Whether a tool only looks.
pub(crate) fn is_read_only(name: &str) -> bool {
    READ_ONLY.contains(&name)
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

/// Splits calls, given as name and arguments, into segments that run one after the other.
/// `cwd` is where relative paths begin.
pub(crate) fn segments(calls: &[(&str, &Value)], cwd: &Path) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut run: Vec<(usize, Scope)> = Vec::new();
    for (index, (name, arguments)) in calls.iter().enumerate() {
        match scope_of(name, arguments, cwd) {
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
fn scope_of(name: &str, arguments: &Value, cwd: &Path) -> Option<Scope> {
    if PATH_SCOPED.contains(&name) {
        let path = arguments.get("path").and_then(Value::as_str);
        let path = path.filter(|path| !path.trim().is_empty())?;
        let path = normal(&cwd.join(path));
        return Some(if name == "read_file" {
            Scope::Reads(path)
        } else {
            Scope::Changes(path)
        });
    }
    READ_ONLY.contains(&name).then_some(Scope::Looks)
}

/// The path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn planned(calls: &[(&str, Value)]) -> Vec<Segment> {
        let calls: Vec<(&str, &Value)> = calls.iter().map(|(name, args)| (*name, args)).collect();
        segments(&calls, Path::new("/w"))
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
                file("write_file", "./a"),
                file("write_file", "/w/x/../b"),
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
