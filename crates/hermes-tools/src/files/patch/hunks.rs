//! The patch format of mode `patch`: files with hunks between `*** Begin Patch` and
//! `*** End Patch`. Only parsing; nothing here looks at files.

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileChange {
    /// Change parts, and give it another name if one is there.
    Update {
        path: String,
        move_to: Option<String>,
        hunks: Vec<Hunk>,
    },
    /// Create it with this content.
    Add { path: String, content: String },
    /// Remove it.
    Delete { path: String },
}

/// One place of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// A line above the place, from `@@ … @@`.
    pub(super) hint: Option<String>,
    /// What is there.
    pub(super) old: String,
    /// What is there afterwards.
    pub(super) new: String,
    /// How many lines at the end are blank and on both sides.
    blank_end: usize,
}

/// Reads a patch; the error is a sentence. The first line may be missing, and headers may be indented.
pub(super) fn parse(patch: &str) -> Result<Vec<FileChange>, String> {
    let lines: Vec<&str> = patch
        .lines()
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    let begin = lines
        .iter()
        .position(|line| line.trim() == "*** Begin Patch");
    let start = match begin {
        Some(begin) => begin + 1,
        None => lines.iter().position(|line| file_header(line)).ok_or(
            "The patch has no '*** Begin Patch' and no file ('*** Update File: path').".to_owned(),
        )?,
    };
    let mut changes: Vec<FileChange> = Vec::new();
    let mut ended = false;
    for line in lines.get(start..).unwrap_or_default() {
        if is_end(line, &changes) {
            ended = true;
            break;
        }
        match header(line, &changes) {
            Some(header) => take_header(header, &mut changes)?,
            None => take_line(line, &mut changes)?,
        }
    }
    if !ended {
        return Err("The patch does not end with '*** End Patch'; it may be cut off.".to_owned());
    }
    for change in &mut changes {
        finish(change)?;
    }
    if changes.is_empty() {
        return Err("The patch changes no file.".to_owned());
    }
    Ok(changes)
}

/// The files that a patch changes; none if it cannot be read.
pub(crate) fn patched_paths(patch: &str) -> Vec<String> {
    let changes = parse(patch).unwrap_or_default();
    let paths = changes.into_iter().flat_map(|change| match change {
        FileChange::Update { path, move_to, .. } => [Some(path), move_to],
        FileChange::Add { path, .. } | FileChange::Delete { path } => [Some(path), None],
    });
    paths.flatten().collect()
}

/// Whether a line begins with a header that names a file, indented or not.
fn file_header(line: &str) -> bool {
    let header = line.trim_start().strip_prefix("*** ").unwrap_or_default();
    ["Update File:", "Add File:", "Delete File:", "Move File:"]
        .iter()
        .any(|known| header.starts_with(known))
}

/// A header without its stars. One that is indented must be a known one, and one blank before it
/// inside of a hunk makes it a line of the file.
fn header<'a>(line: &'a str, changes: &[FileChange]) -> Option<&'a str> {
    if let Some(header) = line.strip_prefix("*** ") {
        return Some(header);
    }
    let header = line.trim_start().strip_prefix("*** ")?;
    let known = file_header(line) || header.starts_with("Move to:") || header == "End of File";
    (known && !is_context(line, changes)).then_some(header)
}

fn is_end(line: &str, changes: &[FileChange]) -> bool {
    line.trim_end() == "*** End Patch"
        || (line.trim() == "*** End Patch" && !is_context(line, changes))
}

/// Whether a line that begins with a blank is a line of the file that the last hunk changes.
fn is_context(line: &str, changes: &[FileChange]) -> bool {
    let one_blank = line.starts_with(' ') && !line.starts_with("  ");
    let in_hunk = matches!(
        changes.last(),
        Some(FileChange::Update { hunks, .. }) if !hunks.is_empty()
    );
    one_blank && in_hunk
}

