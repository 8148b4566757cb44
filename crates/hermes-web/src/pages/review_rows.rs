//! The files and lines of a diff as rows of a page, each comment below the line it is about.

use serde::Deserialize;

use super::shown::segment;

/// Lines of code that are quoted with a comment.
const QUOTED: usize = 8;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileAnswer {
    path: String,
    old_path: Option<String>,
    change: String,
    old_mode: Option<String>,
    mode: Option<String>,
    binary: bool,
    additions: usize,
    deletions: usize,
    hunks: Vec<HunkAnswer>,
    more_lines: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HunkAnswer {
    old_start: u32,
    old_lines: u32,
    new_start: u32,
    new_lines: u32,
    heading: String,
    lines: Vec<LineAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LineAnswer {
    kind: String,
    old: Option<u32>,
    new: Option<u32>,
    text: String,
    no_newline: bool,
}

/// A comment with its answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Remark {
    pub(super) number: u32,
    file: String,
    side: String,
    first_line: u32,
    last_line: u32,
    quote: String,
    pub(super) author: String,
    pub(super) body: String,
    pub(super) created_at: i64,
    pub(super) outdated: bool,
    pub(super) resolved_by: Option<String>,
    pub(super) replies: Vec<Reply>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reply {
    pub(super) author: String,
    pub(super) body: String,
    pub(super) created_at: i64,
}

impl Remark {
    pub(super) fn is_open(&self) -> bool {
        self.resolved_by.is_none()
    }

    /// File and lines.
    pub(super) fn place(&self) -> String {
        let mut text = format!("{}:{}", hermes_text::visible(&self.file), self.first_line);
        if self.last_line > self.first_line {
            text.push_str(&format!("-{}", self.last_line));
        }
        if self.side == "old" {
            text.push_str(" (before)");
        }
        text
    }

    /// The lines as they were when the comment was made.
    pub(super) fn quoted(&self) -> String {
        let mut lines: Vec<&str> = self.quote.lines().take(QUOTED + 1).collect();
        if lines.len() > QUOTED {
            lines.truncate(QUOTED);
            lines.push("…");
        }
        hermes_text::visible(&lines.join("\n"))
    }
}

/// A changed file on the page.
pub(super) struct FileView {
    pub(super) number: usize,
    /// Its name, as requests have it.
    pub(super) path: String,
    /// Its name for people.
    pub(super) label: String,
    pub(super) change: String,
    pub(super) tone: &'static str,
    /// What else is to be known, such as a new mode.
    pub(super) notes: Vec<String>,
    pub(super) additions: usize,
    pub(super) deletions: usize,
    pub(super) hunks: Vec<HunkView>,
    /// Lines that are not on the page.
    pub(super) more_lines: usize,
    old_path: Option<String>,
}

/// A hunk on the page.
pub(super) struct HunkView {
    pub(super) head: String,
    pub(super) rows: Vec<Row>,
}

/// A line on the page.
pub(super) struct Row {
    pub(super) class: &'static str,
    pub(super) sign: &'static str,
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) text: String,
    pub(super) no_newline: bool,
    /// Whether the keyboard reaches it first.
    pub(super) is_first: bool,
    /// Comments that end at this line.
    pub(super) remarks: Vec<Remark>,
}

impl Row {
    /// The side on which the line is commented on.
    pub(super) fn side(&self) -> &'static str {
        if self.new.is_some() { "new" } else { "old" }
    }

    /// Its number on that side.
    pub(super) fn line(&self) -> u32 {
        self.new.or(self.old).unwrap_or_default()
    }

    /// Its number before, where there is one.
    pub(super) fn before(&self) -> String {
        self.old
            .map(|number| number.to_string())
            .unwrap_or_default()
    }

    fn is(&self, side: &str, line: u32) -> bool {
        let number = if side == "old" { self.old } else { self.new };
        number == Some(line)
    }
}

