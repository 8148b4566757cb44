//! Colours, widths and what is shown beside the conversation.

use std::time::Duration;

use hermes_testkit::{ModelServer, OnScreen, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::started;
use crate::world::World;

#[test]
fn narrow_terminals_without_colour_or_utf8_are_served() {
    let world = World::answering([ScriptedAnswer::text(
        "- a list\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    )]);
    let call = world
        .hermes(&["chat"])
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C");
    let mut screen = call.start_on_screen(12, 40);
    screen.wait_for("test-model");
    screen.press("hello\r");
    screen.wait_for("1 | 2");
    screen.wait_without("Ctrl-C interrupts");
    let rows = screen.rows();
    assert!(rows.iter().all(|row| row.is_ascii()), "{rows:?}");
    assert_eq!(rows[2], "  * a list");
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for colour in 30..38 {
        assert!(!written.contains(&format!(";{colour}m")), "colour {colour}");
    }
}

#[test]
fn skin_of_the_settings_colours_the_screen_and_another_takes_over() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("fine")),
        "display: {skin: sea}",
    );
    let own = "colors: {ui_accent: '#0088ff', banner_title: '#0088ff'}\n";
    world.home.put("skins/sea.yaml", own);
    let call = world.hermes(&["chat"]).env("COLORTERM", "truecolor");
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    let sign = |screen: &OnScreen| {
        let row = u16::try_from(
            screen
                .rows()
                .iter()
                .rposition(|row| row.starts_with('❯'))
                .unwrap(),
        );
        screen.with_screen(|model| model.cell(row.unwrap(), 0).unwrap().fgcolor())
    };
    assert_eq!(sign(&screen), vt100::Color::Rgb(0, 0x88, 0xff));
    screen.press("/skin slate\r");
    screen.wait_for("Skin: slate");
    screen.wait_for("test-model");
    assert_eq!(sign(&screen), vt100::Color::Rgb(0x7e, 0xb8, 0xf6));
    screen.press("/skin default\r");
    screen.wait_for("Skin: default");
    screen.press("hello\r");
    screen.wait_for("  fine");
    screen.wait_without("Ctrl-C interrupts");
    assert_eq!(sign(&screen), vt100::Color::Idx(6));
}

#[test]
fn broken_skin_is_one_warning_and_the_default() {
    for (file, says) in [
        ("colors: {ui_accent: blueish}\n", "colors.ui_accent is"),
        ("colors: [1\n", "skins/sea.yaml"),
        ("- x\n", "not a mapping"),
    ] {
        let world = World::configured(
            ModelServer::always(ScriptedAnswer::text("fine")),
            "display: {skin: sea}",
        );
        world.home.put("skins/sea.yaml", file);
        let mut screen = started(&world, &[]);
        screen.wait_for(says);
        screen.wait_for("the default skin is shown");
        screen.press("/status\r");
        screen.wait_for("Provider");
        screen.press("hello\r");
        screen.wait_for("  fine");
        let all = screen.all_rows().join("\n");
        assert_eq!(all.matches(says).count(), 1, "{all}");
    }
}

#[test]
fn settings_of_the_display_act_in_the_interface() {
    let answer = || ScriptedAnswer::text("fine");
    let call = || ScriptedAnswer::call("terminal", &json!({"command": "seq 1 40"}));
    let world = World::configured(
        ModelServer::start([answer(), call(), answer(), call(), answer(), answer()]),
        "display: {timestamps: true, timestamp_format: 'at-%H', runtime_footer: {enabled: true}}",
    );
    let mut screen = started(&world, &["--yolo"]);
    screen.press("hello\r");
    screen.wait_for("❯ hello  [at-");
    screen.wait_until("the line under the answer", |shown| {
        shown
            .lines()
            .any(|row| row.starts_with("  [at-") && row.contains("test-model · "))
    });
    // Typed ahead: each is run when the one before is over.
    screen.press("/timestamps off\r/footer off\r/statusbar\r/verbose off\r");
    for says in [
        "Times of messages: off",
        "under answers: off",
        "The status line is off",
        "Tool calls are not shown",
    ] {
        screen.wait_for(says);
    }
    screen.wait_until("each command above its output", |shown| {
        let at = |text: &str| shown.find(text);
        let (footer, bar) = (at("❯ /footer off"), at("❯ /statusbar"));
        footer.is_some() && footer < at("under answers: off") && at("under answers: off") < bar
    });
    screen.press("/redraw\r");
    screen.wait_without("fine");
    screen.press("again\r");
    screen.wait_for("  fine");
    screen.wait_without("Ctrl-C interrupts");
    let shown = screen.rows().join("\n");
    assert!(
        !shown.contains("[at-") && !shown.contains("Run seq") && !shown.contains("test-model"),
        "{shown}"
    );
    screen.press("/verbose verbose\r");
    screen.wait_for("with their output");
    screen.press("once more\r");
    screen.wait_until("the output", |shown| {
        shown.lines().any(|row| row.trim() == "40")
    });
}

#[test]
fn status_line_shows_profile_branch_yolo_and_what_runs_in_the_background() {
    let call = json!({"command": "until [ -e gone ]; do sleep 0.1; done", "background": true});
    let world = World::answering([
        ScriptedAnswer::call("terminal", &call),
        ScriptedAnswer::text("started"),
    ]);
    world
        .home
        .run(["profile", "create", "coder", "--clone"])
        .succeeds();
    let directory = world.home.outside("work");
    std::fs::create_dir_all(directory.join(".git")).unwrap();
    std::fs::write(directory.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
    let mut screen = world
        .hermes(&["-p", "coder", "chat", "--yolo"])
        .in_directory(&directory)
        .start_on_screen(24, 100);
    screen.wait_for("yolo · test-model · coder · ");
    screen.wait_for(" · topic");
    screen.press("go\r");
    screen.wait_for("  started");
    screen.wait_for("1 in background");
    // Its end is shown without a key.
    std::fs::write(directory.join("gone"), "").unwrap();
    screen.wait_without("in background");
}

#[test]
fn long_turn_rings_when_it_ends() {
    let long =
        ScriptedAnswer::pieces(&["one ", "two ", "three"]).slowly(Duration::from_millis(3_600));
    let world = World::configured(
        ModelServer::start([long, ScriptedAnswer::text("short")]),
        "display: {bell_on_complete: true}\n",
    );
    let mut screen = started(&world, &[]);
    let rings = |screen: &OnScreen| {
        let bytes = screen.bytes();
        let notice = b"\x07\x1b]9;";
        bytes
            .windows(notice.len())
            .filter(|part| part == notice)
            .count()
    };
    screen.press("a long one\r");
    screen.wait_for("one two three");
    screen.wait_without("Ctrl-C interrupts");
    assert_eq!(rings(&screen), 1);
    screen.press("a short one\r");
    screen.wait_for("  short");
    screen.wait_without("Ctrl-C interrupts");
    assert_eq!(rings(&screen), 1);
}