fn take_header(header: &str, changes: &mut Vec<FileChange>) -> Result<(), String> {
    let named = |path: &str| match path.trim() {
        "" => Err("A file of the patch has no name.".to_owned()),
        path => Ok(path.to_owned()),
    };
    if let Some(path) = header.strip_prefix("Update File:") {
        changes.push(FileChange::Update {
            path: named(path)?,
            move_to: None,
            hunks: Vec::new(),
        });
    } else if let Some(path) = header.strip_prefix("Add File:") {
        changes.push(FileChange::Add {
            path: named(path)?,
            content: String::new(),
        });
    } else if let Some(path) = header.strip_prefix("Delete File:") {
        changes.push(FileChange::Delete { path: named(path)? });
    } else if let Some(paths) = header.strip_prefix("Move File:") {
        let Some((from, to)) = paths.split_once("->") else {
            return Err("'*** Move File:' needs 'old -> new'.".to_owned());
        };
        changes.push(FileChange::Update {
            path: named(from)?,
            move_to: Some(named(to)?),
            hunks: Vec::new(),
        });
    } else if let Some(path) = header.strip_prefix("Move to:") {
        match changes.last_mut() {
            Some(FileChange::Update { move_to, .. }) => *move_to = Some(named(path)?),
            _ => return Err("'*** Move to:' must follow '*** Update File:'.".to_owned()),
        }
    } else if header.trim() != "End of File" {
        let header: String = header.chars().take(80).collect();
        return Err(format!("Unknown line in the patch: '*** {header}'."));
    }
    Ok(())
}

fn take_line(line: &str, changes: &mut [FileChange]) -> Result<(), String> {
    match changes.last_mut() {
        None if line.trim().is_empty() => Ok(()),
        None => Err("The patch has lines before the first file.".to_owned()),
        Some(FileChange::Add { content, .. }) => {
            // The sign is often forgotten here, where every line is new.
            content.push_str(line.strip_prefix('+').unwrap_or(line));
            content.push('\n');
            Ok(())
        }
        Some(FileChange::Delete { path }) if !line.trim().is_empty() => {
            Err(format!("The patch deletes {path} and has lines for it."))
        }
        Some(FileChange::Delete { .. }) => Ok(()),
        Some(FileChange::Update { hunks, .. }) => {
            if let Some(hint) = line.strip_prefix("@@") {
                let hint = hint.trim().trim_end_matches("@@").trim();
                // `-1,3 +1,4` is a place of another format; the text decides here.
                let is_text = !hint.is_empty() && !hint.starts_with('-');
                hunks.push(Hunk {
                    hint: is_text.then(|| hint.to_owned()),
                    ..Hunk::default()
                });
                return Ok(());
            }
            if hunks.is_empty() {
                hunks.push(Hunk::default());
            }
            if let Some(hunk) = hunks.last_mut() {
                hunk.take(line);
            }
            Ok(())
        }
    }
}

impl Hunk {
    /// Drops blank lines of context at the end. They mostly stand before the next header, where they
    /// are no lines of the file.
    fn drop_blank_end(&mut self) {
        for _ in 0..std::mem::take(&mut self.blank_end) {
            for side in [&mut self.old, &mut self.new] {
                side.pop();
                side.truncate(side.rfind('\n').map_or(0, |end| end + 1));
            }
        }
    }

    fn take(&mut self, line: &str) {
        let (old, new, text) = if let Some(text) = line.strip_prefix('-') {
            (true, false, text)
        } else if let Some(text) = line.strip_prefix('+') {
            (false, true, text)
        } else {
            // A blank that was lost at the start of a line is forgiven.
            (true, true, line.strip_prefix(' ').unwrap_or(line))
        };
        if old && new && text.trim().is_empty() {
            self.blank_end += 1;
        } else {
            self.blank_end = 0;
        }
        for (wanted, side) in [(old, &mut self.old), (new, &mut self.new)] {
            if wanted {
                side.push_str(text);
                side.push('\n');
            }
        }
    }
}