impl FileView {
    pub(super) fn new(number: usize, file: FileAnswer) -> Self {
        let notes = notes(&file);
        let mut is_first = true;
        let mut row = |line: LineAnswer| Row {
            class: match line.kind.as_str() {
                "added" => "add",
                "removed" => "del",
                _ => "same",
            },
            sign: match line.kind.as_str() {
                "added" => "+",
                "removed" => "−",
                _ => "",
            },
            old: line.old,
            new: line.new,
            text: line.text,
            no_newline: line.no_newline,
            is_first: std::mem::take(&mut is_first),
            remarks: Vec::new(),
        };
        let hunks = file.hunks.into_iter().map(|hunk| HunkView {
            head: format!(
                "@@ −{},{} +{},{} @@ {}",
                hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, hunk.heading
            ),
            rows: hunk.lines.into_iter().map(&mut row).collect(),
        });
        let name = hermes_text::visible(&file.path);
        Self {
            number,
            hunks: hunks.collect(),
            label: match &file.old_path {
                Some(old) => format!("{} → {name}", hermes_text::visible(old)),
                None => name,
            },
            tone: match file.change.as_str() {
                "added" => "ok",
                "deleted" | "unmerged" => "bad",
                "renamed" | "copied" => "violet",
                _ => "info",
            },
            notes,
            path: file.path,
            change: file.change,
            additions: file.additions,
            deletions: file.deletions,
            more_lines: file.more_lines,
            old_path: file.old_path,
        }
    }

    /// Its name in an address.
    pub(super) fn in_address(&self) -> String {
        segment(&self.path)
    }

    fn is_about(&self, remark: &Remark) -> bool {
        self.path == remark.file || self.old_path.as_ref() == Some(&remark.file)
    }
}

fn notes(file: &FileAnswer) -> Vec<String> {
    let mut notes = Vec::new();
    match (&file.old_mode, &file.mode) {
        (Some(old), Some(new)) if old != new => notes.push(format!("mode {old} → {new}")),
        (None, Some(new)) if new != "100644" => notes.push(match new.as_str() {
            "120000" => "a link".to_owned(),
            "160000" => "a submodule".to_owned(),
            mode => format!("mode {mode}"),
        }),
        _ => {}
    }
    if file.binary {
        notes.push("no text, or too large to show".to_owned());
    } else if file.hunks.is_empty() && file.more_lines == 0 {
        notes.push("no line has changed".to_owned());
    }
    notes
}

/// Puts comments below the last line they are about; gives those whose line is not on the page.
pub(super) fn place(remarks: Vec<Remark>, files: &mut [FileView]) -> Vec<Remark> {
    let mut left = Vec::new();
    for remark in remarks {
        let row = if remark.outdated {
            None
        } else {
            let mut files = files.iter_mut().filter(|file| file.is_about(&remark));
            files.find_map(|file| {
                let rows = file.hunks.iter_mut().flat_map(|hunk| &mut hunk.rows);
                rows.into_iter()
                    .find(|row| row.is(&remark.side, remark.last_line))
            })
        };
        match row {
            Some(row) => row.remarks.push(remark),
            None => left.push(remark),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn remark(number: u32, side: &str, line: u32) -> Remark {
        Remark {
            number,
            file: "a".to_owned(),
            side: side.to_owned(),
            first_line: line,
            last_line: line,
            ..Remark::default()
        }
    }

    #[test]
    fn comments_stand_below_their_lines_or_are_listed() {
        let line = |kind: &str, old, new| LineAnswer {
            kind: kind.to_owned(),
            old,
            new,
            ..LineAnswer::default()
        };
        let file = FileAnswer {
            path: "b".to_owned(),
            old_path: Some("a".to_owned()),
            hunks: vec![HunkAnswer {
                lines: vec![
                    line("context", Some(1), Some(1)),
                    line("removed", Some(2), None),
                    line("added", None, Some(2)),
                ],
                ..HunkAnswer::default()
            }],
            ..FileAnswer::default()
        };
        let mut files = [FileView::new(0, file)];
        let outdated = Remark {
            outdated: true,
            ..remark(4, "new", 1)
        };
        let remarks = vec![
            remark(1, "old", 2),
            remark(2, "new", 2),
            remark(3, "new", 9),
            outdated,
        ];
        let left = place(remarks, &mut files);
        let left: Vec<u32> = left.iter().map(|remark| remark.number).collect();
        assert_eq!(left, [3, 4]);
        let rows = &files[0].hunks[0].rows;
        let numbers = |row: &Row| row.remarks.iter().map(|one| one.number).collect::<Vec<_>>();
        assert_eq!(numbers(&rows[1]), [1]);
        assert_eq!(numbers(&rows[2]), [2]);
        assert_eq!((rows[1].side(), rows[1].line()), ("old", 2));
        assert!(rows[0].is_first && !rows[1].is_first);
    }
}
