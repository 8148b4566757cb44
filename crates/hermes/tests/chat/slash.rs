//! Commands of a conversation: the table, skills by name, and commands of one's own.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, messages};

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82";

/// Lines typed into a conversation; gives what it says beside the answers.
fn typed(world: &World, lines: &str) -> hermes_testkit::ProgramOutput {
    world.hermes(&["chat", "--cli"]).stdin(lines).run()
}

fn always(more: &str) -> World {
    World::configured(ModelServer::always(ScriptedAnswer::text("an answer")), more)
}

#[test]
fn model_for_all_sessions_is_written_and_others_are_not() {
    let world = always("");
    typed(&world, "/model other-model\nhi\n").succeeds();
    assert_eq!(world.bodies().last().unwrap()["model"], "other-model");
    assert!(!world.home.read("config.yaml").contains("other-model"));
    typed(&world, "/model other-model --global\n")
        .succeeds()
        .says_part("in this session and in new ones");
    let config = world.home.read("config.yaml");
    assert!(config.contains("default: other-model"), "{config}");
    assert!(config.contains("provider: custom"), "{config}");
    typed(&world, "/model a b\n")
        .exits(1)
        .says_part("only one name");
    typed(&world, "/model --global\n")
        .exits(1)
        .says_part("need a model");
}

#[test]
fn model_list_is_asked_for_once_and_remembered() {
    let list = json!({"data": [{"id": "m-1", "context_length": 9000}, {"id": "m-2"}]});
    let server = ModelServer::always(ScriptedAnswer::text("x"))
        .with("/v1/models", ScriptedAnswer::status(200, &list));
    let world = World::configured(server, "");
    typed(&world, "/model\n")
        .succeeds()
        .says_part("/model --refresh asks");
    typed(&world, "/model --refresh\n")
        .succeeds()
        .says_part("m-1  9K window");
    typed(&world, "/model\n").succeeds().says_part("m-2");
    let asked = world.server.received();
    let asked = asked.iter().filter(|one| one.path == "/v1/models").count();
    assert_eq!(asked, 1);
}

#[test]
fn skill_by_name_becomes_the_message() {
    let world = always("");
    world.home.put(
        "skills/haiku/SKILL.md",
        "---\nname: haiku\ndescription: Verses\n---\nAnswer in verses.\n",
    );
    typed(&world, "/haiku about rain\n").succeeds();
    let sent = world.last_messages();
    let sent = sent.last().unwrap()["content"].as_str().unwrap();
    assert!(
        sent.contains("Answer in verses.") && sent.ends_with("about rain"),
        "{sent}"
    );
    typed(&world, "/skills\n").succeeds().says_part("/haiku");
    typed(&world, "/haikuu\n")
        .exits(1)
        .says_part("unknown command: /haikuu");
}

#[test]
fn quick_commands_run_and_stand_for_others() {
    let world = always(
        "quick_commands:\n  \
         where: {type: exec, command: 'echo here-$((1+1))'}\n  \
         bad: {type: exec, command: 'exit 3'}\n  \
         empty: {type: exec}\n  \
         st: {type: alias, target: status}\n  \
         loop: {type: alias, target: /loop}\n  \
         odd: {type: dance}\n",
    );
    typed(&world, "/where\n").succeeds().says_part("here-2");
    typed(&world, "/st\n").succeeds().says_part("Session");
    typed(&world, "/bad\n").exits(1).says_part("exit code 3");
    typed(&world, "/empty\n")
        .exits(1)
        .says_part("quick_commands.empty has no command");
    typed(&world, "/loop\n")
        .exits(1)
        .says_part("leads to another quick command");
    typed(&world, "/odd\n")
        .exits(1)
        .says_part("the types are exec and alias");
    typed(&world, "/help\n")
        .succeeds()
        .says_part("/where                           echo here-");
    assert_eq!(world.bodies().len(), 0);
}

