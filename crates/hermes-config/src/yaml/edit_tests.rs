//! Edits on texts as people write them, and on random ones.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

fn after_set(text: &str, key: &str, value: Value) -> String {
    set(text, &path(key), &value).unwrap()
}

const SAMPLE: &str = "\
# my settings
model:   # the big one
  default: \"x y\"   # quoted
  list: [a, 'b', {c: d}]
  empty:
  blk: |
    line1
    line2

  multi: this is
    folded
# about the terminal
terminal:
  timeout: 180 # seconds

  backend: docker
seq:
- a
-   b: 1
    c: 2
after: 1
";

#[test]
fn a_scalar_changes_in_place() {
    assert_eq!(
        after_set(SAMPLE, "terminal.timeout", json!(99)),
        SAMPLE.replace("180 # seconds", "99 # seconds")
    );
}

#[test]
fn quoted_absent_block_and_folded_values_are_replaced_alone() {
    assert_eq!(
        after_set(SAMPLE, "model.default", json!("z")),
        SAMPLE.replace("\"x y\"   #", "z   #")
    );
    assert_eq!(
        after_set(SAMPLE, "model.empty", json!(1)),
        SAMPLE.replace("empty:", "empty: 1")
    );
    assert_eq!(
        after_set(SAMPLE, "model.blk", json!("s")),
        SAMPLE.replace("|\n    line1\n    line2", "s")
    );
    assert_eq!(
        after_set(SAMPLE, "model.multi", json!(true)),
        SAMPLE.replace("this is\n    folded", "true")
    );
}

#[test]
fn new_keys_go_to_the_end_of_their_mapping() {
    assert_eq!(
        after_set(SAMPLE, "terminal.cwd", json!("/x")),
        SAMPLE.replace("docker\n", "docker\n  cwd: /x\n")
    );
    assert_eq!(
        after_set(SAMPLE, "model.new", json!("off")),
        SAMPLE.replace("folded\n", "folded\n  new: 'off'\n")
    );
    assert_eq!(
        after_set(SAMPLE, "a.b.c", json!(1)),
        format!("{SAMPLE}a:\n  b:\n    c: 1\n")
    );
    assert_eq!(
        after_set(SAMPLE, "model.list.2.e", json!("f, g")),
        SAMPLE.replace("{c: d}", "{c: d, e: 'f, g'}")
    );
    assert_eq!(
        after_set(SAMPLE, "seq.1.d", json!(3)),
        SAMPLE.replace("    c: 2\n", "    c: 2\n    d: 3\n")
    );
}

#[test]
fn a_mapping_gives_way_to_a_scalar_and_back() {
    let text = "a: # keep\n  b: 1\n  c: 2 # inner\nd: 3\n";
    assert_eq!(
        after_set(text, "a", json!("x")),
        "a: x # keep # inner\nd: 3\n"
    );
    assert_eq!(
        after_set("a: 1 # keep\nd: 3\n", "a.b", json!(2)),
        "a: # keep\n  b: 2\nd: 3\n"
    );
    assert_eq!(
        after_set("a: {}\n", "a.b", json!([1, "x"])),
        "a:\n  b: [1, x]\n"
    );
    assert_eq!(
        after_set("a: [1,\n  2]\nb: 1\n", "a.1", json!(5)),
        "a: [1,\n  5]\nb: 1\n"
    );
}

#[test]
fn empty_documents_grow() {
    assert_eq!(after_set("", "a", json!(1)), "a: 1\n");
    assert_eq!(
        after_set("# only a comment", "a", json!(1)),
        "# only a comment\na: 1\n"
    );
    assert_eq!(after_set("{}\n", "a.b", json!(1)), "a:\n  b: 1\n");
    assert_eq!(after_set("---\n", "a", json!(1)), "---\na: 1\n");
    assert_eq!(after_set("a: 1", "b", json!(2)), "a: 1\nb: 2");
    assert_eq!(
        after_set("a: 1\r\nb: 2\r\n", "c.d", json!(2)),
        "a: 1\r\nb: 2\r\nc:\r\n  d: 2\r\n"
    );
}

#[test]
fn aliases_and_merges_are_overridden_not_rewritten() {
    let text = "base: &base {x: 1, y: {z: 2}}\nuse: *base\nmerged:\n  <<: *base\n";
    assert_eq!(
        after_set(text, "use.x", json!(9)),
        text.replace("use: *base", "use:\n  x: 9\n  y:\n    z: 2")
    );
    assert_eq!(
        after_set(text, "merged.x", json!(9)),
        format!("{text}  x: 9\n")
    );
    assert_eq!(
        after_set(text, "merged.y.w", json!(9)),
        format!("{text}  y:\n    z: 2\n    w: 9\n")
    );
    // Changing the anchored value would silently change its users.
    assert!(matches!(
        set(text, &path("base.x"), &json!(7)),
        Err(EditError::Unfaithful(_))
    ));
}

