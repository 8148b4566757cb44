//! Four processes, one log, many rotations.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::writer_process::{Plan, parse};

const WRITERS: usize = 4;

/// All files of agent.log, oldest first.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut numbered: Vec<(u32, PathBuf)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let number = match name.strip_prefix("agent.log")? {
                "" => 0,
                suffix => suffix.strip_prefix('.')?.parse().ok()?,
            };
            Some((number, path))
        })
        .collect();
    numbered.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    numbered.into_iter().map(|(_, path)| path).collect()
}

fn write_all(dir: &Path, lines: usize, max_bytes: u64, backups: u32) {
    let children: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let plan = Plan {
                writer,
                lines,
                max_bytes,
                backups,
            };
            plan.start(dir)
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn no_line_is_lost_torn_or_out_of_order() {
    const LINES: usize = 50_000;
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    write_all(&logs, LINES, 100_000, 1_000);
    let files = files(&logs);
    assert!(
        files.len() > 100,
        "{} files: it hardly rotated",
        files.len()
    );
    let mut next = [0; WRITERS];
    for file in &files {
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            let (writer, number) = parse(line);
            // In order and without gaps: this is each line exactly once.
            assert_eq!(
                number,
                next[writer],
                "writer {writer} in {}",
                file.display()
            );
            next[writer] += 1;
        }
    }
    assert_eq!(next, [LINES; WRITERS]);
}

#[test]
fn with_few_backups_the_newest_lines_are_there_and_whole() {
    const LINES: usize = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    write_all(&logs, LINES, 20_000, 2);
    let files = files(&logs);
    assert_eq!(files.len(), 3);
    let mut last = [None; WRITERS];
    for file in &files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let (writer, number) = parse(line);
            assert!(last[writer].is_none_or(|before| before + 1 == number));
            last[writer] = Some(number);
        }
    }
    // Who finished last must have its last line in the newest files.
    assert!(last.contains(&Some(LINES - 1)), "{last:?}");
}