#[test]
fn branch_copies_the_session_and_resume_goes_back() {
    let world = always("");
    let outcome = typed(
        &world,
        "first\n/title origin\n/branch copy\nsecond\n/resume origin\nthird\n",
    );
    outcome
        .succeeds()
        .says_part("a copy of")
        .says_part("Resumed session");
    let bodies = world.bodies();
    let texts = |at: usize| -> Vec<String> {
        let sent = messages(&bodies[at]);
        let own = sent.iter().filter(|one| one["role"] == "user");
        own.map(|one| one["content"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(texts(1), ["first", "second"]);
    assert_eq!(texts(2), ["first", "third"]);
    let listed = world.home.run(["sessions", "list", "--json"]).json();
    let titles: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["title"].as_str())
        .collect();
    assert!(
        titles.contains(&"origin") && titles.contains(&"copy"),
        "{titles:?}"
    );
    // Named before anything is left.
    typed(&world, "/resume nosuch\nfourth\n")
        .exits(0)
        .says_part("nosuch");
    assert_eq!(world.bodies().len(), 4);
}

#[test]
fn reasoning_and_personality_reach_the_model() {
    let world = always("personalities: {pirate: 'Speak like a pirate.'}");
    typed(&world, "/reasoning high\nhi\n").succeeds();
    assert_eq!(world.bodies().last().unwrap()["reasoning_effort"], "high");
    typed(&world, "/reasoning much\n")
        .exits(1)
        .says_part("the levels are");
    typed(&world, "/reasoning low --global\n").succeeds();
    assert!(
        world
            .home
            .read("config.yaml")
            .contains("reasoning_effort: low")
    );
    typed(&world, "/personality pirate\nhi\n").succeeds();
    let system = world.last_messages()[0]["content"].to_string();
    assert!(system.contains("Speak like a pirate."), "{system}");
    typed(&world, "/personality nosuch\n")
        .exits(1)
        .says_part("no such personality");
    // There are some that nobody has to write, and one may stay.
    typed(&world, "/personality\n")
        .succeeds()
        .says_part("pirate         Speak like a pirate.")
        .says_part("concise        Answer as briefly");
    typed(&world, "/personality concise --global\n").succeeds();
    assert!(
        world
            .home
            .read("config.yaml")
            .contains("personality: concise")
    );
    world.ask("hi").succeeds();
    let system = world.last_messages()[0]["content"].to_string();
    assert!(
        system.contains("as briefly as the question allows"),
        "{system}"
    );
    world.configure(
        "context_length: 200000",
        "agent: {personalities: {bard: {system_prompt: Rhyme., tone: merry}}}\ndisplay: {personality: bard}",
    );
    world.ask("hi").succeeds();
    let system = world.last_messages()[0]["content"].to_string();
    assert!(system.contains("Rhyme.\\nTone: merry"), "{system}");
    world.configure(
        "context_length: 200000",
        "personalities: {pirate: 'Speak like a pirate.'}\ndisplay: {personality: pirate}",
    );
    world.ask("hi").succeeds();
    assert!(
        world.last_messages()[0]["content"]
            .to_string()
            .contains("pirate")
    );
}

#[test]
fn image_goes_with_the_next_message_only() {
    let world = always("");
    let image = world.home.user_home().join("dot.png");
    std::fs::write(&image, b"\x89PNG\r\n\x1a\n0").unwrap();
    typed(&world, "/image dot.png\nlook\nagain\n")
        .succeeds()
        .says_part("goes with the next");
    let bodies = world.bodies();
    assert_eq!(bodies[0].to_string().matches("data:image/png").count(), 1);
    assert_eq!(bodies[1].to_string().matches("data:image/png").count(), 1);
    typed(&world, "/image nosuch.png\n")
        .exits(1)
        .says_part("nosuch.png");
    typed(&world, "/image\n")
        .exits(1)
        .says_part("/image needs a file");
}

#[test]
fn commands_of_the_program_are_the_same_inside() {
    let world = always("");
    let board = typed(&world, "/kanban create 'From the chat'\n/kanban list\n");
    board.succeeds().prints_part("From the chat");
    typed(&world, "/kanban nosuch\nhi\n")
        .succeeds()
        .says_part("nosuch");
    typed(&world, "/config get model.default\n")
        .succeeds()
        .prints_part("test-model");
    typed(&world, "/kanban create 'unclosed\n")
        .exits(1)
        .says_part("not closed");
    typed(&world, "/version\n").succeeds().prints_part("hermes");
    typed(&world, "/sessions\n")
        .succeeds()
        .prints_part("Last Active");
    typed(&world, "/reload\nhi\n")
        .succeeds()
        .says_part("read again");
}

#[test]
fn conversation_is_saved_and_work_goes_on_beside_it() {
    let world = always("");
    let saved = typed(&world, "/save\nhi\n/save out.json\n/save out.json\n");
    saved
        .says_part("nothing to save yet")
        .says_part("Saved in")
        .says_part("exists already");
    let text = std::fs::read_to_string(world.home.user_home().join("out.json")).unwrap();
    assert!(text.contains("an answer"));
    typed(&world, "/queue tell me\n")
        .succeeds()
        .prints_part("an answer");
    typed(&world, "/stop\n")
        .succeeds()
        .says_part("no background processes");
    typed(&world, "/background\n")
        .exits(1)
        .says_part("nothing to work on");
    typed(&world, "/copy\n")
        .exits(1)
        .says_part("no such answer");
    typed(&world, "hi\n/copy\n")
        .succeeds()
        .says_part("Copied 9 characters");
    let mut terminal = world.hermes(&["chat", "--cli"]).start_at_terminal();
    terminal.wait_for("> ");
    terminal.press("/background look around\r");
    terminal.wait_for("Background session");
    terminal.wait_for("an answer");
    terminal.press("\u{4}");
    terminal.wait().succeeds();
}

#[test]
fn commands_about_the_display_write_settings_that_act_at_once() {
    let world = always("");
    let shown = typed(&world, "/timestamps on\nhello\n/history\n");
    shown.succeeds();
    let time = shown.stderr.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with('[') && line.get(3..4) == Some(":") && line.contains("user")
    });
    assert!(time, "{shown}");
    for (line, says, key, value) in [
        ("/timestamps off", "off, here", "timestamps", "false"),
        ("/footer", "The line under answers: on", "enabled", "true"),
        (
            "/busy queue",
            "waits for its end",
            "busy_input_mode",
            "queue",
        ),
        ("/indicator ascii", "ascii", "tui_status_indicator", "ascii"),
        ("/skin slate", "Skin: slate", "skin", "slate"),
        ("/reasoning hide", "not shown", "show_reasoning", "false"),
        ("/reasoning full", "stays above", "reasoning_full", "true"),
    ] {
        typed(&world, &format!("{line}\n"))
            .succeeds()
            .says_part(says);
        let config = world.home.read("config.yaml");
        assert!(
            config.contains(&format!("{key}: {value}")),
            "{line}: {config}"
        );
    }
    typed(&world, "/busy status\n")
        .succeeds()
        .says_part("waits");
    typed(&world, "/timestamps status\n")
        .succeeds()
        .says_part(": off");
    for line in [
        "/busy never",
        "/timestamps maybe",
        "/indicator x",
        "/verbose x",
        "/skin ../x",
    ] {
        typed(&world, &format!("{line}\n"))
            .exits(1)
            .says_part("hint:");
    }
}

