use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn place<'a>(text: &'a str, wanted: &str) -> Option<(MatchKind, Vec<&'a str>)> {
    let found = find(text, wanted)?;
    let pieces = found
        .ranges
        .iter()
        .map(|range| text.get(range.clone()).unwrap());
    Some((found.kind, pieces.collect()))
}

#[test]
fn each_rung_finds_what_those_above_miss() {
    let text = "fn a() {\n    let x = 1;\n    call(x, \"y\");\n}\n\nfn b() {}\n";
    assert_eq!(
        place(text, "let x"),
        Some((MatchKind::Exact, vec!["let x"]))
    );
    assert_eq!(
        place(text, "let x = 1;  \ncall(x, \"y\");"),
        Some((
            MatchKind::Trimmed,
            vec!["    let x = 1;\n    call(x, \"y\");"]
        ))
    );
    assert_eq!(
        place(text, "let  x  =  1;\n"),
        Some((MatchKind::Whitespace, vec!["    let x = 1;\n"]))
    );
    assert_eq!(
        place(text, "1;\\n    call(x, \\\"y\\\")"),
        Some((
            MatchKind::Escapes(Escapes::All),
            vec!["1;\n    call(x, \"y\")"]
        ))
    );
    assert_eq!(
        place(text, "\n\n  fn b() {}\n\n"),
        Some((MatchKind::Boundary, vec!["fn b() {}"]))
    );
    assert_eq!(
        place(text, "call(x, \u{201c}y\u{201d});"),
        Some((
            MatchKind::Unicode(EmDash::Single),
            vec!["    call(x, \"y\");"]
        ))
    );
    assert_eq!(
        place(text, "fn a() {\n    let xx = 1;\n    call(xx, \"y\")\n}"),
        Some((
            MatchKind::BlockAnchor,
            vec!["fn a() {\n    let x = 1;\n    call(x, \"y\");\n}"]
        ))
    );
    assert_eq!(
        place(
            text,
            "fn a() -> u8 {\n    let x = 1;\n    call(x, \"y\");\n];"
        ),
        Some((
            MatchKind::Context,
            vec!["fn a() {\n    let x = 1;\n    call(x, \"y\");\n}"]
        ))
    );
    assert_eq!(
        place(text, "x  =  1"),
        Some((MatchKind::Blanks, vec!["x = 1"]))
    );
    assert_eq!(place(text, "something else"), None);
    assert_eq!(place(text, ""), None);
    assert_eq!(place(text, "\n\n\n\n"), None);
}

#[test]
fn likeness_alone_never_chooses_between_two_places() {
    let text = "a {\n  one = 1\n  two = 2\n}\na {\n  one = 1\n  two = 3\n}\n";
    assert_eq!(find(text, "a {\n  onee = 1\n  two = 4\n}"), None);
}

#[test]
fn the_nearest_lines_are_shown_with_numbers() {
    let shown = nearest("one\ntwo\nlet value = 3;\nfour\n", "let valeu = 3;").unwrap();
    assert!(shown.contains("     3|let value = 3;"), "{shown}");
    assert_eq!(nearest("one\n", "entirely different text"), None);
}

proptest! {
    #[test]
    fn ranges_are_ordered_disjoint_and_on_characters(text in "[aé \n]{0,40}", wanted in "[aé \n]{1,8}") {
        if let Some(found) = find(&text, &wanted) {
            let mut end = 0;
            for range in found.ranges {
                prop_assert!(range.start >= end && range.end > range.start);
                prop_assert!(text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}

#[test]
fn blanks_inside_of_lines_are_forgiven_in_one_place_only() {
    let text = "a  =  b;\nx = call(a,\tb);\n";
    assert_eq!(
        place(text, "call(a,  b)"),
        Some((MatchKind::Blanks, vec!["call(a,\tb)"]))
    );
    assert_eq!(place("f(a,  b); f(a,   b);", "f(a, b)"), None);
}

#[test]
fn two_hyphens_match_a_long_dash() {
    assert_eq!(
        place("one\u{2014}two\n", "one--two"),
        Some((MatchKind::Unicode(EmDash::Double), vec!["one\u{2014}two"]))
    );
    assert_eq!(
        place("one\u{2014}two\n", "one-two"),
        Some((MatchKind::Unicode(EmDash::Single), vec!["one\u{2014}two"]))
    );
}
