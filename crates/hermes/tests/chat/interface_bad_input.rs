//! What a terminal must survive: escape sequences in all texts, a window that is closed, a full disk.

use hermes_testkit::{ModelServer, OnScreen, ScriptedAnswer, eventually};
use serde_json::json;

use crate::world::World;

/// A clear screen, a title, a turn of the writing direction, a bell.
const EVIL: &str = "A\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}B\u{9b}31mC\u{8}";

fn started(world: &World, args: &[&str]) -> OnScreen {
    let args: Vec<&str> = ["chat"].iter().chain(args).copied().collect();
    let screen = world.hermes(&args).start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen
}

#[test]
fn nothing_in_a_text_reaches_the_terminal_raw() {
    let world = World::answering([
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": format!("echo '{EVIL}'; false")}),
        )
        .saying(EVIL),
        ScriptedAnswer::text(&format!(
            "```\n{EVIL}\n```\n| {EVIL} |\n|---|\n| x |\n\nend"
        )),
    ]);
    std::fs::write(world.home.user_home().join("evil\u{1b}[2J.txt"), "x").unwrap();
    let mut screen = started(&world, &["--yolo"]);
    screen.press("@evil");
    screen.wait_for("evil\\u{1b}");
    screen.press("\u{1b}");
    screen.press("\u{15}go\r");
    screen.wait_for("end");
    screen.press("\u{14}");
    screen.wait_for("q closes");
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for raw in [
        "\u{1b}]0;",
        "\u{202e}",
        "\u{9b}",
        "A\u{1b}[2J",
        "evil\u{1b}[2J",
        "\u{7}",
        "\u{8}",
    ] {
        assert!(!written.contains(raw), "{raw:?} reached the terminal");
    }
    assert!(written.contains("\\u{202e}"), "nothing was spelled out");
}

#[test]
fn closed_window_stores_the_session_and_ends_its_processes() {
    let world = World::answering([
        ScriptedAnswer::text("first answer"),
        ScriptedAnswer::call("terminal", &json!({"command": "sleep 987 && echo over"})),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("first\r");
    screen.wait_for("first answer");
    screen.press("second\r");
    screen.wait_for("Run sleep 987");
    let is_running = || {
        let shown = std::process::Command::new("pgrep")
            .args(["-f", "sleep 987"])
            .output();
        shown.is_ok_and(|shown| shown.status.success())
    };
    screen.hang_up();
    let ended = screen.wait();
    assert_eq!(ended.code, Some(129), "{ended}");
    eventually("the command ends", || !is_running());
    let listed = world.home.run(["sessions", "list", "--json"]);
    let sessions = listed.succeeds().json();
    let id = sessions[0]["id"].as_str().unwrap().to_owned();
    let stored = world.stored(&id);
    let texts: Vec<&str> = stored
        .iter()
        .filter_map(|row| row["content"].as_str())
        .collect();
    assert!(
        texts.contains(&"first answer") && texts.contains(&"second"),
        "{texts:?}"
    );
}

#[test]
fn end_of_input_ends_the_conversation() {
    let world = World::answering([ScriptedAnswer::text("x")]);
    let mut screen = started(&world, &[]);
    screen.press("\u{4}");
    screen.wait().succeeds();
}

#[test]
fn closed_input_ends_the_conversation_in_one_line_at_most() {
    let world = World::answering([ScriptedAnswer::text("x")]);
    // A descriptor that is closed, and one that is at its end.
    for redirection in ["<&-", "</dev/null"] {
        let script = format!("exec \"$0\" \"$@\" {redirection}");
        for args in [&["chat"][..], &["-r"], &["sessions", "browse"]] {
            let ended = world.hermes(args).wrapped(["sh", "-c", &script]).run();
            let code = i32::from(args != ["chat"]);
            ended.exits(code);
            let lines = ended
                .stderr
                .lines()
                .filter(|line| !line.starts_with("hint:"));
            assert!(lines.count() <= 1, "{redirection}: {ended}");
        }
    }
    assert!(world.bodies().is_empty());
}

#[test]
fn failing_turn_is_one_line_and_the_conversation_goes_on() {
    let refused = ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}}));
    let world = World::answering([refused, ScriptedAnswer::text("better now")]);
    let mut screen = started(&world, &[]);
    screen.press("one\r");
    screen.wait_for("bad key");
    screen.wait_for("hint:");
    screen.press("two\r");
    screen.wait_for("better now");
}

#[test]
fn missing_image_is_named_and_nothing_is_sent() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("x")));
    std::fs::write(world.home.user_home().join("pic.png"), "not really").unwrap();
    let mut screen = started(&world, &[]);
    screen.paste("pic.png");
    screen.wait_for("[image pic.png]");
    std::fs::remove_file(world.home.user_home().join("pic.png")).unwrap();
    screen.press("\r");
    screen.wait_for("Not sent:");
    assert!(world.bodies().is_empty());
}

#[test]
fn unknown_command_suggests_the_nearest() {
    let world = World::answering([ScriptedAnswer::text("x")]);
    let mut screen = started(&world, &[]);
    screen.press("/histroy\r");
    screen.wait_for("did you mean /history?");
    screen.wait_for("test-model");
}

#[test]
fn full_disk_is_one_line_and_the_message_is_kept() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    let root = world.home.root();
    let kept = world
        .home
        .put_outside("kept.yaml", world.home.read("config.yaml"), 0o600);
    let script = format!(
        "mount -t tmpfs -o size=6m tmpfs '{root}'
         cp '{kept}' '{root}/config.yaml'
         exec \"$0\" \"$@\"",
        root = root.display(),
        kept = kept.display(),
    );
    let call = world.hermes(&["chat"]).in_mount_namespace(&script);
    let mut screen = call.start_on_screen(24, 100);
    screen.wait_for("test-model");
    screen.press("first\r");
    screen.wait_for("  one");
    screen.wait_without("Ctrl-C interrupts");
    let ballast = root.join("ballast");
    let ballast = ballast.display();
    screen.press(&format!(
        "!dd if=/dev/zero of={ballast} bs=1k 2>/dev/null; echo fil''led\r"
    ));
    screen.wait_for("filled");
    screen.wait_for("test-model");
    let long = "precious ".repeat(4_000);
    screen.paste(&long);
    screen.wait_for("[pasted 36 KB");
    screen.press("\r");
    screen.wait_for("\u{2717} ");
    screen.wait_for("precious precious");
    screen.press("\u{3}");
    screen.wait_until("an empty text", |shown| {
        shown.lines().any(|row| row.trim_end() == "\u{276f}")
    });
    screen.press(&format!("!rm {ballast}; echo rem''oved\r"));
    screen.wait_for("removed");
    screen.wait_for("test-model");
    screen.press("again\r");
    screen.wait_for("  two");
}