#[test]
fn tool_progress_decides_what_is_shown_of_calls() {
    let calls = |more: &str, lines: &str| {
        let call = || ScriptedAnswer::call("terminal", &json!({"command": "echo a-line"}));
        let world = World::configured(
            ModelServer::start([call(), call(), ScriptedAnswer::text("done")]),
            more,
        );
        let args = ["chat", "--cli", "--yolo"];
        let shown = world.hermes(&args).stdin(lines).run();
        shown.succeeds();
        let text = format!("{}{}", shown.stdout, shown.stderr);
        let count = text.matches("┊ terminal {").count();
        (
            count,
            text.contains("a-line\\n\"") || text.contains("\"output\":"),
        )
    };
    assert_eq!(calls("", "go\n"), (2, false));
    assert_eq!(calls("display: {tool_progress: off}", "go\n"), (0, false));
    assert_eq!(calls("display: {tool_progress: new}", "go\n"), (1, false));
    assert_eq!(
        calls("display: {tool_progress: verbose}", "go\n"),
        (2, true)
    );
    assert_eq!(calls("", "/verbose\ngo\n"), (2, true));
    assert_eq!(calls("", "/verbose off\ngo\n"), (0, false));
}

#[test]
fn skins_are_listed_with_the_persons_own_and_what_is_wrong_with_them() {
    let world = always("");
    let own = "name: sea\ndescription: blue and green\ncolors: {ui_accent: '#0088ff'}\n";
    world.home.put("skins/sea.yaml", own);
    world
        .home
        .put("skins/broken.yaml", "colors: {ui_ok: blueish}\n");
    let listed = typed(&world, "/skin\n");
    listed.succeeds();
    for part in ["* default", "slate", "blue and green", "colors.ui_ok is"] {
        listed.says_part(part);
    }
    typed(&world, "/skin sea\n")
        .succeeds()
        .says_part("Skin: sea");
    typed(&world, "/skin broken\n")
        .exits(1)
        .says_part("#RRGGBB");
    assert!(world.home.read("config.yaml").contains("skin: sea"));
}

