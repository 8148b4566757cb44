use pretty_assertions::assert_eq;

use super::*;

fn words(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    let file = SourceFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    findings(&file)
        .into_iter()
        .map(|finding| (finding.line, finding.word))
        .collect()
}

#[test]
fn the_workspace_has_no_forbidden_words() {
    let files = rust_files(&crate::workspace::root()).unwrap();
    assert!(files.len() > 100, "found only {} files", files.len());
    let found: Vec<Finding> = files.iter().flat_map(findings).collect();
    assert_eq!(found, []);
}

#[test]
fn unsafe_is_found_outside_its_crate() {
    let text = "fn a() {}\nunsafe fn b() {}\nlet c = unsafe { d() };\n";
    assert_eq!(
        words("crates/hermes-fs/src/x.rs", text),
        [(2, "unsafe"), (3, "unsafe")]
    );
    assert_eq!(words("crates/hermes-proc/src/x.rs", text), []);
    assert_eq!(
        words("crates/hermes-home/tests/it/x.rs", text).len(),
        2,
        "tests are no exception"
    );
}

#[test]
fn unwritten_code_is_found_outside_tests() {
    let text = "fn a() {\n    todo!()\n}\nfn b() { unimplemented!(\"later\") }\n";
    assert_eq!(
        words("crates/hermes/src/main.rs", text),
        [(2, "todo!"), (4, "unimplemented!")]
    );
    for path in [
        "crates/hermes-testkit/src/lib.rs",
        "crates/hermes/tests/it/main.rs",
        "crates/hermes-fs/src/lock_tests.rs",
    ] {
        assert_eq!(words(path, text), [], "{path}");
    }
}

#[test]
fn comments_strings_and_longer_names_are_not_code() {
    let text = r#"
        // unsafe { todo!() }
        /* unsafe
           still unsafe /* todo!() */ unsafe */
        let a = "unsafe \" todo!() ";
        let b = "two lines of
            unsafe text";
        let c = '"'; let UnsafePath { unsafe_code } = d; not_todo!();
    "#;
    assert_eq!(words("crates/hermes/src/main.rs", text), []);
}

#[test]
fn code_after_a_string_or_comment_is_seen() {
    let text = "let a = \"x\"; unsafe {}\n/* b */ todo!()\nlet c = '\"'; unsafe {}\n";
    assert_eq!(
        words("crates/hermes/src/main.rs", text),
        [(1, "unsafe"), (2, "todo!"), (3, "unsafe")]
    );
}
