use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::from_bytes(text)
}

#[test]
fn modified_file_has_its_lines_with_numbers() {
    let patch =
        b"diff --git a/src/a b.rs b/src/a b.rs\nindex 123..456 100644\n--- a/src/a b.rs\t\n\
        +++ b/src/a b.rs\t\n@@ -3,3 +3,3 @@ fn main()\n one\n-diff --git a/x b/x\n+@@ -1 +1 @@\n \
        three\n\\ No newline at end of file\n";
    let files = files(patch, false);
    let [file] = &files[..] else {
        panic!("{files:?}")
    };
    assert_eq!(file.path, path("src/a b.rs"));
    assert_eq!(file.change, Change::Modified);
    assert_eq!(file.mode.as_deref(), Some("100644"));
    assert_eq!((file.additions, file.deletions), (1, 1));
    let hunk = &file.hunks[0];
    assert_eq!(hunk.heading, "fn main()");
    let lines: Vec<_> = hunk
        .lines
        .iter()
        .map(|line| (line.old, line.new, &*line.text))
        .collect();
    assert_eq!(
        lines,
        [
            (Some(3), Some(3), "one"),
            (Some(4), None, "diff --git a/x b/x"),
            (None, Some(4), "@@ -1 +1 @@"),
            (Some(5), Some(5), "three"),
        ]
    );
    assert!(hunk.lines[3].no_newline);
}

#[test]
fn names_modes_and_kinds_are_read_where_there_are_no_lines() {
    let patch = b"diff --git a/old.txt b/new.txt\nsimilarity index 100%\nrename from old.txt\n\
        rename to new.txt\ndiff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
        diff --git \"a/caf\\351\\n\" \"b/caf\\351\\n\"\nnew file mode 100644\nindex 0..1\n\
        Binary files /dev/null and \"b/caf\\351\\n\" differ\n* Unmerged path both\n";
    let files = files(patch, false);
    let seen: Vec<_> = files
        .iter()
        .map(|file| (file.path.clone(), file.change))
        .collect();
    assert_eq!(
        seen,
        [
            (path("new.txt"), Change::Renamed),
            (path("run.sh"), Change::Modified),
            (RepoPath::from_bytes(*b"caf\xe9\n"), Change::Added),
            (path("both"), Change::Unmerged),
        ]
    );
    assert_eq!(files[0].old_path, Some(path("old.txt")));
    assert_eq!(files[1].mode.as_deref(), Some("100755"));
    assert!(files[2].binary);
}

#[test]
fn last_file_of_a_cut_patch_is_left_out() {
    let patch = b"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n\
        diff --git a/b b/b\nindex 1..2 100644\n--- a/b\n+++ b/b\n@@ -1,9 +1,9 @@\n-x\n";
    assert_eq!(files(patch, false).len(), 2);
    let kept = files(patch, true);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].path, path("a"));
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "(diff --git |@@ -1,2 \\+3 @@|a/|b/|\"|\\\\|\n|[ +-]x){0,40}") {
        files(text.as_bytes(), false);
    }
}
