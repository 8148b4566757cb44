//! What a worker is started with.

use std::sync::Arc;

use hermes_board::dispatch::WorkerProfile;
use hermes_board::model::{Status, TaskId};
use hermes_board::store::{BoardStore, NewTask, StartIn};
use hermes_proc::identity_of;
use pretty_assertions::assert_eq;

use super::{Yard, eventually, run_of, started};
use crate::{events, kinds, mode, status, task};

fn variables(yard: &Yard, id: &TaskId) -> Vec<(String, String)> {
    let text = yard.said(id, "env");
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_worker_gets_arguments_variables_and_workspace() {
    let mut yard = Yard::new();
    yard.dispatcher.workers.profile_of = Arc::new(|home| {
        let name = home.file_name().unwrap().to_str().unwrap();
        WorkerProfile {
            toolsets: vec![format!("z-{name}"), "kanban".to_owned()],
            ..WorkerProfile::default()
        }
    });
    let mut store = yard.open();
    let skills = hermes_board::model::SkillList::parse(["review", "plan"], &[]).unwrap();
    let id = yard.file_with(
        &mut store,
        "exec sleep 300",
        NewTask {
            skills: Some(skills),
            model_override: Some("small/model".to_owned()),
            tenant: Some("north".to_owned()),
            goal_mode: true,
            goal_max_turns: Some(7),
            max_runtime_seconds: Some(900),
            ..NewTask::titled("card")
        },
    );
    let report = yard.tick(&mut store);
    let pid = yard.worker_of(&id);
    let workspace = yard.fixture.path("kanban/workspaces").join(id.as_str());
    assert_eq!(started(&report), [id.as_str()]);
    assert_eq!(report.spawned[0].workspace, workspace.to_str().unwrap());

    let argv = yard.said(&id, "argv");
    let expected = format!(
        "-p\nalpha\n--cli\n--accept-hooks\n--skills\nreview\n--skills\nplan\n-m\nsmall/model\n\
         --toolsets\nkanban,z-alpha\nchat\n-q\nwork kanban task {id}\n-Q\n"
    );
    assert_eq!(argv, expected);

    let run = run_of(&store, &id);
    let card = task(&store, &id);
    let seen = variables(&yard, &id);
    let value = |name: &str| {
        let mut found = seen.iter().filter(|(one, _)| one == name);
        found.next().map(|(_, value)| value.as_str())
    };
    let root = yard.fixture.dir.path().to_str().unwrap();
    let workspace = workspace.to_str().unwrap();
    for (name, expected) in [
        ("HERMES_HOME", format!("{root}/profiles/alpha")),
        ("HERMES_PROFILE", "alpha".to_owned()),
        ("HERMES_TENANT", "north".to_owned()),
        ("HERMES_KANBAN_TASK", id.to_string()),
        ("HERMES_KANBAN_WORKSPACE", workspace.to_owned()),
        ("HERMES_KANBAN_RUN_ID", run.to_string()),
        ("HERMES_KANBAN_CLAIM_LOCK", card.claim_lock.clone().unwrap()),
        ("HERMES_KANBAN_DB", format!("{root}/kanban.db")),
        (
            "HERMES_KANBAN_WORKSPACES_ROOT",
            format!("{root}/kanban/workspaces"),
        ),
        ("HERMES_KANBAN_BOARD", "default".to_owned()),
        ("HERMES_KANBAN_GOAL_MODE", "1".to_owned()),
        ("HERMES_KANBAN_GOAL_MAX_TURNS", "7".to_owned()),
        ("TERMINAL_CWD", workspace.to_owned()),
        ("TERMINAL_TIMEOUT", "870".to_owned()),
        ("TERMINAL_MAX_FOREGROUND_TIMEOUT", "870".to_owned()),
        // It is the same program: it may act in the user's name.
        ("OPENAI_API_KEY", "sk-of-the-dispatcher".to_owned()),
    ] {
        assert_eq!(value(name), Some(expected.as_str()), "{name}");
    }
    for absent in ["HERMES_TUI", "HERMES_KANBAN_BRANCH"] {
        assert_eq!(value(absent), None, "{absent}");
    }

    assert_eq!(yard.said(&id, "cwd"), format!("{workspace}\n"));
    assert_eq!(yard.said(&id, "stdin"), "/dev/null\n");
    assert_eq!(yard.said(&id, "session"), format!("{pid} {pid}\n"));
    let log = yard.fixture.path("kanban/logs").join(format!("{id}.log"));
    eventually("the log has what it printed", || {
        std::fs::read_to_string(&log).unwrap() == format!("run {run}\n")
    });
    assert_eq!((mode(&log), mode(log.parent().unwrap())), (0o600, 0o700));

    assert_eq!(card.worker_pid, Some(i64::from(pid)));
    let identity = identity_of(pid).unwrap();
    let spawned = format!(
        "spawned {{\"pid\":{pid},\"start\":{},\"boot_id\":",
        identity.start_time
    );
    let told = events(&store, &id);
    assert!(
        told.iter().any(|event| event.starts_with(&spawned)),
        "{told:?}"
    );
}

#[test]
fn a_plain_card_inherits_nothing_of_another_card() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    yard.worker_of(&id);
    let expected = format!("-p\nalpha\n--cli\n--accept-hooks\nchat\n-q\nwork kanban task {id}\n");
    assert_eq!(yard.said(&id, "argv"), expected);
    let names: Vec<String> = variables(&yard, &id)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for absent in [
        "HERMES_TENANT",
        "HERMES_KANBAN_GOAL_MODE",
        "TERMINAL_TIMEOUT",
        "HERMES_KANBAN_BRANCH",
    ] {
        assert!(!names.iter().any(|name| name == absent), "{absent}");
    }
}