/// Empty hunks come from blank lines between files.
fn finish(change: &mut FileChange) -> Result<(), String> {
    if let FileChange::Update {
        path,
        move_to,
        hunks,
    } = change
    {
        for hunk in &mut *hunks {
            hunk.drop_blank_end();
        }
        hunks.retain(|hunk| hunk.old.trim() != hunk.new.trim() || hunk.old != hunk.new);
        if hunks.is_empty() && move_to.is_none() {
            return Err(format!("The patch changes nothing in {path}."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn all_kinds_of_changes_are_read() {
        let patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f(): @@\n x\n-y\n+z\n\
                     *** Add File: b\n+one\n+\n+two\n*** Delete File: c\n\
                     *** Move File: d -> e\n*** End Patch\n";
        let expected = vec![
            FileChange::Update {
                path: "a.py".to_owned(),
                move_to: None,
                hunks: vec![Hunk {
                    hint: Some("def f():".to_owned()),
                    old: "x\ny\n".to_owned(),
                    new: "x\nz\n".to_owned(),
                    ..Hunk::default()
                }],
            },
            FileChange::Add {
                path: "b".to_owned(),
                content: "one\n\ntwo\n".to_owned(),
            },
            FileChange::Delete {
                path: "c".to_owned(),
            },
            FileChange::Update {
                path: "d".to_owned(),
                move_to: Some("e".to_owned()),
                hunks: Vec::new(),
            },
        ];
        assert_eq!(parse(patch), Ok(expected));
    }

    #[test]
    fn what_is_no_patch_is_refused_with_a_reason() {
        for (patch, reason) in [
            ("", "Begin Patch"),
            ("nothing\n*** End Patch", "Begin Patch"),
            ("*** Begin Patch\n*** Update File: a\n-x\n", "cut off"),
            ("*** Begin Patch\n*** End Patch", "changes no file"),
            ("*** Begin Patch\nx\n*** End Patch", "before the first file"),
            (
                "*** Begin Patch\n*** Rename: a\n*** End Patch",
                "Unknown line",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n x\n*** End Patch",
                "changes nothing",
            ),
            ("*** Begin Patch\n*** Add File:\n*** End Patch", "no name"),
        ] {
            let error = parse(patch).unwrap_err();
            assert!(error.contains(reason), "{patch:?}: {error}");
        }
    }

    #[test]
    fn begin_line_may_be_missing_and_headers_indented() {
        let plain =
            "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** Delete File: b\n*** End Patch\n";
        let expected = parse(plain).unwrap();
        for patch in [
            "*** Update File: a\n-x\n+y\n*** Delete File: b\n*** End Patch\n",
            "Here it is:\n\n*** Update File: a\n-x\n+y\n*** Delete File: b\n*** End Patch\n",
            "*** Begin Patch\n  *** Update File: a\n-x\n+y\n  *** Delete File: b\n  *** End Patch\n",
            "  *** Begin Patch\n\t*** Update File: a\n-x\n+y\n\t*** Delete File: b\n *** End Patch\n",
        ] {
            assert_eq!(parse(patch).as_ref(), Ok(&expected), "{patch}");
        }
        // One blank makes it a line of the file.
        let quoting =
            "*** Begin Patch\n*** Update File: a\n@@\n *** Delete File: b\n-x\n+y\n*** End Patch";
        let FileChange::Update { hunks, .. } = &parse(quoting).unwrap()[0] else {
            panic!("no update");
        };
        assert_eq!(hunks[0].old, "*** Delete File: b\nx\n");
    }

    #[test]
    fn blank_context_at_the_end_of_a_hunk_is_dropped() {
        for end in ["", "\n", " \n", "\n\n \n"] {
            let patch =
                format!("*** Begin Patch\n*** Update File: a\n x\n \n-y\n+z\n{end}*** End Patch");
            let FileChange::Update { hunks, .. } = &parse(&patch).unwrap()[0] else {
                panic!("no update");
            };
            assert_eq!(
                (hunks[0].old.as_str(), hunks[0].new.as_str()),
                ("x\n\ny\n", "x\n\nz\n")
            );
        }
    }
}
