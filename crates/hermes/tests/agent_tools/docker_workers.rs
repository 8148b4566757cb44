//! Workers whose commands run in containers: each card in a container of its own, which is there as
//! long as the attempt, while what a profile shares stays.

use std::time::{Duration, Instant};

use hermes_docker::labels;
use hermes_testkit::{EngineImage, ProgramCall, RealEngine, RemoveContainers};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::end_to_end::{Builder, PATIENCE, SCRIPT, from_filing_to_the_next_card};

/// Says that it is there and stays.
const LONG_WORK: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: terminal, arguments: {command: "touch begun; sleep 600", timeout: 590}}]
  - text: Done.
"#;

/// A profile whose commands run in containers, and the containers.
struct Yard {
    builder: Builder,
    containers: RemoveContainers,
}

impl Yard {
    fn new(script: &str) -> Self {
        let image = EngineImage::Debian.name_in(RealEngine::Docker);
        let settings = format!("terminal:\n  backend: docker\n  docker_image: {image}\n");
        let builder = Builder::new(script, &settings);
        let home = builder.desk.home.path("profiles/builder");
        let label = format!("{}={}", labels::HOME, labels::home_key(&home));
        Self {
            builder,
            containers: RemoveContainers::of(RealEngine::Docker, label),
        }
    }

    /// The container that all conversations of the profile share.
    fn shared(&self) -> String {
        let run = self.hermes(&["-p", "builder", "exec", "--", "true"]);
        run.run().succeeds();
        let ids = self.containers.ids();
        assert_eq!(ids.len(), 1);
        ids[0].clone()
    }

    /// As on a machine that is no container.
    fn hermes(&self, args: &[&str]) -> ProgramCall {
        self.builder.desk.home.hermes(args).on_host()
    }

    #[track_caller]
    fn until_there_are(&self, wanted: &[String]) {
        until("the containers of workers are gone", || {
            self.containers.ids() == wanted
        });
    }

    /// A card whose worker is in the middle of a command; gives its number.
    fn at_work(&self, id: &str) -> u32 {
        let spawned = self.builder.dispatch().succeeds().json();
        assert_eq!(spawned["spawned"][0]["task_id"], id, "{spawned}");
        let workspace = self
            .builder
            .desk
            .home
            .path(&format!("kanban/workspaces/{id}"));
        until("the command has begun", || workspace.join("begun").exists());
        let pid = &self.builder.card(id)["task"]["worker_pid"];
        u32::try_from(pid.as_u64().unwrap()).unwrap()
    }

