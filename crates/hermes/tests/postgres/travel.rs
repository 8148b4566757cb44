//! Work that travels between machines: files, logs, branches. Two homes stand for two machines, and
//! scripts for workers.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_testkit::{PgDatabase, Postgres, ProgramOutput, git};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::Machine;

/// The beginning of every worker: how it reaches the program.
const BEGIN: &str = "#!/bin/sh\nexport PATH=/usr/local/bin:/usr/bin:/bin\nkanban() { \"$TOLD\" kanban \"$@\"; }\n\
                     commit() { git add -A && git -c user.name=w -c user.email=w@example.org commit -qm \"$1\"; }\n";

/// A machine with workers that run a script.
struct Site {
    machine: Machine,
    worker: PathBuf,
}

impl Site {
    fn new(database: &PgDatabase, script: &str) -> Self {
        let machine = Machine::new(database);
        let program = machine.home.program().display().to_string();
        let text = format!("{BEGIN}TOLD='{program}'\n{script}\n");
        let worker = machine.home.put_outside("worker.sh", text, 0o755);
        Self { machine, worker }
    }

    /// One round of the dispatcher.
    #[track_caller]
    fn dispatch(&self) -> Value {
        let call = self.machine.home.hermes(["kanban", "dispatch", "--json"]);
        call.env("HERMES_BIN", &self.worker).run().succeeds().json()
    }

