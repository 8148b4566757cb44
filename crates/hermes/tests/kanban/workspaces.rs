//! Where cards may be worked on: never in a whole home, and where an agent chooses, in what it has or
//! the operator lists.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::crew::Crew;
use crate::worker::as_worker;
use crate::{Desk, assert_refuses};

fn dir(path: &Path) -> String {
    format!("dir:{}", path.display())
}

#[test]
fn homes_are_no_workspaces_whatever_name_leads_there() {
    let desk = Desk::new();
    desk.kanban(&["init"]).succeeds();
    let home = desk.home.user_home();
    let root = desk.home.root();
    let link = desk.home.outside("link");
    symlink(&home, &link).unwrap();
    fs::create_dir_all(home.join("project")).unwrap();
    fs::create_dir_all(root.join("profiles/other")).unwrap();
    let dots = home.join("project/..");
    let slash = format!("dir:{}/", home.display());
    let leads = format!("it leads to {}, which is", home.display());
    for (workspace, why) in [
        ("dir:/".to_owned(), "it is the root of the file system"),
        ("worktree:/".to_owned(), "it is the root of the file system"),
        (dir(&home), "it is the user's home directory"),
        (slash, "it is the user's home directory"),
        (dir(&dots), "it is the user's home directory"),
        (
            dir(home.parent().unwrap()),
            "it holds the user's home directory",
        ),
        (dir(&root), "it is a home of Hermes"),
        (dir(&root.join("profiles/other")), "it is a home of Hermes"),
        (dir(&root.join("profiles")), "it holds the home of Hermes"),
        (dir(&root.join("kanban")), "Hermes"),
        (dir(&home.join(".ssh")), "it contains keys or credentials"),
        (dir(&link), leads.as_str()),
    ] {
        let refused = desk.kanban(&["create", "x", "--workspace", &workspace]);
        refused
            .exits(1)
            .prints("")
            .says_part("cannot be a workspace: ")
            .says_part(why)
            .says_part("hint: choose the directory of a project");
    }
    desk.kanban(&[
        "boards",
        "set-default-workdir",
        "default",
        home.to_str().unwrap(),
    ])
    .exits(1)
    .says_part("cannot be a workspace");
    assert_eq!(desk.json(&["list"]), serde_json::json!([]));
    desk.create("x", &["--workspace", &dir(&home.join("project"))]);
}

#[test]
fn a_card_from_elsewhere_gets_no_worker_in_a_home() {
    let crew = Crew::new();
    let link = crew.desk.home.outside("link");
    fs::create_dir_all(&link).unwrap();
    let id = crew.file("exec sleep 300", &["--workspace", &dir(&link)]);
    // Swapped after it was filed.
    fs::remove_dir(&link).unwrap();
    symlink(crew.desk.home.root(), &link).unwrap();
    let report = crew.dispatch(&[]);
    let failed = &report["spawn_failed"][0];
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("cannot be a workspace"), "{report}");
    assert!(error.contains("is a home of Hermes"), "{report}");
    assert!(!crew.has_workers(&id));
}

#[test]
fn agents_choose_workspaces_in_their_own_or_in_listed_ones() {
    let desk = Desk::new();
    let listed = desk.home.outside("listed");
    let elsewhere = desk.home.outside("elsewhere");
    for path in [&listed, &elsewhere] {
        fs::create_dir_all(path.join("sub")).unwrap();
    }
    symlink(&elsewhere, listed.join("out")).unwrap();
    let agent = |workspace: &str| {
        desk.call(&["create", "x", "--json", "--workspace", workspace])
            .env("HERMES_AGENT_SHELL", "1")
            .run()
    };
    let why = "lies neither in the workspace of the agent that chose it nor in \
               kanban.workspace_roots";
    agent(&dir(&listed))
        .exits(1)
        .says_part(why)
        .says_part("hint: choose a directory inside the workspace, or let a person add one");
    let roots = format!("kanban:\n  workspace_roots: ['{}']\n", listed.display());
    desk.home.put("config.yaml", roots);
    for inside in [listed.clone(), listed.join("sub"), listed.join("new/deep")] {
        let made = agent(&dir(&inside)).succeeds().json();
        assert_eq!(made["filed_within"], listed.to_str().unwrap());
    }
    for outside in [
        elsewhere.clone(),
        listed.join("out"),
        listed.join("../elsewhere"),
        listed.join("out/sub"),
    ] {
        agent(&dir(&outside)).exits(1).says_part(why);
    }
    agent(&dir(&desk.home.root()))
        .exits(1)
        .says_part("is a home of Hermes");

    // A worker has the workspace of its card.
    let own = desk.create("own", &["--workspace", &dir(&elsewhere)]);
    let run = desk.claimed(&own);
    let worker = |path: &Path| {
        let workspace = dir(path);
        as_worker(
            &desk,
            &own,
            run,
            &["create", "x", "--json", "--workspace", &workspace],
        )
    };
    let made = worker(&elsewhere.join("sub")).succeeds().json();
    assert_eq!(made["filed_within"], elsewhere.to_str().unwrap());
    worker(&desk.home.outside("third")).exits(1).says_part(why);
    // A person chooses freely.
    desk.create("x", &["--workspace", &dir(&desk.home.outside("third"))]);
}

