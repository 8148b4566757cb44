//! Commands of a conversation: the table, skills by name, and commands of one's own.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, messages};

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