    /// Rounds until a card has this status.
    #[track_caller]
    fn dispatch_until(&self, id: &str, status: &str) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.machine.status(id) != status {
            assert!(
                Instant::now() < deadline,
                "{}",
                self.machine.json(&["show", id])
            );
            self.dispatch();
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn kanban(&self, args: &[&str]) -> ProgramOutput {
        self.machine.kanban(args)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.machine.home.path(name)
    }
}

fn configured(site: &Site, database: &PgDatabase, more: &str) {
    let text = format!("kanban:\n  database: '{}'\n{more}", database.url());
    site.machine.home.put("config.yaml", text);
}

/// A repository with one commit, and its address.
fn repository(site: &Site) -> (PathBuf, String) {
    let bare = site.machine.home.outside("site.git");
    let seed = site.machine.home.outside("seed");
    std::fs::create_dir_all(&seed).unwrap();
    let bare_text = bare.display().to_string();
    git(&seed, &["init", "-q", "--bare", &bare_text]);
    git(&seed, &["init", "-q"]);
    std::fs::write(seed.join("base.txt"), "base\n").unwrap();
    git(&seed, &["add", "."]);
    git(&seed, &["commit", "-qm", "base"]);
    git(&seed, &["push", "-q", &bare_text, "HEAD:main"]);
    (bare, format!("file://{bare_text}"))
}

/// Flags of a card that is worked on in a clone of a repository.
fn cloned_from(url: &str) -> [&str; 6] {
    [
        "--workspace",
        "worktree",
        "--repo",
        url,
        "--assignee",
        "coder",
    ]
}

#[test]
fn an_attachment_of_one_machine_is_read_on_another() {
    let database = Postgres::shared().database();
    let (here, there) = (Site::new(&database, ""), Site::new(&database, ""));
    let id = here.machine.create("files", &[]);
    let content: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
    let home = &here.machine.home;
    let file = home.put_outside("data.bin", &content, 0o600);
    here.kanban(&["attach", &id, file.to_str().unwrap()])
        .succeeds();
    // Another file of the same name, attached elsewhere before anybody looked.
    let other = there.machine.home.put_outside("data.bin", "other", 0o600);
    there
        .kanban(&["attach", &id, other.to_str().unwrap()])
        .succeeds();
    for site in [&here, &there] {
        let listed = site.machine.json(&["attachments", &id]);
        let read = |number: usize| {
            let path = listed[number]["stored_path"].as_str().unwrap();
            assert!(path.starts_with(site.path("").to_str().unwrap()), "{path}");
            std::fs::read(path).unwrap()
        };
        assert!(read(0) == content, "the first file differs");
        assert_eq!(read(1), b"other");
        let context = site.kanban(&["context", &id]);
        context
            .succeeds()
            .prints_part(listed[0]["stored_path"].as_str().unwrap());
    }
    // Taking it off takes the content off the server.
    here.kanban(&["attach-rm", "1"]).succeeds();
    let left = "SELECT count(*) FROM hermes_default.hermes_file_chunks";
    assert_eq!(database.sql(left), "1");
    there.kanban(&["archive", &id]).succeeds();
    there.kanban(&["archive", "--rm", &id]).succeeds();
    assert_eq!(database.sql(left), "0");
}

#[test]
fn files_that_do_not_arrive_whole_are_named_and_leave_nothing() {
    let database = Postgres::shared().database();
    let (here, there) = (Site::new(&database, ""), Site::new(&database, ""));
    let id = here.machine.create("files", &[]);
    for name in ["one.txt", "two.txt", "three.txt"] {
        let file = here.machine.home.put_outside(name, name, 0o600);
        here.kanban(&["attach", &id, file.to_str().unwrap()])
            .succeeds();
    }
    database.sql("DELETE FROM hermes_default.hermes_file_chunks WHERE file_id = 1");
    database
        .sql("UPDATE hermes_default.hermes_file_chunks SET content = 'xxx.txt' WHERE file_id = 2");
    let listed = there.kanban(&["attachments", &id]);
    listed
        .exits(1)
        .says_part("attachment 1 (one.txt) is incomplete");
    let context = there.kanban(&["context", &id]);
    context
        .succeeds()
        .prints_part("`one.txt`, text/plain, 1 KB: not here, attachment 1 (one.txt) is incomplete")
        .prints_part("not here, attachment 2 (two.txt) arrived with another content");
    let directory = there.path(&format!("kanban/attachments/{id}"));
    let names: Vec<_> = std::fs::read_dir(directory).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    // Above the limit of a file, and of the card.
    let large = there
        .machine
        .home
        .put_outside("large.bin", vec![7; 3000], 0o600);
    for (setting, sentence) in [
        (
            "transfer_max_file_bytes: 2000",
            "kanban.transfer_max_file_bytes",
        ),
        ("transfer_max_bytes: 3010", "kanban.transfer_max_bytes"),
    ] {
        configured(&there, &database, &format!("  {setting}\n"));
        let refused = there.kanban(&["attach", &id, large.to_str().unwrap()]);
        refused.exits(1).says_part(sentence);
    }
    assert_eq!(
        here.machine
            .json(&["attachments", &id])
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_directory_that_all_machines_see_takes_the_place_of_the_database() {
    let database = Postgres::shared().database();
    let (here, there) = (Site::new(&database, ""), Site::new(&database, ""));
    let shared = here.machine.home.outside("shared");
    let setting = format!("  shared_files: '{}'\n", shared.display());
    configured(&here, &database, &setting);
    let id = here.machine.create("files", &[]);
    let file = here.machine.home.put_outside("a.txt", "shared", 0o600);
    here.kanban(&["attach", &id, file.to_str().unwrap()])
        .succeeds();
    let chunks = "SELECT count(*) FROM hermes_default.hermes_file_chunks";
    assert_eq!(database.sql(chunks), "0");
    let refused = there.kanban(&["attachments", &id]);
    refused.exits(1).says_part("set kanban.shared_files");
    configured(&there, &database, &setting);
    let listed = there.machine.json(&["attachments", &id]);
    let path = listed[0]["stored_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "shared");
}

#[test]
fn a_kept_file_of_one_machine_is_there_for_the_worker_of_the_next_card_on_another() {
    let database = Postgres::shared().database();
    let maker = "echo result > out.txt\n\
                 kanban complete \"$HERMES_KANBAN_TASK\" --summary made \\\n\
                   --metadata '{\"artifacts\": [\"out.txt\"]}'";
    let reader = "kanban context \"$HERMES_KANBAN_TASK\" > seen.txt\n\
                  file=$(grep -o '/[^\" ]*out.txt' seen.txt | head -1)\n\
                  kanban complete \"$HERMES_KANBAN_TASK\" --summary \"read $(cat \"$file\")\"";
    let (here, there) = (Site::new(&database, maker), Site::new(&database, reader));
    let first = here.machine.create("make", &["--assignee", "coder"]);
    here.dispatch_until(&first, "done");
    let second = there
        .machine
        .create("read", &["--assignee", "coder", "--parent", &first]);
    there.dispatch_until(&second, "done");
    let runs = here.machine.json(&["runs", &second]);
    assert_eq!(runs[0]["summary"], "read result", "{runs}");
}

#[test]
fn a_log_is_followed_from_another_machine() {
    let database = Postgres::shared().database();
    let (here, there) = (Site::new(&database, ""), {
        let script = "echo first\nwhile [ ! -e \"$HOME/go\" ]; do sleep 0.1; done\necho last\n\
                      kanban complete \"$HERMES_KANBAN_TASK\" --summary x >/dev/null";
        Site::new(&database, script)
    });
    let id = here.machine.create("talk", &["--assignee", "coder"]);
    here.kanban(&["log", &id])
        .exits(1)
        .says_part("has no log yet");
    let daemon = there.machine.home.hermes(["kanban", "daemon"]);
    let _daemon = daemon.env("HERMES_BIN", &there.worker).start();
    let follower = here
        .machine
        .home
        .hermes(["kanban", "log", "-f", &id])
        .start();
    assert_eq!(follower.next_line().as_deref(), Some("first"));
    // Told while the worker still runs.
    assert_eq!(here.machine.status(&id), "running");
    here.kanban(&["log", &id]).succeeds().prints("first\n");
    let begun = Instant::now();
    std::fs::write(there.machine.home.user_home().join("go"), "").unwrap();
    assert_eq!(follower.next_line().as_deref(), Some("last"));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(follower.next_line(), None);
    let dashboard = super::server::Server::local(&here.machine.home);
    let log = dashboard.get(&format!("/api/plugins/kanban/tasks/{id}/log"));
    assert_eq!(log["content"], "first\nlast\n", "{log}");
    here.kanban(&["log", &id, "--tail", "7"])
        .succeeds()
        .prints("last\n");
}

#[test]
fn only_the_end_of_a_long_log_is_kept_for_others() {
    let database = Postgres::shared().database();
    let script = "i=0; while [ $i -lt 6 ]; do head -c 60000 /dev/zero | tr '\\0' a; echo \" $i\"\n\
                  i=$((i+1)); sleep 1.2; done\n\
                  kanban complete \"$HERMES_KANBAN_TASK\" --summary x >/dev/null";
    let (here, there) = (Site::new(&database, ""), Site::new(&database, script));
    let id = here.machine.create("talk", &["--assignee", "coder"]);
    let daemon = there.machine.home.hermes(["kanban", "daemon"]);
    let _daemon = daemon.env("HERMES_BIN", &there.worker).start();
    here.machine.wait_for(&id, "done");
    let deadline = Instant::now() + Duration::from_secs(20);
    let log = loop {
        let log = here.kanban(&["log", &id]);
        if log.stdout.ends_with(" 5\n") {
            break log;
        }
        assert!(Instant::now() < deadline, "{}", log.stdout.len());
        std::thread::sleep(Duration::from_millis(100));
    };
    log.says_part("this is the end of its 360018 bytes");
    let kept =
        "SELECT sum(octet_length(content)) <= 262144 + 65536 FROM hermes_default.hermes_log_parts";
    assert_eq!(database.sql(kept), "t");
}

#[test]
fn a_scratch_workspace_goes_on_where_another_machine_left_it() {
    let database = Postgres::shared().database();
    let leaver = "mkdir -p sub; echo kept > sub/notes.txt; printf '#!/bin/sh\\necho ran\\n' > run\n\
                  chmod +x run; ln -s /etc/passwd link\n\
                  kanban block \"$HERMES_KANBAN_TASK\" question >/dev/null";
    let reader = "kanban complete \"$HERMES_KANBAN_TASK\" \\\n\
                    --summary \"$(cat sub/notes.txt) $(./run) $(ls)\" >/dev/null";
    let (here, there) = (Site::new(&database, leaver), Site::new(&database, reader));
    let id = here.machine.create("carry", &["--assignee", "coder"]);
    here.dispatch_until(&id, "blocked");
    // The dispatcher of that machine hands it over, once.
    here.dispatch();
    there.kanban(&["unblock", &id]).succeeds();
    there.dispatch_until(&id, "done");
    let runs = here.machine.json(&["runs", &id]);
    assert_eq!(runs[1]["summary"], "kept ran run\nsub", "{runs}");
    there.kanban(&["gc"]).succeeds();
    let left = "SELECT count(*) FROM hermes_default.hermes_files";
    assert_eq!(database.sql(left), "0");
}

#[test]
fn a_workspace_above_the_limit_stays_and_is_put_aside_when_the_card_comes_back() {
    let database = Postgres::shared().database();
    let leaver = "[ -e seen.txt ] || head -c 50000 /dev/zero > large\n\
                  kanban block --kind needs_input \"$HERMES_KANBAN_TASK\" q >/dev/null";
    let other = "echo \"found: $(ls)\" > seen.txt\nkanban block --kind capability \"$HERMES_KANBAN_TASK\" q >/dev/null";
    let (here, there) = (Site::new(&database, leaver), Site::new(&database, other));
    configured(&here, &database, "  transfer_max_file_bytes: 10000\n");
    let id = here.machine.create("carry", &["--assignee", "coder"]);
    here.dispatch_until(&id, "blocked");
    here.dispatch();
    let shown = there.machine.json(&["show", &id]);
    let said = shown["comments"].to_string();
    assert!(said.contains("The work of attempt 1 stays on "), "{said}");
    assert!(said.contains("kanban.transfer_max_file_bytes"), "{said}");
    let workspaces = here.path("kanban/workspaces");
    assert!(workspaces.join(&id).join("large").is_file());
    for (number, site) in [(2, &there), (3, &here)] {
        site.kanban(&["unblock", &id]).succeeds();
        let ended = || {
            let runs = site.machine.json(&["runs", &id]);
            runs[number - 1]["ended_at"].is_number()
        };
        let deadline = Instant::now() + Duration::from_mins(1);
        while !ended() {
            assert!(
                Instant::now() < deadline,
                "{}",
                site.machine.json(&["show", &id])
            );
            site.dispatch();
            std::thread::sleep(Duration::from_millis(100));
        }
        site.dispatch();
    }
    let seen = std::fs::read_to_string(workspaces.join(&id).join("seen.txt")).unwrap();
    assert_eq!(seen, "found: \n");
    let entries = std::fs::read_dir(&workspaces).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = names.find(|name| name.contains(".kept-")).unwrap();
    assert!(workspaces.join(&kept).join("large").is_file());
    let shown = there.machine.json(&["show", &id]);
    assert!(shown["comments"].to_string().contains(&kept), "{shown}");
    here.kanban(&["archive", &id]).succeeds();
    here.kanban(&["gc"]).succeeds();
    assert!(!workspaces.join(&kept).exists());
}

#[test]
fn a_branch_is_continued_on_another_machine_and_reviewed_from_a_third() {
    let database = Postgres::shared().database();
    let first =
        "echo one >> work.txt; commit one\nkanban block \"$HERMES_KANBAN_TASK\" q >/dev/null";
    let second = "echo two >> work.txt; commit two; echo rest > rest.txt\n\
                  kanban complete \"$HERMES_KANBAN_TASK\" --summary done >/dev/null";
    let (here, there) = (Site::new(&database, first), Site::new(&database, second));
    let third = Site::new(&database, "");
    let (bare, url) = repository(&here);
    let flags = cloned_from(&url);
    let id = here.machine.create("code", &flags);
    here.dispatch_until(&id, "blocked");
    here.dispatch();
    let branch = format!("wt/{id}");
    let log = || git(&bare, &["log", "--format=%s", &branch]);
    assert_eq!(log(), "one\nbase");
    there.kanban(&["unblock", &id]).succeeds();
    there.dispatch_until(&id, "done");
    // What was not committed is, under the title of the card.
    assert_eq!(log(), "code\ntwo\none\nbase");
    let diff = third.kanban(&["diff", &id]);
    diff.succeeds()
        .prints_part("+one\n+two")
        .prints_part("+rest");
    // The first machine catches up as well.
    here.kanban(&["diff", &id])
        .succeeds()
        .prints_part("+one\n+two");
    let refused = third.kanban(&["review", "approve", &id, "--merge"]);
    refused.exits(1).says_part("approve with --push");
    third
        .kanban(&["review", "approve", &id, "--push"])
        .succeeds();
    assert_eq!(git(&bare, &["log", "--format=%s", "main"]), "base");
}

#[test]
fn a_card_goes_on_from_its_last_push_after_its_machine_was_killed() {
    let database = Postgres::shared().database();
    let first = "n=$(git log --oneline | wc -l); echo $n >> work.txt; commit \"step $n\"\n\
                 if [ $n = 1 ]; then kanban block \"$HERMES_KANBAN_TASK\" q >/dev/null; exit; fi\n\
                 echo $$ > \"$HOME/worker.pid\"; sleep 600";
    let second = "kanban complete \"$HERMES_KANBAN_TASK\" --summary \"$(git log --format=%s)\"";
    let (here, there) = (Site::new(&database, first), Site::new(&database, second));
    let (bare, url) = repository(&here);
    let flags = cloned_from(&url);
    let id = here.machine.create("code", &flags);
    here.dispatch_until(&id, "blocked");
    here.dispatch();
    here.kanban(&["unblock", &id]).succeeds();
    here.dispatch();
    let pid = here.machine.home.user_home().join("worker.pid");
    let deadline = Instant::now() + Duration::from_mins(1);
    while std::fs::read_to_string(&pid).unwrap_or_default().is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
    // Its worker, and its dispatcher for good.
    let pid = std::fs::read_to_string(&pid).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
    there.kanban(&["reclaim", &id]).succeeds();
    there.dispatch_until(&id, "done");
    let runs = there.machine.json(&["runs", &id]);
    assert_eq!(runs[2]["summary"], "step 1\nbase", "{runs}");
    let shown = there.machine.json(&["show", &id]);
    let said = shown["comments"].to_string();
    assert!(said.contains("begins without it"), "{said}");
    // What the killed worker had committed is still on its machine, and is not pushed over the rest.
    let worktree = here.path(&format!("kanban/workspaces/{id}"));
    assert_eq!(git(&worktree, &["log", "-1", "--format=%s"]), "step 2");
    assert_eq!(
        git(&bare, &["log", "-1", "--format=%s", &format!("wt/{id}")]),
        "step 1"
    );
}

#[test]
fn a_push_that_is_rejected_refuses_the_completion_and_loses_nothing() {
    let database = Postgres::shared().database();
    let script = "echo mine > work.txt; commit mine\n\
                  other=$(mktemp -d); git clone -q \"$(cat \"$HOME/url\")\" \"$other\" && cd \"$other\"\n\
                  git checkout -qb \"$HERMES_KANBAN_BRANCH\"; echo theirs > work.txt; commit theirs\n\
                  git push -q origin HEAD; cd - >/dev/null\n\
                  kanban complete \"$HERMES_KANBAN_TASK\" --summary x; echo \"ended with $?\"\n\
                  kanban block \"$HERMES_KANBAN_TASK\" 'cannot push'";
    let site = Site::new(&database, script);
    let (bare, url) = repository(&site);
    std::fs::write(site.machine.home.user_home().join("url"), &url).unwrap();
    let flags = cloned_from(&url);
    let id = site.machine.create("code", &flags);
    site.dispatch_until(&id, "blocked");
    site.dispatch();
    let log = site.kanban(&["log", &id]);
    log.succeeds()
        .prints_part(&format!("the branch wt/{id} was not pushed to {url}"))
        .prints_part("ended with 1");
    let branch = format!("wt/{id}");
    assert_eq!(git(&bare, &["log", "-1", "--format=%s", &branch]), "theirs");
    let worktree = site.path(&format!("kanban/workspaces/{id}"));
    assert_eq!(git(&worktree, &["log", "-1", "--format=%s"]), "mine");
    // The next attempt is not begun on either of the two.
    site.kanban(&["unblock", &id]).succeeds();
    let tick = site.dispatch();
    let said = tick["spawn_failed"].to_string();
    assert!(said.contains("has commits here that"), "{tick}");
}

#[test]
fn repositories_that_cannot_be_used_are_named() {
    let database = Postgres::shared().database();
    let site = Site::new(&database, "");
    for (url, sentence) in [
        (
            "https://me:hunter2-secret@example.org/x",
            "contains a name or a password",
        ),
        (
            "https://hunter2-secret@example.org/x",
            "contains a name or a password",
        ),
        ("ext::sh", "cannot be the repository of a card"),
        ("/srv/site", "cannot be the repository of a card"),
    ] {
        let refused = site.kanban(&["create", "x", "--workspace", "worktree", "--repo", url]);
        refused.exits(2).says_part(sentence);
        assert!(!refused.stderr.contains("hunter2-secret"), "{refused}");
    }
    let refused = site.kanban(&["create", "x", "--repo", "https://example.org/x"]);
    refused.exits(2).says_part("--workspace worktree --repo");
    let gone = format!("file://{}", site.machine.home.outside("gone.git").display());
    let flags = [
        "--workspace",
        "worktree",
        "--repo",
        &gone,
        "--assignee",
        "coder",
    ];
    let id = site
        .machine
        .create("x", &[&flags[..], &["--max-retries", "1"]].concat());
    site.dispatch();
    assert_eq!(site.machine.status(&id), "blocked");
    let shown = site.kanban(&["show", &id]);
    shown.succeeds().prints_part("could not be fetched");
    site.kanban(&["diff", &id])
        .exits(3)
        .says_part("could not be fetched");
    assert_eq!(site.machine.json(&["list"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_was_attached_before_files_travelled_travels_after_a_collection() {
    let database = Postgres::shared().database();
    let (here, there) = (Site::new(&database, ""), Site::new(&database, ""));
    let id = here.machine.create("old", &[]);
    let path = here.path(&format!("kanban/attachments/{id}/old.txt"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "old").unwrap();
    database.sql(&format!(
        "INSERT INTO hermes_default.task_attachments (task_id, filename, stored_path, size, created_at)
         VALUES ('{id}', 'old.txt', '{}', 3, 1)",
        path.display()
    ));
    let refused = there.kanban(&["attachments", &id]);
    refused.exits(1).says_part("is on another machine");
    here.kanban(&["gc"]).succeeds();
    let listed = there.machine.json(&["attachments", &id]);
    let path = listed[0]["stored_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "old");
}

#[test]
fn a_board_in_a_file_clones_and_pushes_as_well() {
    let database = Postgres::shared().database();
    let script = "echo one > work.txt; commit one\n\
                  kanban complete \"$HERMES_KANBAN_TASK\" --summary done >/dev/null";
    let site = Site::new(&database, script);
    site.machine.home.put("config.yaml", "");
    let (bare, url) = repository(&site);
    let flags = cloned_from(&url);
    let id = site.machine.create("code", &flags);
    site.dispatch_until(&id, "done");
    let branch = format!("wt/{id}");
    assert_eq!(git(&bare, &["log", "--format=%s", &branch]), "one\nbase");
    assert!(site.machine.home.has("kanban.db"));
    site.kanban(&["diff", &id]).succeeds().prints_part("+one");
}
