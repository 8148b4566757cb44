//! How much of a diff is shown at once. What is beyond can be asked for file by file.

use hermes_board::review::{Diff, DiffFile, DiffHunk, DiffLine};
use serde_json::{Value, json};

/// Longest line of code, in characters.
const MOST_CHARACTERS: usize = 2_000;

/// How many files, lines and bytes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) files: usize,
    pub(super) lines: usize,
    pub(super) bytes: usize,
    /// Whether a file that does not fit is shown as far as it does; else it is only named.
    pub(super) cuts_files: bool,
}

impl Bounds {
    /// All files together.
    pub(super) const OVERVIEW: Self = Self {
        files: 500,
        lines: 5_000,
        bytes: 1 << 20,
        cuts_files: false,
    };
    /// One file.
    pub(super) const FILE: Self = Self {
        files: 1,
        lines: 20_000,
        bytes: 4 << 20,
        cuts_files: true,
    };
}

/// A diff in JSON: all of it, or what fits.
pub(super) fn bounded(diff: &Diff, files: &[&DiffFile], mut bounds: Bounds) -> Value {
    let most = bounds.files;
    let shown: Vec<Value> = files
        .iter()
        .take(most)
        .map(|file| bounded_file(file, &mut bounds))
        .collect();
    json!({
        "base": diff.base,
        "head": diff.head,
        "branch": diff.branch,
        "fingerprint": diff.fingerprint,
        "files": shown,
        "file_count": diff.files.len(),
        "more_files": files.len().saturating_sub(most),
        "additions": diff.files.iter().map(|file| file.additions).sum::<usize>(),
        "deletions": diff.files.iter().map(|file| file.deletions).sum::<usize>(),
        "omitted": diff.omitted,
    })
}

fn bounded_file(file: &DiffFile, bounds: &mut Bounds) -> Value {
    let all: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let size = |line: &DiffLine| hermes_text::cut(&line.text, MOST_CHARACTERS).len();
    let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let fits = all <= bounds.lines && lines().map(size).sum::<usize>() <= bounds.bytes;
    let mut hunks = Vec::new();
    let mut shown = 0;
    if fits || bounds.cuts_files {
        for hunk in &file.hunks {
            let (cut, count) = bounded_hunk(hunk, bounds);
            if count > 0 {
                hunks.push(cut);
            }
            shown += count;
            if count < hunk.lines.len() {
                break;
            }
        }
    }
    json!({
        "path": file.path,
        "old_path": file.old_path,
        "change": file.change,
        "old_mode": file.old_mode,
        "mode": file.mode,
        "binary": file.binary,
        "additions": file.additions,
        "deletions": file.deletions,
        "hunks": hunks,
        "more_lines": all - shown,
    })
}

/// A hunk as far as it fits, and how many lines these are.
fn bounded_hunk(hunk: &DiffHunk, bounds: &mut Bounds) -> (DiffHunk, usize) {
    let mut cut = DiffHunk {
        lines: Vec::new(),
        heading: spelled(&hunk.heading),
        ..*hunk
    };
    for line in &hunk.lines {
        let text = hermes_text::cut(&line.text, MOST_CHARACTERS);
        if bounds.lines == 0 || bounds.bytes < text.len() {
            break;
        }
        bounds.lines -= 1;
        bounds.bytes -= text.len();
        let is_cut = text.len() < line.text.len();
        let end = if is_cut { " …" } else { "" };
        cut.lines.push(DiffLine {
            text: format!("{}{end}", spelled(text)),
            ..*line
        });
    }
    let count = cut.lines.len();
    (cut, count)
}

/// Text in which nothing steers: what turns the direction of writing or is not seen is spelled out, so
/// that a reviewer reads what a compiler reads.
fn spelled(text: &str) -> String {
    hermes_text::visible(text)
}

#[cfg(test)]
mod tests {
    use hermes_board::model::RepoPath;
    use hermes_board::review::{Change, DiffBase, LineKind, Origin};
    use pretty_assertions::assert_eq;

    use super::*;

    fn file(name: &str, lines: usize, text: &str) -> DiffFile {
        let line = |number: usize| DiffLine {
            kind: LineKind::Added,
            old: None,
            new: u32::try_from(number + 1).ok(),
            text: text.to_owned(),
            no_newline: false,
        };
        DiffFile {
            path: RepoPath::from_bytes(name),
            old_path: None,
            change: Change::Added,
            old_mode: None,
            mode: None,
            binary: false,
            additions: lines,
            deletions: 0,
            hunks: vec![DiffHunk {
                old_start: 0,
                old_lines: 0,
                new_start: 1,
                new_lines: 0,
                heading: String::new(),
                lines: (0..lines).map(line).collect(),
            }],
        }
    }

    fn shown(files: Vec<DiffFile>, bounds: Bounds) -> Value {
        let diff = Diff {
            base: DiffBase {
                commit: "c".to_owned(),
                branch: None,
                origin: Origin::Head,
            },
            head: None,
            branch: None,
            fingerprint: "f".to_owned(),
            files,
            omitted: Vec::new(),
        };
        let all: Vec<&DiffFile> = diff.files.iter().collect();
        bounded(&diff, &all, bounds)
    }

    #[test]
    fn file_that_does_not_fit_is_named_and_the_next_one_shown() {
        let files = vec![
            file("a", 4_000, "x"),
            file("big", 4_000, "x"),
            file("c", 2, "x"),
        ];
        let shown = shown(files, Bounds::OVERVIEW);
        let more: Vec<_> = (0..3).map(|at| &shown["files"][at]["more_lines"]).collect();
        assert_eq!(more, [&json!(0), &json!(4_000), &json!(0)]);
        assert_eq!(shown["additions"], 8_002);
        assert_eq!(shown["files"][1]["hunks"], json!([]));
    }

    #[test]
    fn one_file_is_shown_as_far_as_it_fits() {
        let shown = shown(vec![file("big", 30_000, "x")], Bounds::FILE);
        assert_eq!(shown["files"][0]["more_lines"], 10_000);
        let lines = shown["files"][0]["hunks"][0]["lines"].as_array().unwrap();
        assert_eq!(lines.len(), 20_000);
    }

    #[test]
    fn files_beyond_a_number_are_counted() {
        let files = (0..600).map(|at| file(&at.to_string(), 1, "x")).collect();
        let shown = shown(files, Bounds::OVERVIEW);
        assert_eq!(shown["files"].as_array().unwrap().len(), 500);
        assert_eq!(shown["more_files"], 100);
        assert_eq!(shown["file_count"], 600);
    }

    #[test]
    fn what_steers_is_spelled_out_and_long_lines_are_cut() {
        let hostile = format!("if admin \u{202e}\u{2066}// check{}", "x".repeat(5_000));
        let shown = shown(vec![file("a", 1, &hostile)], Bounds::OVERVIEW);
        let line = &shown["files"][0]["hunks"][0]["lines"][0];
        let text = line["text"].as_str().unwrap();
        assert!(
            !text.contains('\u{202e}') && !text.contains('\u{2066}'),
            "{text}"
        );
        assert!(text.ends_with(" …") && text.len() < 2_100, "{}", text.len());
    }
}