#[test]
fn image_of_the_clipboard_goes_with_the_next_message() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("seen")),
        "agent: {image_input_mode: native}",
    );
    let png = world.home.put_outside("pixel.png", PIXEL, 0o644);
    let script = format!("#!/bin/sh\nexec cat '{}'\n", png.display());
    let directory = world.home.put_outside("bin/wl-paste", script, 0o755);
    let path = format!("{}:/usr/bin:/bin", directory.parent().unwrap().display());
    let call = |input: &str| {
        let call = world.hermes(&["chat", "--cli"]).stdin(input);
        call.env("PATH", &path).run()
    };
    call("/paste\nwhat is it?\n")
        .succeeds()
        .says_part("goes with the next message");
    let sent = world.bodies().last().unwrap().to_string();
    assert!(sent.contains("data:image/png;base64,"), "{sent}");
    world
        .home
        .put_outside("bin/wl-paste", "#!/bin/sh\necho text\n", 0o755);
    call("/paste\n")
        .exits(1)
        .says_part("no image on the clipboard");
    let bare = world.hermes(&["chat", "--cli"]).stdin("/paste\n");
    bare.env("PATH", "/nonexistent")
        .run()
        .exits(1)
        .says_part("install wl-clipboard or xclip");
}

#[test]
fn what_runs_in_the_background_is_listed() {
    let world = World::answering([
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "sleep 321", "background": true}),
        ),
        ScriptedAnswer::text("started"),
    ]);
    let args = ["chat", "--cli", "--yolo"];
    let shown = world
        .hermes(&args)
        .stdin("/agents\ngo\n/agents\n/whoami\n/stop\n")
        .run();
    shown.succeeds();
    shown.says_part("Nothing runs in the background.");
    shown.says_part("  sleep 321");
    shown.says_part("Profile    default");
}

#[test]
fn commands_that_are_not_here_say_what_to_use_instead() {
    let world = always("");
    for (line, part) in [
        ("/subscription", "/usage"),
        ("/topup", "page of their provider"),
        ("/update", "install the new version"),
        ("/codex-runtime auto", "/model"),
        ("/pet", "/skin"),
        ("/hatch a cat", "/indicator"),
        ("/snapshot", "hermes backup"),
        ("/voice on", "dictation"),
        ("/approve", "/help"),
    ] {
        typed(&world, &format!("{line}\n"))
            .succeeds()
            .says_part(part);
    }
    assert_eq!(world.bodies().len(), 0);
}

#[test]
fn insights_count_what_was_done_in_a_span_of_days() {
    let world = always("");
    typed(&world, "/insights 7\n")
        .succeeds()
        .prints_part("No sessions in the last 7 days");
    typed(&world, "one\ntwo\n").succeeds();
    typed(&world, "/insights 1\n")
        .succeeds()
        .prints_part("In the last 1 day, on 1 day:")
        .prints_part("Messages of yours")
        .prints_part("test-model");
    let found = world.home.run(["insights", "--json"]).json();
    assert_eq!(found["sessions"], 1);
    assert_eq!(found["user_messages"], 2);
    assert_eq!(found["sources"][0]["name"], "cli");
    let other = world
        .home
        .run(["insights", "--source", "cron", "--json"])
        .json();
    assert_eq!(other["sessions"], 0);
    for wrong in ["/insights x", "/insights 0", "/insights -3"] {
        typed(&world, &format!("{wrong}\n"))
            .exits(1)
            .says_part("is not a number of days");
    }
    world.home.run(["insights", "--days", "0"]).exits(2);
}

#[test]
fn toolsets_are_switched_for_new_conversations() {
    let world = always("");
    typed(&world, "/tools disable todo\n/tools enable nosuch\n")
        .exits(1)
        .prints_part("Switched off for cli: todo")
        .says_part("there is no toolset 'nosuch'");
    typed(&world, "hi\n").succeeds();
    let tools = world.bodies().pop().unwrap()["tools"].to_string();
    assert!(!tools.contains("\"todo\""), "{tools}");
    typed(&world, "/tools enable todo\n/tools sing\n")
        .exits(1)
        .prints_part("Switched on for cli: todo")
        .says_part("it is list, enable NAME or disable NAME");
}

#[test]
fn user_without_a_variable_is_looked_up_by_number() {
    let world = always("");
    let named = hermes_home::SystemFacts::of_process().user_name().unwrap();
    let call = world.hermes(&["chat", "--cli"]).without_env("USER");
    call.stdin("/whoami\n")
        .run()
        .succeeds()
        .says_part(&format!("User       {named}"));
}

#[test]
fn jobs_are_listed_from_the_conversation() {
    let world = always("");
    typed(&world, "/cron\n").succeeds().prints_part("No");
}
