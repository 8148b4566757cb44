//! One look at the board: who gets a worker, who does not, and what people are told.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::crew::{Crew, cards};
use crate::text;

/// Everything on the board, as text.
fn contents(crew: &Crew) -> String {
    let database = crew.desk.database();
    let mut out = String::new();
    for table in [
        "tasks",
        "task_links",
        "task_comments",
        "task_events",
        "task_runs",
        "kanban_notify_subs",
    ] {
        let mut rows = database
            .prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2"))
            .unwrap();
        let width = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<String> = (0..width)
                .map(|cell| format!("{:?}", row.get_ref(cell).unwrap()))
                .collect();
            out.push_str(&format!("{table}: {}\n", cells.join(" | ")));
        }
    }
    out
}

/// Names of all files, those aside that an open database comes and goes with.
fn files(crew: &Crew) -> Vec<String> {
    let names = crew.desk.home.tree().0.into_keys();
    names
        .filter(|name| !name.contains("kanban.db-") && !name.starts_with("logs"))
        .collect()
}

// check 17
#[test]
fn a_worker_gets_its_arguments_variables_and_workspace() {
    let crew = Crew::new();
    let id = crew.file(
        "echo to the log; echo and to it >&2",
        &[
            "--skill",
            "review",
            "--tenant",
            "acme",
            "--max-runtime",
            "2h",
        ],
    );
    let config = "toolsets: [terminal, file_tools]\n";
    crew.desk.home.put("profiles/alpha/config.yaml", config);
    let report = crew
        .call(&["dispatch", "--json"])
        .env("HERMES_TUI", "1")
        .env("HERMES_KANBAN_BRANCH", "of-another-card")
        .run()
        .succeeds()
        .json();
    let workspace = crew.desk.home.path(&format!("kanban/workspaces/{id}"));
    let workspace = workspace.to_str().unwrap();
    assert_eq!(
        report["spawned"],
        json!([{"task_id": id, "assignee": "alpha", "workspace": workspace}])
    );
    crew.wait_for_end(&id);
    assert_eq!(
        crew.note(&id, "argv").lines().collect::<Vec<_>>(),
        [
            "-p",
            "alpha",
            "--cli",
            "--accept-hooks",
            "--skills",
            "review",
            "--toolsets",
            "file,terminal",
            "chat",
            "-q",
            &format!("work kanban task {id}"),
        ]
    );
    let env = crew.note(&id, "env");
    let card = crew.desk.json(&["show", &id]);
    let claimed = crew.desk.last_event(&id, "claimed");
    let root = crew.desk.home.root();
    let root = root.display();
    for line in [
        format!("HERMES_HOME={root}/profiles/alpha"),
        "HERMES_PROFILE=alpha".to_owned(),
        "HERMES_TENANT=acme".to_owned(),
        format!("HERMES_KANBAN_TASK={id}"),
        format!("HERMES_KANBAN_WORKSPACE={workspace}"),
        format!("HERMES_KANBAN_RUN_ID={}", card["runs"][0]["id"]),
        format!("HERMES_KANBAN_CLAIM_LOCK={}", text(&claimed["lock"])),
        format!("HERMES_KANBAN_DB={root}/kanban.db"),
        format!("HERMES_KANBAN_WORKSPACES_ROOT={root}/kanban/workspaces"),
        "HERMES_KANBAN_BOARD=default".to_owned(),
        format!("TERMINAL_CWD={workspace}"),
        "TERMINAL_TIMEOUT=7170".to_owned(),
        "TERMINAL_MAX_FOREGROUND_TIMEOUT=7170".to_owned(),
    ] {
        assert!(env.lines().any(|has| has == line), "{line} is not in {env}");
    }
    for name in [
        "HERMES_TUI=",
        "HERMES_KANBAN_BRANCH=",
        "HERMES_KANBAN_GOAL_MODE=",
    ] {
        assert!(
            !env.lines().any(|has| has.starts_with(name)),
            "{name} in {env}"
        );
    }
    assert_eq!(crew.note(&id, "stdin").trim(), "/dev/null");
    assert_eq!(crew.note(&id, "cwd").trim(), workspace);
    let pid = crew.groups(&id)[0].as_raw_nonzero();
    assert_eq!(crew.note(&id, "session").trim(), format!("{pid} {pid}"));
    let spawned = crew.desk.last_event(&id, "spawned");
    assert_eq!(spawned["pid"], pid.get());
    assert_eq!(
        crew.desk.home.read(&format!("kanban/logs/{id}.log")),
        format!("attempt {}\nto the log\nand to it\n", card["runs"][0]["id"])
    );
}

