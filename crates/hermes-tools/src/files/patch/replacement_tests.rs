use super::super::matching::find;
use super::*;
use pretty_assertions::assert_eq;

/// The file after one replacement, found by whatever kind of match.
fn patched(file: &str, old: &str, new: &str) -> Result<String, String> {
    let found = find(file, old).expect("a match");
    let range = found.ranges[0].clone();
    let (before, rest) = file.split_at(range.start);
    let (piece, after) = rest.split_at(range.len());
    let new = Replacement { old, new }.at(file, piece, found.kind)?;
    Ok(format!("{before}{new}{after}"))
}

#[test]
fn new_text_takes_the_indentation_of_the_place() {
    assert_eq!(
        reindented("if y:\n  z()\n", "if x:\n  z()", "    if x:\n      z()"),
        "    if y:\n      z()\n"
    );
    assert_eq!(reindented("b", "a", "a"), "b");
}

#[test]
fn typography_of_the_file_is_kept() {
    for (file, old, new, expected) in [
        (
            "He said \u{201c}hello\u{201d} \u{2014} twice\u{2026}\n",
            "He said \"hello\" - twice...",
            "He said \"hello\" - once...",
            "He said \u{201c}hello\u{201d} \u{2014} once\u{2026}\n",
        ),
        (
            "a \u{2014} b, it\u{2019}s\n",
            "a -- b, it's",
            "a -- c, it's",
            "a \u{2014} c, it\u{2019}s\n",
        ),
        // What is new is written as it was typed.
        (
            "x\u{a0}\u{2013} y\n",
            "x - y",
            "x - y - \"z\"",
            "x\u{a0}\u{2013} y - \"z\"\n",
        ),
        // A part of three dots is not the sign for them.
        ("wait\u{2026}\n", "wait...", "wait..", "wait..\n"),
        (
            "  one \u{2014} two\n  three\u{2019}s\n",
            "one - two\nthree's",
            "one - 2\nthree's",
            "  one \u{2014} 2\n  three\u{2019}s\n",
        ),
        // The other way round: the file has typed ones.
        (
            "say \"a\"\n",
            "say \u{201c}a\u{201d}",
            "say \u{201c}b\u{201d}",
            "say \"b\"\n",
        ),
    ] {
        assert_eq!(patched(file, old, new).as_deref(), Ok(expected), "{file}");
    }
}

#[test]
fn blanks_inside_of_lines_are_kept_where_nothing_changes() {
    assert_eq!(
        patched(
            "let  x  =  call(a,   b); // y\n",
            "x = call(a, b)",
            "x = call(a, c)"
        ),
        Ok("let  x  =  call(a,   c); // y\n".to_owned())
    );
}

#[test]
fn escapes_that_the_file_does_not_have_are_undone() {
    for (file, old, new, expected) in [
        (
            "print('a')\n",
            "print(\\'a\\')",
            "print(\\'b\\')",
            "print('b')\n",
        ),
        // The line end in the string is the file's own.
        (
            "print('a\\n')\n",
            "print(\\'a\\n\\')",
            "print(\\'b\\n\\')",
            "print('b\\n')\n",
        ),
        (
            "if x {\n\tfoo()\n}\n",
            "\\tfoo()",
            "\\tbar()",
            "if x {\n\tbar()\n}\n",
        ),
        (
            "if x {\n\tfoo(\"a\")\n}\n",
            "{\\n\\tfoo(\\\"a\\\")",
            "{\\n\\tbar(\\\"a\\\")",
            "if x {\n\tbar(\"a\")\n}\n",
        ),
        // Only the new text has them, at the start of a line.
        (
            "if x {\n\tfoo()\n}\n",
            "foo()",
            "foo()\n\\tbar(\"a\\tb\")",
            "if x {\n\tfoo()\n\tbar(\"a\\tb\")\n}\n",
        ),
    ] {
        assert_eq!(patched(file, old, new).as_deref(), Ok(expected), "{old}");
    }
}

#[test]
fn escapes_that_belong_to_the_text_stay() {
    for (file, old, new, expected) in [
        ("m = 'it is'\n", "'it is'", "'it\\'s'", "m = 'it\\'s'\n"),
        (
            "sep = \"\\t\"\n",
            "sep = \"\\t\"",
            "sep = \"\\t\\t\"",
            "sep = \"\\t\\t\"\n",
        ),
        // TeX.
        (
            "\\begin{a}\n\tx\n",
            "x",
            "x\n\\textbf{y}",
            "\\begin{a}\n\tx\n\\textbf{y}\n",
        ),
    ] {
        assert_eq!(patched(file, old, new).as_deref(), Ok(expected), "{old}");
    }
}

#[test]
fn escapes_in_a_text_found_by_likeness_are_refused() {
    let file = "def f():\n    a = 'x'\n    b = 'y'\n    return a\n";
    let old = "def f():\n    a = \\'x\\'\n    b = 'yy'\n    return a";
    let new = "def f():\n    a = \\'z\\'\n    b = 'yy'\n    return a";
    let message = patched(file, old, new).unwrap_err();
    assert!(message.contains("escaped once too often"), "{message}");
}

#[test]
fn blank_lines_at_the_ends_of_both_texts_are_not_added() {
    assert_eq!(
        patched(
            "a\nfn b() {}\nc\n",
            "\n  fn b() {}\n\n",
            "\n  fn d() {}\n\n"
        ),
        Ok("a\nfn d() {}\nc\n".to_owned())
    );
}