#[test]
fn lists_neither_grow_nor_take_words() {
    let list = "custom_providers:\n- name: a\n";
    assert!(matches!(
        set(list, &path("custom_providers.5.name"), &json!("x")),
        Err(EditError::IndexOutOfRange { len: 1, .. })
    ));
    assert!(matches!(
        set(list, &path("custom_providers.x.name"), &json!("x")),
        Err(EditError::NotAnIndex { .. })
    ));
    assert!(matches!(
        set(list, &path("a..b"), &json!(1)),
        Err(EditError::EmptySegment(_))
    ));
    assert!(matches!(
        set("- a\n", &path("a"), &json!(1)),
        Err(EditError::NotAMapping)
    ));
    assert!(matches!(
        set("a: [1\n", &path("a"), &json!(1)),
        Err(EditError::Syntax(_))
    ));
}

#[test]
fn removal_takes_the_entry_and_nothing_else() {
    let gone = |text: &str, key: &str| remove(text, &path(key)).unwrap();
    assert_eq!(
        gone(SAMPLE, "terminal.timeout"),
        SAMPLE.replace("  timeout: 180 # seconds\n", "")
    );
    assert_eq!(
        gone(SAMPLE, "model.blk"),
        SAMPLE.replace("  blk: |\n    line1\n    line2\n", "")
    );
    assert_eq!(
        gone(SAMPLE, "model.list.2.c"),
        SAMPLE.replace("{c: d}", "{}")
    );
    assert_eq!(gone("a:\n  b: 1\nc: 2\n", "a.b"), "a: {}\nc: 2\n");
    assert_eq!(gone("a: 1\n", "a"), "");
    assert_eq!(gone("a: {x: 1, y: 2}\n", "a.x"), "a: {y: 2}\n");
    assert_eq!(gone("a: {x: 1, y: 2}\n", "a.y"), "a: {x: 1}\n");
    assert_eq!(gone("l:\n- a: 1\n  b: 2\n", "l.0.a"), "l:\n- {b: 2}\n");
    assert!(matches!(
        remove("a: 1\n", &path("b")),
        Err(EditError::NotSet(_))
    ));
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,8}",
        "[0-9]{1,3}",
        Just("on".to_owned()),
        "[ -~]{1,6}"
    ]
    .prop_filter("a dot splits, << merges", |k| {
        !k.contains('.') && k != "<<" && !k.is_empty()
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|n| json!(n)),
        (-1000i32..1000).prop_map(|n| json!(f64::from(n) / 8.0)),
        "[a-zA-Z0-9 :#/'\"$\\{\\}\\[\\],-]{0,12}".prop_map(Value::String),
        any::<String>().prop_map(Value::String),
        prop::sample::select(vec![
            "yes",
            "off",
            "null",
            "~",
            "1e3",
            "0x1f",
            "1:30",
            "2026-01-01",
            "- a",
            "? b",
            "|",
            "&a",
            "*a",
            "!t",
            "%x",
            "@x",
            "`x"
        ])
        .prop_map(|s| json!(s)),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let value = leaf().prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    });
    prop::collection::vec((key(), value), 0..6)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// Block or flow text with comments and blank lines strewn between the top-level entries.
fn document() -> impl Strategy<Value = String> {
    (tree(), prop::collection::vec(0..5u8, 8)).prop_map(|(tree, noise)| {
        let Value::Object(map) = tree else {
            return String::new();
        };
        let mut text = String::new();
        for (index, (key, value)) in map.into_iter().enumerate() {
            let one = json!({ key: value });
            match noise.get(index % noise.len()) {
                Some(0) => text.push_str("# a comment\n\n"),
                Some(1) => text.push('\n'),
                _ => {}
            }
            let trailing = match noise.get((index + 1) % noise.len()) {
                Some(0) => "  # trailing",
                _ => "",
            };
            match noise.get((index + 2) % noise.len()) {
                Some(0 | 1) => {
                    let Value::Object(entry) = one else { continue };
                    for (key, value) in entry {
                        text.push_str(&format!(
                            "{}: {}{trailing}\n",
                            scalar_text(&key),
                            to_flow_text(&value)
                        ));
                    }
                }
                _ => text.push_str(&format!("{}\n", to_block_text(&one))),
            }
        }
        text
    })
}

/// A path that exists in the value, chosen by the numbers, or one step beyond it.
fn choose_path(value: &Value, picks: &[usize]) -> Vec<String> {
    let mut path = Vec::new();
    let mut current = value;
    for pick in picks {
        match current {
            Value::Object(map) if !map.is_empty() => {
                let Some((key, next)) = map.iter().nth(pick % map.len()) else {
                    break;
                };
                path.push(key.clone());
                current = next;
            }
            Value::Array(items) if !items.is_empty() => {
                let index = pick % items.len();
                path.push(index.to_string());
                current = &items[index];
            }
            _ => break,
        }
        if pick % 7 == 0 {
            break;
        }
    }
    if path.is_empty()
        || picks
            .first()
            .is_some_and(|p| p % 5 == 0 && current.is_object())
    {
        path.push("fresh".to_owned());
    }
    path
}