#[test]
fn directory_that_an_agent_chose_must_stay_where_it_was() {
    let crew = Crew::new();
    let listed = crew.desk.home.outside("listed");
    let secret = crew.desk.home.outside("secret");
    fs::create_dir_all(listed.join("work")).unwrap();
    fs::create_dir_all(&secret).unwrap();
    let roots = format!("workspace_roots: ['{}']", listed.display());
    crew.configure(&[&roots]);
    let made = crew
        .call(&["create", "x", "--json", "--assignee", "alpha"])
        .arg("--workspace")
        .arg(dir(&listed.join("work")))
        .env("HERMES_AGENT_SHELL", "1")
        .run();
    let id = made.succeeds().json()["id"].as_str().unwrap().to_owned();
    fs::remove_dir(listed.join("work")).unwrap();
    symlink(&secret, listed.join("work")).unwrap();
    let report = crew.dispatch(&[]);
    let error = report["spawn_failed"][0]["error"].as_str().unwrap();
    assert!(error.contains("lies outside of"), "{report}");
    fs::remove_file(listed.join("work")).unwrap();
    fs::create_dir(listed.join("work")).unwrap();
    crew.script(&id, "exec sleep 300");
    crew.desk.kanban(&["unblock", &id]);
    crew.dispatch(&[]);
    let cwd = crew.note(&id, "cwd");
    assert_eq!(Path::new(cwd.trim()), listed.join("work"));
}

#[test]
fn wrong_workspace_roots_are_named() {
    let desk = Desk::new();
    let roots = "kanban:\n  workspace_roots: [relative/path, /no/such/dir, /, '~', 3]\n";
    desk.home.put("config.yaml", roots);
    for args in [&["doctor"][..], &["config", "check"]] {
        let output = desk.home.run(args);
        let told = format!("{}{}", output.stdout, output.stderr);
        for part in [
            "kanban.workspace_roots: 'relative/path' is not an absolute path",
            "kanban.workspace_roots: '/no/such/dir' does not exist",
            "kanban.workspace_roots: '/' is the root of the file system",
            "kanban.workspace_roots: '~' is the user's home directory",
            "kanban.workspace_roots: '3' is not an absolute path",
            "name existing directories of projects",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    let refused = desk
        .call(&["create", "x", "--workspace", "dir:/no/such/dir"])
        .env("HERMES_AGENT_SHELL", "1")
        .run();
    assert_refuses(
        &refused,
        1,
        "/no/such/dir cannot be a workspace: it lies neither in the workspace of the agent that \
         chose it nor in kanban.workspace_roots",
    );
}

#[test]
fn bind_mounts_of_a_home_are_no_workspaces() {
    let desk = Desk::new();
    desk.kanban(&["init"]).succeeds();
    let (home, root) = (desk.home.user_home(), desk.home.root());
    let shown = desk.home.outside("shown");
    fs::create_dir_all(shown.join("below")).unwrap();
    // Root needs no namespace of users, and may not be allowed one in a container.
    let is_root = rustix::process::geteuid().is_root();
    let become_root = (!is_root).then_some("--map-root-user");
    let script = "mount --bind \"$1\" \"$2\" && exec \"$3\" kanban create x --workspace \"dir:$4\"";
    for (source, target, workspace, why) in [
        (&home, &shown, &shown, "it is the user's home directory"),
        (&root, &shown, &shown, "it is a home of Hermes"),
        (
            &root,
            &shown.join("below"),
            &shown,
            "it is a home of Hermes",
        ),
    ] {
        let output = std::process::Command::new("unshare")
            .arg("--mount")
            .args(become_root)
            .args(["sh", "-c", script, "sh"])
            .args([source, target, desk.home.program(), workspace])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", &home)
            .env("HERMES_HOME", &root)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("cannot be a workspace") && told.contains(why),
            "{told}"
        );
    }
}