// check 19
#[test]
fn a_dry_run_reports_the_plan_and_changes_nothing() {
    let crew = Crew::configured(&["default_assignee: beta"]);
    let ready = crew.ready(5, "alpha");
    crew.desk.create("nobody's", &[]);
    let parent = crew.desk.create("parent", &["--assignee", "alpha"]);
    crew.desk.create("child", &["--parent", &parent]);
    crew.desk.kanban(&["complete", &parent]).succeeds();
    let (before, had) = (contents(&crew), files(&crew));
    let report = crew.dispatch(&["--dry-run", "--max", "1"]);
    assert_eq!(
        report["spawned"],
        json!([{"task_id": ready[0], "assignee": "alpha", "workspace": ""}])
    );
    assert_eq!(report["skipped_capped"].as_array().unwrap().len(), 6);
    crew.kanban(&["dispatch", "--dry-run", "--max", "1"])
        .succeeds()
        .prints_part(&format!(
            "Spawned:      1\n  - {}  ->  alpha  @ - (dry)\n",
            ready[0]
        ));
    assert_eq!(contents(&crew), before);
    assert_eq!(files(&crew), had);
    // What it said is what happens.
    let real = crew.dispatch(&["--max", "1"]);
    assert_eq!(cards(&real["spawned"]), [ready[0].as_str()]);
    assert_eq!(real["skipped_capped"].as_array().unwrap().len(), 6);
}

// check 20
#[test]
fn two_caps_do_not_count_twice() {
    let crew = Crew::configured(&["max_spawn: 2", "max_in_progress: 2"]);
    let running = crew.desk.create("running", &["--assignee", "beta"]);
    crew.desk.claimed(&running);
    let ready = crew.ready(2, "alpha");
    let report = crew.dispatch(&[]);
    assert_eq!(cards(&report["spawned"]), [ready[0].as_str()]);
    assert_eq!(
        report["skipped_capped"],
        json!([{"task_id": ready[1], "cap": "max_in_progress", "limit": 2, "current": 2}])
    );
}

// check 21, and the cases of the cap for each profile
#[test]
fn the_limit_per_profile_is_kept() {
    let crew = Crew::configured(&["max_in_progress_per_profile: 2"]);
    let alpha = crew.ready(5, "alpha");
    let beta = crew.ready(3, "beta");
    let report = crew.dispatch(&[]);
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    let first_two = [&alpha[..2], &beta[..2]].concat();
    assert_eq!(sorted(cards(&report["spawned"])), sorted(first_two));
    let deferred = &report["skipped_per_profile_capped"];
    assert_eq!(
        sorted(cards(deferred)),
        sorted([&alpha[2..], &beta[2..]].concat())
    );
    for row in deferred.as_array().unwrap() {
        let whose = if beta.contains(&text(&row["task_id"])) {
            "beta"
        } else {
            "alpha"
        };
        assert_eq!(
            (&row["assignee"], &row["current"]),
            (&json!(whose), &json!(2))
        );
    }
    // Those that run count, and those that were deferred go when there is room.
    crew.desk.kanban(&["complete", &alpha[0]]).succeeds();
    let said = crew.kanban(&["dispatch"]);
    said.succeeds()
        .prints_part(&format!("  - {}  ->  alpha  @ ", alpha[2]))
        .prints_part(&format!(
            "Deferred (alpha at per-profile cap, 2 running): {}\n",
            alpha[3]
        ))
        .prints_part(&format!(
            "Deferred (beta at per-profile cap, 2 running): {}\n",
            beta[2]
        ));
}

// check 21
#[test]
fn an_invalid_limit_does_not_limit() {
    for value in ["0", "-1", "abc", "null", "\"\""] {
        let crew = Crew::configured(&[&format!("max_in_progress_per_profile: {value}")]);
        crew.ready(3, "alpha");
        let report = crew.dispatch(&["--dry-run"]);
        assert_eq!(cards(&report["spawned"]).len(), 3, "{value}");
    }
}

// check 22, and the cases of the default assignee
#[test]
fn unassigned_cards_go_to_the_default_assignee() {
    let crew = Crew::configured(&["default_assignee: alpha"]);
    let nobodys = crew.desk.create("nobody's", &[]);
    let later = ["--assignee", "beta", "--priority", "-1"];
    let explicit = crew.desk.create("explicit", &later);
    let assignee = |id: &str| crew.desk.json(&["show", id])["task"]["assignee"].clone();

    let dry = crew.dispatch(&["--dry-run"]);
    assert_eq!(dry["auto_assigned_default"], json!([nobodys]));
    assert_eq!(cards(&dry["spawned"]), [nobodys.as_str(), &explicit]);
    assert_eq!(assignee(&nobodys), Value::Null);

    let said = crew.kanban(&["dispatch"]);
    said.succeeds()
        .prints_part(&format!("  - {nobodys}  ->  alpha  @ "))
        .prints_part(&format!(
            "Auto-assigned to kanban.default_assignee='alpha': {nobodys}\n"
        ));
    assert_eq!(
        (assignee(&nobodys), assignee(&explicit)),
        (json!("alpha"), json!("beta"))
    );
    assert_eq!(
        crew.desk.last_event(&nobodys, "assigned"),
        json!({"assignee": "alpha", "source": "kanban.default_assignee"})
    );
    assert!(!crew.desk.events(&explicit).contains(&"assigned".to_owned()));
    crew.note(&nobodys, "pids");
}