    fn events(&self, id: &str) -> Vec<String> {
        let card = self.builder.card(id);
        let events = card["events"].as_array().unwrap();
        let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
        events.iter().map(kind).collect()
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn cards_leave_their_work_and_no_container() {
    let yard = Yard::new(SCRIPT);
    let shared = yard.shared();
    let told = from_filing_to_the_next_card(&yard.builder);
    assert!(told.contains("/workspace"), "not in a container: {told}");
    yard.until_there_are(&[shared]);
}

#[test]
fn deliverables_are_kept_under_the_names_they_have_in_the_container() {
    let script = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show, last: "Workspace: scratch @ /workspace"}
    calls:
      - tool: terminal
        arguments:
          command: "mkdir out; echo a > out/a.txt; cp /root/.hermes/kanban/attachments/notes.txt b.txt"
  - match: {tool: terminal}
    calls:
      - tool: kanban_complete
        arguments: {summary: "See /workspace/b.txt.", artifacts: [/workspace/out/a.txt]}
  - text: Done.
"#;
    let yard = Yard::new(script);
    let id = yard.builder.desk.create("x", &["--assignee", "builder"]);
    let notes = yard
        .builder
        .desk
        .home
        .put_outside("notes.txt", "b\n", 0o600);
    let notes = notes.to_str().unwrap();
    yard.hermes(&["kanban", "attach", &id, notes])
        .run()
        .succeeds();
    yard.builder.work(&id, "done");
    let told = yard.builder.session(&yard.builder.card(&id)["runs"][0]);
    assert!(told.contains("→ `/root/.hermes/kanban/attachments/notes.txt`"));
    let card = yard.builder.card(&id);
    let artifacts = card["runs"][0]["metadata"]["artifacts"].as_array().unwrap();
    let kept: Vec<String> = artifacts
        .iter()
        .map(|path| std::fs::read_to_string(path.as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(kept, ["a\n", "b\n"]);
}

#[test]
fn a_killed_worker_leaves_no_container_once_its_loss_is_noticed() {
    let yard = Yard::new(LONG_WORK);
    let shared = yard.shared();
    let flags = ["--assignee", "builder", "--max-retries", "1"];
    let id = yard.builder.desk.create("long", &flags);
    let pid = yard.at_work(&id);
    assert_eq!(yard.containers.ids().len(), 2);
    kill(pid, rustix::process::Signal::KILL);
    let look = yard
        .hermes(&["kanban", "dispatch", "--json"])
        .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
    let report = look.run().succeeds().json();
    assert_eq!(report["crashed"][0], id.as_str(), "{report}");
    // Gone when the command has ended, not some time later.
    assert_eq!(yard.containers.ids(), [shared]);
    assert!(yard.events(&id).contains(&"gave_up".to_owned()));
}

#[test]
fn a_worker_that_is_taken_off_its_card_leaves_no_container() {
    let yard = Yard::new(LONG_WORK);
    let shared = yard.shared();
    let id = yard.builder.desk.create("long", &["--assignee", "builder"]);
    yard.at_work(&id);
    yard.hermes(&["kanban", "reclaim", &id]).run().succeeds();
    yard.until_there_are(&[shared]);
    assert_eq!(yard.builder.desk.status(&id), "ready");
}

/// A model that insists on flagged commands.
const FLAGGED: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls:
      - {tool: terminal, arguments: {command: "mkdir build && touch build/a && rm -rf build && sh -c 'echo made > made' && cat made"}}
  - match: {tool: terminal}
    calls: [{tool: kanban_complete, arguments: {summary: "Done as told."}}]
  - text: Done.
"#;

#[test]
fn docker_worker_with_only_its_workspace_mounted_needs_no_approval() {
    let yard = Yard::new(FLAGGED);
    let id = yard
        .builder
        .desk
        .create("do it", &["--assignee", "builder"]);
    yard.builder.work(&id, "done");
    let card = yard.builder.card(&id);
    let told = yard.builder.session(&card["runs"][0]);
    assert!(told.contains("made") && !told.contains("DENIED"), "{told}");
}

/// Files a card on a directory of the host, then completes.
const FILES_A_CARD: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls:
      - tool: kanban_create
        arguments: {title: take all, assignee: builder, workspace_kind: dir, workspace_path: "$PATH_OF_HOST"}
  - match: {tool: kanban_create, step: 2}
    calls:
      - tool: kanban_create
        arguments: {title: go on, assignee: builder, workspace_kind: dir, workspace_path: /workspace/part}
  - match: {tool: kanban_create}
    calls: [{tool: kanban_complete, arguments: {summary: Filed.}}]
  - text: Done.
"#;

#[test]
fn docker_worker_cannot_have_the_home_of_hermes_mounted() {
    let yard = Yard::new("turns: []\n");
    let desk = &yard.builder.desk;
    let project = desk.home.outside("project");
    std::fs::create_dir(&project).unwrap();
    let script = FILES_A_CARD.replace("$PATH_OF_HOST", desk.home.root().to_str().unwrap());
    desk.home.put_outside("script.yaml", &script, 0o600);
    let place = format!("dir:{}", project.display());
    let id = desk.create("x", &["--assignee", "builder", "--workspace", &place]);
    yard.builder.work(&id, "done");
    let told = yard.builder.session(&yard.builder.card(&id)["runs"][0]);
    assert!(
        told.contains("cannot be a workspace: it is a home of Hermes"),
        "{told}"
    );
    let cards = desk.kanban(&["list"]);
    let cards = cards.as_array().unwrap();
    let next: Vec<&Value> = cards
        .iter()
        .filter(|card| card["title"] == "go on")
        .collect();
    assert_eq!((cards.len(), next.len()), (2, 1), "{cards:?}");
    // Directories that it sees are those of this machine.
    let part = project.join("part");
    assert_eq!(next[0]["workspace_path"], part.to_str().unwrap());
    assert_eq!(next[0]["filed_within"], project.to_str().unwrap());

    // A card that says so all the same gets no container at all.
    let database = desk.home.path("kanban.db");
    let database = hermes_store::rusqlite::Connection::open(database).unwrap();
    let root = desk.home.root();
    let next = next[0]["id"].as_str().unwrap();
    let sql = "UPDATE tasks SET workspace_path = ?1, filed_within = NULL WHERE id = ?2";
    database
        .execute(sql, [root.to_str().unwrap(), next])
        .unwrap();
    let report = yard.builder.dispatch().succeeds().json();
    let error = report["spawn_failed"][0]["error"]
        .as_str()
        .unwrap_or_default();
    assert!(error.contains("is a home of Hermes"), "{report}");
    let mounted = yard
        .hermes(&["-p", "builder", "exec", "--", "ls"])
        .env("HERMES_KANBAN_TASK", next)
        .env("HERMES_KANBAN_WORKSPACE", &root)
        .run();
    mounted.exits(1).says_part("is a home of Hermes");
    assert_eq!(yard.containers.ids(), Vec::<String>::new());
}

/// Makes something outside of the workspace, where only its own container has it.
const MAKES_IT_INSIDE: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: terminal, arguments: {command: "echo made > /opt/made"}}]
  - match: {tool: terminal}
    calls: [{tool: kanban_complete, arguments: {summary: Made.}}]
  - text: Done.
"#;

#[test]
fn checks_run_in_the_container_of_the_worker() {
    let yard = Yard::new(MAKES_IT_INSIDE);
    let check = "test \"$(cat /opt/made)\" = made && test \"$PWD\" = /workspace";
    let flags = ["--assignee", "builder", "--check", check];
    let id = yard.builder.desk.create("x", &flags);
    assert_eq!(yard.builder.card(&id)["checks_run"], "docker");
    yard.builder.work(&id, "done");
    assert_eq!(yard.builder.card(&id)["checked"], "checked");
    yard.until_there_are(&[]);
}

#[test]
fn checks_of_a_card_that_nobody_works_on_run_in_a_container_or_where_a_person_wants() {
    let yard = Yard::new(SCRIPT);
    let desk = &yard.builder.desk;
    let project = desk.home.outside("project");
    std::fs::create_dir(&project).unwrap();
    let place = format!("dir:{}", project.display());
    let flags = ["--assignee", "builder", "--workspace", &place];
    let inside = "test \"$PWD\" = /workspace && touch inside";
    let outside = format!("test \"$PWD\" = '{}'", project.display());
    let complete = |id: &str| yard.hermes(&["kanban", "complete", id]).run();

    let id = desk.create("in", &[&flags[..], &["--check", inside]].concat());
    complete(&id).succeeds();
    assert!(project.join("inside").exists());
    let id = desk.create("out", &[&flags[..], &["--check", &outside]].concat());
    complete(&id).exits(1).says_part("ended with exit code 1");

    let both = ["--check", inside, "--check-on-host", &outside];
    let id = desk.create("both", &[&flags[..], &both].concat());
    let shown = desk.home.run(["kanban", "show", &id]).stdout;
    assert!(shown.contains("[on this machine]"), "{shown}");
    assert!(shown.contains("Its checks run in a container"), "{shown}");
    let why = desk.home.run(["kanban", "why", &id]).stdout;
    assert!(why.contains("1 of them on this machine"), "{why}");
    complete(&id).succeeds();
    let all = ["--check", &outside, "--check-on-host"];
    let id = desk.create("host", &[&flags[..], &all].concat());
    assert_eq!(desk.kanban(&["why", &id])["checks_run"], "host");
    complete(&id).succeeds();
    // Neither time limits nor what is left of a container are forgotten.
    desk.home
        .put("config.yaml", "kanban:\n  check_timeout_seconds: 1\n");
    let id = desk.create("slow", &[&flags[..], &["--check", "sleep 60"]].concat());
    complete(&id).exits(1).says_part("ran out of time");
    yard.until_there_are(&[]);
}

/// An engine whose caller swaps the workspace for a link while it is being mounted.
const SWAPPING_ENGINE: &str = r#"#!/bin/sh
test "$1" = run || exec docker "$@"
mv "$WORK" "$WORK.real"; ln -s "$LOOT" "$WORK"
docker "$@"; code=$?
rm "$WORK"; mv "$WORK.real" "$WORK"
exit $code
"#;

#[test]
fn workspace_that_is_swapped_while_it_is_mounted_is_not_used() {
    let yard = Yard::new(SCRIPT);
    let home = &yard.builder.desk.home;
    let (project, loot) = (home.outside("project"), home.outside("loot"));
    for directory in [&project, &loot] {
        std::fs::create_dir(directory).unwrap();
    }
    std::fs::write(loot.join("key"), "canary-of-the-loot").unwrap();
    let engine = home.put_outside("engine", SWAPPING_ENGINE, 0o755);
    let call = |engine: Option<&std::path::Path>| {
        let mut call = yard
            .hermes(&[
                "-p",
                "builder",
                "exec",
                "--",
                "cat /workspace/key; ls /workspace",
            ])
            .env("HERMES_KANBAN_TASK", "t_1")
            .env("HERMES_KANBAN_WORKSPACE", &project)
            .env("WORK", &project)
            .env("LOOT", &loot);
        if let Some(engine) = engine {
            call = call.env("HERMES_DOCKER_BINARY", engine);
        }
        call.run()
    };
    let refused = call(Some(&engine));
    refused
        .never_shows("canary-of-the-loot")
        .says_part("was replaced while it was being mounted");
    assert_ne!(refused.code, Some(0), "{refused}");
    yard.until_there_are(&[]);
    std::fs::write(project.join("key"), "own").unwrap();
    call(None).succeeds().prints("ownkey\n");
}