/// Common prefix and suffix in bytes: what lies between is what changed.
fn changed_region(old: &str, new: &str) -> (usize, usize) {
    let prefix = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let rest = old.len().min(new.len()) - prefix;
    let suffix = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    (prefix, old.len() - suffix)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn rendered_values_read_back(value in tree()) {
        for text in [to_block_text(&value), to_flow_text(&value)] {
            let document = Document::parse(&text).unwrap();
            prop_assert_eq!(document.value(), &value, "{}", text);
        }
    }

    #[test]
    fn an_edit_changes_only_its_value(
        text in document(),
        picks in prop::collection::vec(0usize..100, 1..5),
        value in leaf(),
    ) {
        let document = Document::parse(&text).unwrap();
        let path = choose_path(document.value(), &picks);
        let edited = set(&text, &path, &value).unwrap();
        let mut expected = root_map(&document).unwrap();
        set_in_value(&mut expected, &path, value).unwrap();
        let reread = Document::parse(&edited).unwrap();
        prop_assert_eq!(root_map(&reread).unwrap(), expected);
        if let Some(node) = document.find(&path) {
            // Everything outside the old value's bytes (and the gap behind its colon, whose
            // spaces an absent value has none of) is untouched.
            let (start, end) = changed_region(&text, &edited);
            if start < end {
                let lower = text.get(..node.span.start).unwrap_or_default().trim_end().len();
                prop_assert!(start >= lower && end <= node.span.end,
                    "changed {start}..{end}, value at {:?} in {text:?} -> {edited:?}", node.span);
            }
        } else {
            // A new key: the old text is still there, in two pieces around the insertion.
            let (prefix, _) = changed_region(&text, &edited);
            let tail = text.get(prefix..).unwrap_or_default();
            prop_assert!(edited.ends_with(tail) || text.contains("{}"), "{text:?} -> {edited:?}");
        }
    }

    #[test]
    fn a_removal_removes_only_its_entry(
        text in document(),
        picks in prop::collection::vec(1usize..100, 1..5),
    ) {
        let document = Document::parse(&text).unwrap();
        let path = choose_path(document.value(), &picks);
        if document.find(&path).is_none() {
            return Ok(());
        }
        let edited = remove(&text, &path).unwrap();
        let mut expected = root_map(&document).unwrap();
        prop_assert!(remove_in_value(&mut expected, &path));
        prop_assert_eq!(root_map(&Document::parse(&edited).unwrap()).unwrap(), expected);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _parsed = Document::parse(&text);
        let _edited = set(&text, &path("a.b"), &json!(1));
    }
}

#[test]
fn an_element_is_added_and_nothing_else_changes() {
    let path = ["list".to_owned()];
    for (before, after) in [
        ("a: 1\n", "a: 1\nlist: [x y]\n"),
        ("list: []  # none\na: 1\n", "list: [x y]  # none\na: 1\n"),
        ("list: [b, c]  # two\n", "list: [b, c, x y]  # two\n"),
        (
            "# top\nlist:\n  - b  # first\n  # between\n  - c  # last\n\na: 1  # one\n",
            "# top\nlist:\n  - b  # first\n  # between\n  - c  # last\n  - x y\n\na: 1  # one\n",
        ),
        ("list:\n- b\na: 1\n", "list:\n- b\n- x y\na: 1\n"),
        ("list:\n- b", "list:\n- b\n- x y"),
        ("list:\r\n- b\r\n", "list:\r\n- b\r\n- x y\r\n"),
        ("list:\n- x y\n", "list:\n- x y\n"),
        (
            "list:\n- b\n- |\n  text\na: 1\n",
            "list:\n- b\n- |\n  text\n- x y\na: 1\n",
        ),
    ] {
        assert_eq!(
            append(before, &path, &json!("x y")).unwrap(),
            after,
            "{before:?}"
        );
    }
    assert_eq!(
        append("list: word\n", &path, &json!("x")),
        Err(EditError::NotAList("list".to_owned()))
    );
}

#[test]
fn an_element_is_taken_out_with_its_own_lines_alone() {
    let path = |at: &str| vec!["list".to_owned(), at.to_owned()];
    let before =
        "list:  # why\n  - a: 1  # first\n    b: 2\n  # about the second\n  - c: 3\n  - d\nz: 1\n";
    for (at, after) in [
        (
            "0",
            "list:  # why\n  # about the second\n  - c: 3\n  - d\nz: 1\n",
        ),
        (
            "1",
            "list:  # why\n  - a: 1  # first\n    b: 2\n  # about the second\n  - d\nz: 1\n",
        ),
        (
            "2",
            "list:  # why\n  - a: 1  # first\n    b: 2\n  # about the second\n  - c: 3\nz: 1\n",
        ),
    ] {
        assert_eq!(remove(before, &path(at)).unwrap(), after, "{at}");
    }
    assert_eq!(remove("list: [a, b]\n", &path("0")).unwrap(), "list: [b]\n");
    assert_eq!(
        remove("list:\n- a\nz: 1\n", &path("0")).unwrap(),
        "list: []\nz: 1\n"
    );
    assert_eq!(
        remove("list:\n- a\n", &path("3")),
        Err(EditError::NotSet("list.3".to_owned()))
    );
}