// check 22, and the cases of the default assignee
#[test]
fn unassigned_cards_wait_without_a_default_assignee() {
    for line in [
        "default_assignee: \"   \"",
        "default_assignee: \"\"",
        "default_assignee: ghost",
        "max_spawn: 9",
    ] {
        let crew = Crew::configured(&[line]);
        let id = crew.desk.create("nobody's", &[]);
        let before = contents(&crew);
        let report = crew.dispatch(&[]);
        assert_eq!(report["skipped_unassigned"], json!([id]), "{line}");
        assert_eq!(report["auto_assigned_default"], json!([]), "{line}");
        assert_eq!(contents(&crew), before, "{line}");
        crew.kanban(&["dispatch"])
            .succeeds()
            .prints_part(&format!("Skipped (unassigned): {id}\n"));
    }
}

// check 23
#[test]
fn cards_of_lanes_get_no_worker() {
    let crew = Crew::new();
    let id = crew.desk.create("x", &["--assignee", "orion-cc"]);
    let before = contents(&crew);
    for _ in 0..3 {
        assert_eq!(crew.dispatch(&[])["skipped_nonspawnable"], json!([id]));
    }
    assert_eq!(contents(&crew), before);
}

// check 13
#[test]
fn a_card_that_starts_blocked_gets_no_worker() {
    let crew = Crew::new();
    let id = crew
        .desk
        .create("x", &["--assignee", "alpha", "--initial-status", "blocked"]);
    crew.desk.kanban(&["list"]).succeeds();
    let report = crew.dispatch(&[]);
    assert_eq!(
        (&report["promoted"], &report["spawned"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(crew.desk.status(&id), "blocked");
}

#[test]
fn scheduled_cards_wake_at_their_time() {
    let crew = Crew::new();
    let later = crew.desk.create(
        "later",
        &["--assignee", "alpha", "--scheduled-at", "4000000000"],
    );
    let past = crew.desk.create(
        "past",
        &["--assignee", "alpha", "--scheduled-at", "4000000000"],
    );
    let moved = crew.desk.database().execute(
        "UPDATE tasks SET scheduled_at = 1000000000 WHERE id = ?1",
        [&past],
    );
    assert_eq!(moved.unwrap(), 1);
    let report = crew.dispatch(&[]);
    assert_eq!(report["woken"], json!([past]));
    assert_eq!(cards(&report["spawned"]), [past.as_str()]);
    assert_eq!(crew.desk.status(&later), "scheduled");
    assert_eq!(
        crew.desk.last_event(&past, "unblocked")["source"],
        "scheduled_at"
    );
    let refused = crew.kanban(&["claim", &later]);
    refused.exits(1);
}

#[test]
fn dispatch_json_has_a_key_for_every_bucket() {
    let crew = Crew::new();
    let report = crew.dispatch(&[]);
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    let reference = [
        "reclaimed",
        "crashed",
        "timed_out",
        "stale",
        "auto_blocked",
        "promoted",
        "spawned",
        "skipped_unassigned",
        "skipped_nonspawnable",
        "skipped_per_profile_capped",
        "auto_assigned_default",
    ];
    assert_eq!(keys[..reference.len()], reference);
    for added in [
        "spawn_failed",
        "rate_limited",
        "respawn_guarded",
        "skipped_locked",
        "skipped_capped",
    ] {
        assert!(report.get(added).is_some(), "{added}");
    }
    crew.kanban(&["dispatch"]).succeeds().says("").prints(
        "Reclaimed:    0\nCrashed:      0\nTimed out:    0\nStale:        0\nAuto-blocked: 0\n\
         Promoted:     0\nSpawned:      0\n",
    );
}

#[test]
fn limits_are_numbers_from_one_on() {
    let crew = Crew::new();
    for flags in [["--max", "0"], ["--max", "many"], ["--failure-limit", "0"]] {
        let args: Vec<&str> = ["dispatch"].iter().chain(&flags).copied().collect();
        crew.kanban(&args).exits(2).prints("");
    }
}
