use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn shown(tool: &str, arguments: Value, result: &str, unfolded: bool) -> Vec<String> {
    let mut cell = ToolCell::began("call-1".to_owned(), tool.to_owned(), arguments);
    cell.end = Some(CallEnd {
        took: Duration::from_millis(1_200),
        result: result.to_owned(),
    });
    let rows = cell.finished(unfolded, 60, Palette::plain_theme(true), Glyphs::UNICODE);
    rows.iter()
        .map(|row| row.to_string().trim_end().to_owned())
        .collect()
}

#[test]
fn command_is_one_line_that_unfolds() {
    let result = json!({"output": "a\nb\n", "exit_code": 0}).to_string();
    let call = json!({"command": "ls -la\u{1b}[2J"});
    assert_eq!(
        shown("terminal", call.clone(), &result, false),
        ["✓ Run ls -la\\u{1b}[2J  1.2 s · 2 lines"]
    );
    assert_eq!(
        shown("terminal", call, &result, true),
        ["✓ Run ls -la\\u{1b}[2J  1.2 s · 2 lines", "    a", "    b"]
    );
}

#[test]
fn failure_shows_the_end_of_its_output() {
    let output: Vec<String> = (1..=9).map(|n| format!("line {n}")).collect();
    let output = output.join("\n");
    let result = json!({"output": output, "exit_code": 2}).to_string();
    let rows = shown("terminal", json!({"command": "make"}), &result, false);
    assert_eq!(rows[0], "✗ Run make  1.2 s · exit code 2");
    assert_eq!(rows[1], "    … 3 lines before");
    assert_eq!(rows.last().unwrap(), "    line 9");
}

#[test]
fn change_of_a_file_shows_its_diff() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    let result = json!({"success": true, "diff": diff}).to_string();
    let rows = shown("patch", json!({"path": "x"}), &result, false);
    assert_eq!(
        rows,
        ["✓ Edit x  1.2 s", "    @@ -1 +1 @@", "    -old", "    +new"]
    );
}

#[test]
fn long_command_is_clipped_to_the_width() {
    let call = json!({"command": "x".repeat(300)});
    for row in shown("terminal", call, "{}", false) {
        assert!(crate::draw::display_width(&row) <= 60, "{row}");
    }
}

#[test]
fn sub_agents_are_listed_while_they_work() {
    let tasks = json!({"tasks": [{"goal": "read the parser\u{1b}[2J"}, {"goal": "write tests"}]});
    let cell = ToolCell::began("call-1".to_owned(), "delegate_task".to_owned(), tasks);
    let rows = cell.running("*", &[], 60, Palette::plain_theme(true), Glyphs::UNICODE);
    let rows: Vec<String> = rows.iter().skip(1).map(ToString::to_string).collect();
    let branch = Glyphs::UNICODE.branch;
    assert_eq!(
        rows,
        [
            format!("  {branch} read the parser\\u{{1b}}[2J"),
            format!("  {branch} write tests"),
        ]
    );
}
