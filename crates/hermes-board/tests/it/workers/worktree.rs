//! Cards that are worked on in git worktrees.

use std::path::Path;

use hermes_board::boards::MetadataChange;
use hermes_board::model::{Status, TaskId, WorkspaceKind};
use hermes_board::store::NewTask;
use hermes_testkit::git;
use pretty_assertions::assert_eq;

use super::{Yard, started};
use crate::task;

fn repository(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    git(path, &["init", "-q"]);
    std::fs::write(path.join("file"), "one\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "-qm", "one"]);
}

fn worktree(path: Option<&Path>) -> NewTask {
    NewTask {
        workspace: WorkspaceKind::Worktree,
        workspace_path: path.map(|path| path.to_str().unwrap().to_owned()),
        ..NewTask::titled("in a worktree")
    }
}

fn branch_seen(yard: &Yard, id: &TaskId) -> Option<String> {
    yard.worker_of(id);
    let text = yard.said(id, "env");
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix("HERMES_KANBAN_BRANCH=")
            .map(str::to_owned)
    })
}

#[test]
fn a_repository_gets_a_worktree_and_the_first_worker_knows_its_branch() {
    let mut yard = Yard::new();
    let repo = yard.fixture.path("repo");
    repository(&repo);
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "exec sleep 300", worktree(Some(&repo)));
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
    let place = repo.join(".worktrees").join(id.as_str());
    let branch = format!("wt/{id}");
    assert_eq!(git(&place, &["branch", "--show-current"]), branch);
    assert_eq!(branch_seen(&yard, &id), Some(branch.clone()));
    assert_eq!(yard.said(&id, "cwd"), format!("{}\n", place.display()));
    let card = task(&store, &id);
    assert_eq!(card.branch_name, Some(branch));
    assert_eq!(card.workspace_path.as_deref(), place.to_str());
}

#[test]
fn an_existing_worktree_is_reused() {
    let mut yard = Yard::new();
    let repo = yard.fixture.path("repo");
    repository(&repo);
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "exit 3", worktree(Some(&repo)));
    yard.tick_until_ended(&mut store, &id);
    let place = repo.join(".worktrees").join(id.as_str());
    std::fs::write(place.join("work"), "half done").unwrap();
    git(&place, &["checkout", "-qb", "renamed"]);
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
    assert_eq!(branch_seen(&yard, &id).as_deref(), Some("renamed"));
    assert!(place.join("work").exists());
}

#[test]
fn the_board_names_the_repository_and_the_card_the_branch() {
    let mut yard = Yard::new();
    let repo = yard.fixture.path("repo");
    repository(&repo);
    git(&repo, &["branch", "feature"]);
    let change = MetadataChange {
        default_workdir: Some(Some(repo.join(".").to_str().unwrap().to_owned())),
        ..MetadataChange::default()
    };
    let slug = yard.fixture.board().slug;
    yard.fixture.home.change(&slug, &change, 1).unwrap();
    let mut store = yard.open();
    let anchored = yard.file_with(&mut store, "exec sleep 300", worktree(None));
    let elsewhere = repo.join("deep/down");
    let placed = yard.file_with(
        &mut store,
        "exec sleep 300",
        NewTask {
            branch_name: Some("feature".to_owned()),
            ..worktree(Some(&elsewhere))
        },
    );
    let report = yard.tick(&mut store);
    assert_eq!(report.spawned.len(), 2, "{report:?}");
    assert!(
        repo.join(".worktrees")
            .join(anchored.as_str())
            .join("file")
            .exists()
    );
    assert_eq!(git(&elsewhere, &["branch", "--show-current"]), "feature");
    assert_eq!(branch_seen(&yard, &placed).as_deref(), Some("feature"));
}

#[test]
fn a_deleted_worktree_is_created_again() {
    let mut yard = Yard::new();
    let repo = yard.fixture.path("repo");
    repository(&repo);
    let mut store = yard.open();
    let id = yard.file_with(&mut store, "exit 3", worktree(Some(&repo)));
    yard.tick_until_ended(&mut store, &id);
    std::fs::remove_dir_all(repo.join(".worktrees")).unwrap();
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
}

#[test]
fn without_a_repository_there_is_no_worker_and_no_claim() {
    let mut yard = Yard::new();
    let outside = yard.fixture.path("plain/place");
    std::fs::create_dir_all(&outside).unwrap();
    let mut store = yard.open();
    let no_anchor = yard.file_with(&mut store, "", worktree(None));
    let no_repository = yard.file_with(&mut store, "", worktree(Some(&outside)));
    let option = yard.file_with(
        &mut store,
        "",
        NewTask {
            branch_name: Some("--orphan".to_owned()),
            ..worktree(Some(&outside))
        },
    );
    let report = yard.tick(&mut store);
    let why = |id: &TaskId| {
        let mut rows = report.spawn_failed.iter();
        rows.find(|row| row.task_id == *id).unwrap().error.clone()
    };
    assert!(why(&no_anchor).starts_with("workspace: a worktree needs a repository"));
    let not_inside = format!(
        "workspace: {} is not inside a git repository",
        outside.display()
    );
    assert_eq!(why(&no_repository), not_inside);
    assert_eq!(why(&option), "workspace: invalid branch name: '--orphan'");
    for id in [no_anchor, no_repository, option] {
        let card = task(&store, &id);
        assert_eq!((card.status(), card.claim_lock), (Status::Ready, None));
        assert_eq!(card.consecutive_failures, 1);
    }
}
