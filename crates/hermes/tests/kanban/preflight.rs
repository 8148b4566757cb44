//! Cards whose assignee cannot run: said when they are created, by `why` and on the card, before any
//! worker is started.

use hermes_testkit::FakeEngine;
use pretty_assertions::assert_eq;

use crate::Desk;

/// A desk with a profile that has these settings.
fn desk(settings: &str) -> Desk {
    let desk = Desk::new();
    desk.home.put("profiles/builder/config.yaml", settings);
    desk
}

const SCRIPT: &str = "turns: [{text: hello}]\n";

#[test]
fn a_card_whose_assignee_cannot_run_says_so_everywhere() {
    let custom = "model: {provider: custom, default: m, base_url: 'http://127.0.0.1:9/v1'}\n";
    let cases: [(&str, &[&str], &str, &str); 5] = [
        (
            "",
            &[],
            "no model provider is configured",
            "hermes -p builder config set model.provider",
        ),
        (
            "model: {provider: openrouter, default: m}\n",
            &[],
            "no key is set for openrouter (openrouter.ai)",
            "hermes -p builder config set OPENROUTER_API_KEY",
        ),
        (
            "model: {provider: openrouter, base_url: 'https://example.org/v1', api_key: k-12345678}\n",
            &[],
            "no model is set for the provider `openrouter`",
            "hermes -p builder config set model.default",
        ),
        (
            custom,
            &["--skill", "no-such-skill"],
            "Unknown skill(s): no-such-skill",
            "a skill is a directory with a SKILL.md",
        ),
        (
            "model: [broken\n",
            &[],
            "config.yaml",
            "in the profile builder",
        ),
    ];
    for (settings, flags, problem, hint) in cases {
        let desk = desk(settings);
        let args: Vec<&str> = ["create", "x", "--assignee", "builder"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        let created = desk.kanban(&args);
        created
            .succeeds()
            .says_part("builder cannot work on t_")
            .says_part(problem)
            .says_part(hint);
        let id = created.stdout.split_whitespace().nth(1).unwrap().to_owned();
        let why = desk.kanban(&["why", &id]);
        why.succeeds()
            .prints_part("builder cannot run: ")
            .prints_part(problem);
        desk.kanban(&["show", &id])
            .succeeds()
            .prints_part("builder cannot run: ")
            .prints_part("preflight {");
        desk.kanban(&["diagnostics"])
            .succeeds()
            .prints_part(&id)
            .prints_part("builder cannot run: ");
        assert_eq!(desk.events(&id), ["created", "preflight"]);
        // No worker is started, and nothing counts as a failure.
        for _ in 0..3 {
            desk.kanban(&["dispatch"])
                .succeeds()
                .prints_part("Spawned:      0\n")
                .prints_part("Cannot run (builder: ");
        }
        assert_eq!(desk.events(&id), ["created", "preflight"]);
        let card = desk.json(&["show", &id]);
        assert_eq!(card["task"]["status"], "ready");
        assert_eq!(card["task"]["consecutive_failures"], 0);
    }
}

#[test]
fn an_image_that_is_not_here_is_said_and_does_not_hold_the_card() {
    let settings = "model: {provider: custom, default: m, base_url: 'http://127.0.0.1:9/v1'}\n\
                    terminal: {backend: docker, docker_image: 'example/none:1'}\n";
    let desk = desk(settings);
    let engine = FakeEngine::new();
    engine.fail("image-inspect", 1, "Error: No such image: example/none:1\n");
    let call = |args: &[&str]| {
        let call = desk.call(args);
        call.env("HERMES_DOCKER_BINARY", engine.program()).run()
    };
    let created = call(&["create", "x", "--assignee", "builder"]);
    let problem = "the image example/none:1 is not on this machine";
    created.succeeds().says_part(problem);
    let id = created.stdout.split_whitespace().nth(1).unwrap().to_owned();
    call(&["why", &id])
        .succeeds()
        .prints_part("A worker starts for builder.")
        .prints_part(problem);
    assert_eq!(desk.last_event(&id, "preflight")["holds"], false);
    // An engine that is down does.
    engine.fail(
        "image-inspect",
        1,
        "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?\n",
    );
    call(&["why", &id])
        .succeeds()
        .prints_part("builder cannot run: ");
}

#[test]
fn a_card_of_a_profile_that_can_run_draws_no_warning() {
    let desk = Desk::new();
    let script = desk.home.put_outside("script.yaml", SCRIPT, 0o600);
    desk.home.put(
        "profiles/builder/config.yaml",
        format!(
            "model: {{provider: replay, script: '{}'}}\n",
            script.display()
        ),
    );
    let created = desk.kanban(&["create", "x", "--assignee", "builder", "--json"]);
    created.succeeds().says("");
    let id = crate::text(&created.json()["id"]);
    assert_eq!(desk.events(&id), ["created"]);
    desk.kanban(&["why", &id])
        .succeeds()
        .prints_part("A worker starts for builder.");
    // Another program is its own judge.
    desk.home.put("profiles/builder/config.yaml", "");
    desk.call(&["create", "y", "--assignee", "builder", "--json"])
        .env("HERMES_BIN", "/bin/true")
        .run()
        .succeeds()
        .says("");
}
