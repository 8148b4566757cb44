//! Skills that a conversation begins with.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use crate::world::World;

fn world(settings: &str) -> World {
    let server = ModelServer::always(ScriptedAnswer::text("done"));
    let world = World::configured(server, settings);
    world.home.put(
        "skills/writing/greeting/SKILL.md",
        "---\nname: polite-greeting\ndescription: Greets\n---\nRun ${HERMES_SKILL_DIR}/greet.sh.\n",
    );
    world
}

fn system_of(world: &World) -> String {
    let body = world.bodies().pop().unwrap();
    body["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn named_skills_are_in_every_request_and_not_in_the_stored_prompt() {
    for name in ["greeting", "writing/greeting", "polite-greeting"] {
        let world = world("");
        let outcome = world.home.run(["chat", "-Q", "-q", "hi", "-s", name]);
        outcome.succeeds();
        let told = system_of(&world);
        let directory = world.home.path("skills/writing/greeting");
        assert!(told.contains("# Skill: polite-greeting"), "{told}");
        let run = format!("Run {}/greet.sh.", directory.display());
        assert!(told.contains(&run), "{told}");
        assert!(!told.contains("description: Greets"), "{told}");
        let session = crate::world::session_of(&outcome);
        let stored = world
            .home
            .run(["sessions", "export", "-", "--session-id", &session]);
        assert!(!stored.succeeds().stdout.contains("Skill: polite-greeting"));
        // Rules that are left out leave out skills.
        world
            .home
            .run(["chat", "-Q", "-q", "hi", "-s", name, "--ignore-rules"])
            .succeeds();
        assert!(!system_of(&world).contains("polite-greeting"));
    }
}

#[test]
fn skills_that_cannot_be_had_are_refused_by_name() {
    let cases = [
        (
            "",
            "nosuch,greeting,../x",
            "nosuch, ../x",
            "a directory with a SKILL.md",
        ),
        (
            "skills: {disabled: [greeting]}\n",
            "greeting",
            "greeting",
            "skills.disabled",
        ),
        (
            "skills: {disabled: [polite-greeting]}\n",
            "greeting",
            "greeting",
            "skills.disabled",
        ),
    ];
    for (settings, asked, missing, hint) in cases {
        let world = world(settings);
        world
            .home
            .run(["chat", "-Q", "-q", "hi", "-s", asked])
            .exits(1)
            .says_part(&format!("Unknown skill(s): {missing}\n"))
            .says_part(hint);
        assert_eq!(world.bodies().len(), 0);
    }
    let world = world("");
    world.home.put("skills/other/greeting/SKILL.md", "Hello.\n");
    world
        .home
        .run(["chat", "-Q", "-q", "hi", "-s", "greeting"])
        .exits(1)
        .says_part("there are several skills 'greeting'");
    world.home.put(
        "skills/mac/SKILL.md",
        "---\nname: mac\nplatforms: [macos]\n---\nx\n",
    );
    world
        .home
        .run(["chat", "-Q", "-q", "hi", "-s", "mac"])
        .exits(1)
        .says_part("'mac' is not for this system");
}

#[test]
fn skills_of_other_directories_are_found_after_the_profiles_own() {
    let world = world("skills: {external_dirs: [shared], template_vars: false}\n");
    world
        .home
        .put("shared/greeting/SKILL.md", "Not this one.\n");
    world
        .home
        .put("shared/farewell/SKILL.md", "Say ${HERMES_SKILL_DIR}.\n");
    world
        .home
        .run(["chat", "-Q", "-q", "hi", "-s", "farewell", "-s", "greeting"])
        .succeeds();
    let told = system_of(&world);
    let (_, loaded) = told.split_once("skills were loaded").unwrap();
    assert!(loaded.contains("Say ${HERMES_SKILL_DIR}."), "{told}");
    assert!(!loaded.contains("Not this one."), "{told}");
}