#[test]
fn the_first_scratch_workspace_comes_with_a_tip_and_no_other() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let first = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    let second = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    let tips = |id| {
        let all = kinds(&store, id);
        all.iter()
            .filter(|kind| *kind == "tip_scratch_workspace")
            .count()
    };
    assert_eq!((tips(&first), tips(&second)), (1, 0));
    assert!(yard.fixture.path(".scratch_tip_shown").exists());
}

#[test]
fn directories_are_made_and_must_be_absolute() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let place = yard.fixture.path("projects/new");
    let dir = |path: &str| NewTask {
        workspace: hermes_board::model::WorkspaceKind::Dir,
        workspace_path: Some(path.to_owned()),
        ..NewTask::titled("card")
    };
    let good = yard.file_with(&mut store, "exec sleep 300", dir(place.to_str().unwrap()));
    let report = yard.tick(&mut store);
    assert_eq!(started(&report), [good.as_str()]);
    yard.worker_of(&good);
    assert_eq!(yard.said(&good, "cwd"), format!("{}\n", place.display()));

    let bad = yard.file_with(&mut store, "", dir("/nowhere"));
    // Written by another program: ours refuses such a path when the card is filed.
    yard.fixture.run_sql(&format!(
        "UPDATE tasks SET workspace_path = 'relative/place' WHERE id = '{bad}'"
    ));
    let report = yard.tick(&mut store);
    assert_eq!(report.spawn_failed[0].task_id, bad);
    assert!(
        report.spawn_failed[0]
            .error
            .contains("'relative/place' is not absolute"),
        "{:?}",
        report.spawn_failed
    );
    let card = task(&store, &bad);
    assert_eq!((card.status(), card.claim_lock), (Status::Ready, None));
}

#[test]
fn a_program_that_cannot_run_blocks_the_card_at_the_limit() {
    let mut yard = Yard::new();
    super::make_executable(&yard.fixture.path("worker"), 0o600);
    let mut store = yard.open();
    let id = yard.file(&mut store, "");
    let report = yard.tick(&mut store);
    assert!(
        report.spawn_failed[0].error.contains("Permission denied"),
        "{report:?}"
    );
    assert_eq!(status(&store, &id), Status::Ready);
    // It rests first, and is told once why.
    for _ in 0..3 {
        let report = yard.tick(&mut store);
        assert_eq!(report.respawn_guarded[0].reason.as_str(), "blocker_auth");
        yard.fixture.pass(60);
    }
    yard.fixture.pass(300);
    let report = yard.tick(&mut store);
    assert_eq!(super::ids(&report.auto_blocked), [id.as_str()]);
    let card = task(&store, &id);
    assert_eq!((card.status(), card.claim_lock), (Status::Blocked, None));
    let told = kinds(&store, &id);
    let guarded = told.iter().filter(|kind| *kind == "respawn_guarded");
    assert_eq!(guarded.count(), 1, "{told:?}");
    assert_eq!(told.last().unwrap(), "gave_up");
    assert_eq!(super::ids(&yard.tick(&mut store).promoted), [] as [&str; 0]);
}

#[test]
fn a_scheduled_card_wakes_and_starts_in_the_same_tick() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file_with(
        &mut store,
        "exec sleep 300",
        NewTask {
            start: StartIn::Scheduled(crate::START + 100),
            ..NewTask::titled("card")
        },
    );
    assert_eq!(started(&yard.tick(&mut store)), [] as [&str; 0]);
    yard.fixture.pass(100);
    let report = yard.tick(&mut store);
    assert_eq!(super::ids(&report.woken), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
    assert!(store.task(&id).unwrap().unwrap().worker_pid.is_some());
}
