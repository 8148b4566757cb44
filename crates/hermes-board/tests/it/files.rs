//! Files around cards: kept before they go, removed only where they are ours.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use hermes_board::completion::complete_card;
use hermes_board::files::{
    ATTACHMENT_LIMIT, NewFile, Retention, attach_bytes, attach_file, attachment_file,
    collect_garbage, detach, discard_card_files,
};
use hermes_board::model::{Object, Status, TaskId};
use hermes_board::store::{BoardStore, CompleteOutcome, Completed, Completion, ResolvedWorkspace};
use hermes_board::{Error, StoredBoard};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Fixture, below, card, claim, claimant, events, file, mode, move_to, status, task};

/// A running card with a scratch workspace that exists.
fn working(fixture: &Fixture, board: &mut StoredBoard) -> (TaskId, PathBuf) {
    let id = file(board, &card("work"));
    let path = scratch(fixture, board, &id);
    (id, path)
}

fn scratch(fixture: &Fixture, board: &mut StoredBoard, id: &TaskId) -> PathBuf {
    let run = claim(board, id);
    let path = fixture.board().workspace_of(id).unwrap();
    std::fs::create_dir_all(&path).unwrap();
    let workspace = ResolvedWorkspace {
        path: path.clone(),
        branch: None,
        base: None,
    };
    let _applied = board
        .record_workspace(id, claimant(run), &workspace)
        .unwrap();
    path
}

fn with_artifacts(artifacts: &[Value]) -> Completion {
    let mut metadata = Object::new();
    metadata.insert("artifacts".to_owned(), json!(artifacts));
    Completion {
        summary: Some("made things".to_owned()),
        metadata: Some(metadata),
        ..Completion::default()
    }
}

fn finish(
    fixture: &Fixture,
    board: &mut StoredBoard,
    id: &TaskId,
    completion: &Completion,
) -> Result<Completed, Error> {
    match complete_card(board, &fixture.home, id, completion)? {
        CompleteOutcome::Done(done) => Ok(*done),
        other @ CompleteOutcome::NeedsChecks(_) => panic!("{other:?}"),
    }
}

#[test]
fn deliverables_are_copied_before_the_workspace_is_removed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (id, workspace) = working(&fixture, &mut board);
    std::fs::create_dir(workspace.join("out")).unwrap();
    std::fs::write(workspace.join("out/report.pdf"), "one").unwrap();
    std::fs::write(workspace.join("report.pdf"), "two").unwrap();
    std::fs::write(workspace.join("named.txt"), "three").unwrap();
    let outside = fixture.path("outside.txt");
    std::fs::write(&outside, "stays").unwrap();
    let mut completion = with_artifacts(&[
        json!(workspace.join("out/report.pdf")),
        json!("report.pdf"),
        json!(outside),
        json!(" "),
        json!(7),
    ]);
    completion.summary = Some(format!("see `{}`.", workspace.join("named.txt").display()));
    finish(&fixture, &mut board, &id, &completion).unwrap();
    assert!(!workspace.exists());
    let attachments = board.attachments(&id).unwrap();
    let names: Vec<&str> = attachments
        .iter()
        .map(|attachment| attachment.filename.as_str())
        .collect();
    assert_eq!(names, ["report.pdf", "report_1.pdf", "named.txt"]);
    for (attachment, content) in attachments.iter().zip(["one", "two", "three"]) {
        assert_eq!(
            std::fs::read_to_string(&attachment.stored_path).unwrap(),
            content
        );
        assert_eq!(attachment.uploaded_by.as_deref(), Some("kanban_complete"));
        assert_eq!(mode(&attachment.stored_path), 0o600);
    }
    let run = board.runs(&id, None).unwrap().pop().unwrap();
    let kept = run.metadata.unwrap()["artifacts"].clone();
    let expected: Vec<Value> = [
        &attachments[0].stored_path,
        &attachments[1].stored_path,
        &outside,
        &attachments[2].stored_path,
    ]
    .iter()
    .map(|path| json!(path))
    .collect();
    assert_eq!(kept, json!(expected));
    assert!(
        events(&board, &id)
            .iter()
            .any(|event| event.starts_with("completed") && event.contains("report_1.pdf"))
    );
}

#[test]
fn a_missing_or_oversized_deliverable_refuses_the_completion() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (id, workspace) = working(&fixture, &mut board);
    std::fs::write(workspace.join("good.txt"), "good").unwrap();
    let big = std::fs::File::create(workspace.join("big.bin")).unwrap();
    big.set_len(ATTACHMENT_LIMIT + 1).unwrap();
    std::fs::create_dir(workspace.join("dir")).unwrap();
    for bad in ["missing.txt", "big.bin", "dir"] {
        let completion = with_artifacts(&[json!("good.txt"), json!(bad)]);
        let error = finish(&fixture, &mut board, &id, &completion).unwrap_err();
        assert!(matches!(error, Error::Artifact { .. }), "{error}");
        assert_eq!(status(&board, &id), Status::Running);
        assert!(workspace.join("good.txt").exists());
    }
    let kept = fixture.board().attachments_of(&id).unwrap();
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);
    assert!(board.attachments(&id).unwrap().is_empty());
}

#[test]
fn a_refused_completion_leaves_no_copies() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (id, workspace) = working(&fixture, &mut board);
    std::fs::write(workspace.join("a.txt"), "a").unwrap();
    let mut completion = with_artifacts(&[json!("a.txt")]);
    completion.created_cards = vec!["t_deadbeef".into()];
    let error = finish(&fixture, &mut board, &id, &completion).unwrap_err();
    assert!(matches!(error, Error::PhantomCards { .. }));
    let kept = fixture.board().attachments_of(&id).unwrap();
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);
    completion.created_cards.clear();
    finish(&fixture, &mut board, &id, &completion).unwrap();
    assert_eq!(board.attachments(&id).unwrap().len(), 1);
}

#[test]
fn a_directory_of_the_user_is_never_removed() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let project = fixture.path("home/u/proj");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("src.rs"), "mine").unwrap();
    let linked = fixture.board().workspaces.join("link");
    std::fs::create_dir_all(&fixture.board().workspaces).unwrap();
    std::os::unix::fs::symlink(&project, &linked).unwrap();
    let roots = [
        project.clone(),
        linked,
        fixture.board().workspaces,
        fixture.path("kanban"),
        fixture.path("kanban/workspaces/../../home/u/proj"),
    ];
    for path in roots {
        let id = file(&mut board, &card("trap"));
        let run = claim(&mut board, &id);
        let workspace = ResolvedWorkspace {
            path,
            branch: None,
            base: None,
        };
        let _applied = board
            .record_workspace(&id, claimant(run), &workspace)
            .unwrap();
        let completion = with_artifacts(&[json!(project.join("src.rs"))]);
        finish(&fixture, &mut board, &id, &completion).unwrap();
        assert_eq!(status(&board, &id), Status::Done);
        assert!(project.join("src.rs").exists());
        assert!(fixture.board().workspaces.exists());
        // Outside of our directories nothing is copied either.
        assert!(board.attachments(&id).unwrap().is_empty());
    }
}

#[test]
fn a_workspace_is_kept_until_all_children_are_done() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (parent, workspace) = working(&fixture, &mut board);
    let one = file(&mut board, &below(&[&parent]));
    let two = file(&mut board, &below(&[&parent]));
    let done = Completion::default();
    finish(&fixture, &mut board, &parent, &done).unwrap();
    assert!(workspace.exists());
    let first = scratch(&fixture, &mut board, &one);
    finish(&fixture, &mut board, &one, &done).unwrap();
    assert!(workspace.exists() && !first.exists());
    finish(&fixture, &mut board, &two, &done).unwrap();
    assert!(!workspace.exists());
}

#[test]
fn the_workspace_of_a_running_parent_is_kept() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (parent, workspace) = working(&fixture, &mut board);
    let child = file(&mut board, &below(&[&parent]));
    move_to(&fixture, &child, Status::Todo);
    board
        .promote(&hermes_board::store::PromoteRequest {
            task: child.clone(),
            actor: "me".to_owned(),
            reason: None,
            force: true,
            dry_run: false,
        })
        .unwrap();
    finish(&fixture, &mut board, &child, &Completion::default()).unwrap();
    assert!(workspace.exists());
    assert_eq!(status(&board, &parent), Status::Running);
}

#[test]
fn files_are_attached_under_names_that_are_free_and_harmless() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let named = |name| NewFile {
        name,
        content_type: Some("text/plain"),
        uploaded_by: Some("me"),
    };
    let first = attach_bytes(&mut board, &id, &named("../a.b.txt"), b"1").unwrap();
    let second = attach_bytes(&mut board, &id, &named("a.b.txt"), b"2").unwrap();
    assert_eq!(first.filename, "a.b.txt");
    assert_eq!(second.filename, "a (1).b.txt");
    assert_eq!(std::fs::read(&second.stored_path).unwrap(), b"2");
    assert_eq!(mode(&fixture.board().attachments), 0o700);
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"attached {"filename":"a (1).b.txt","size":1,"by":"me"}"#
    );
    let big = fixture.path("big");
    std::fs::File::create(&big)
        .unwrap()
        .set_len(ATTACHMENT_LIMIT + 1)
        .unwrap();
    let errors = [
        attach_file(&mut board, &id, &big, &named("big")).unwrap_err(),
        attach_file(&mut board, &id, &fixture.path("none"), &named("x")).unwrap_err(),
        attach_bytes(&mut board, &id, &named(".."), b"").unwrap_err(),
        attach_bytes(&mut board, &"t_none".into(), &named("x"), b"").unwrap_err(),
        attach_bytes(&mut board, &"../x".into(), &named("x"), b"").unwrap_err(),
        detach(&mut board, 99).unwrap_err(),
    ];
    assert!(matches!(errors[0], Error::AttachmentTooLarge { .. }));
    assert!(!fixture.path("kanban/attachments/t_none/x").exists());
    detach(&mut board, first.id).unwrap();
    assert!(!first.stored_path.exists());
    assert_eq!(
        events(&board, &id).last().unwrap(),
        r#"attachment_removed {"filename":"a.b.txt"}"#
    );
    // A row that names a file elsewhere does not get it removed or handed out.
    let precious = fixture.path("precious");
    std::fs::write(&precious, "x").unwrap();
    let path = precious.display();
    fixture.run_sql(&format!(
        "UPDATE task_attachments SET stored_path = '{path}'"
    ));
    let odd = board.attachment(second.id).unwrap().unwrap();
    assert_eq!(attachment_file(&fixture.board(), &odd), None);
    detach(&mut board, second.id).unwrap();
    assert!(precious.exists());
}

fn age(path: &std::path::Path, days: u64) {
    let at = SystemTime::now() - Duration::from_secs(days * 86_400);
    let file = std::fs::File::open(path).unwrap();
    file.set_modified(at).unwrap();
}

#[test]
fn garbage_is_collected_and_nothing_else() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (archived, workspace) = working(&fixture, &mut board);
    board.archive(&archived).unwrap();
    let (busy, busy_workspace) = working(&fixture, &mut board);
    let done = file(&mut board, &card("done"));
    crate::complete(&mut board, &done);
    let kept = attach_bytes(
        &mut board,
        &busy,
        &NewFile {
            name: "kept",
            content_type: None,
            uploaded_by: None,
        },
        b"x",
    )
    .unwrap();
    let orphan = fixture
        .board()
        .attachments_of(&busy)
        .unwrap()
        .join("orphan");
    let young = fixture.board().attachments_of(&busy).unwrap().join("young");
    std::fs::create_dir_all(fixture.board().logs).unwrap();
    let old_log = fixture.board().log_of(&done).unwrap();
    let new_log = fixture.board().log_of(&busy).unwrap();
    let old_exit = fixture.board().exit_record_of(&done).unwrap();
    for path in [&orphan, &young, &old_log, &new_log, &old_exit] {
        std::fs::write(path, "x").unwrap();
    }
    age(&orphan, 2);
    age(&kept.stored_path, 200);
    age(&old_log, 40);
    age(&old_exit, 40);
    let old_board = fixture.path("kanban/boards/_archived/p-1");
    let half_deleted = fixture.path("kanban/boards/_archived/.deleting-q-1");
    std::fs::create_dir_all(&old_board).unwrap();
    std::fs::create_dir_all(&half_deleted).unwrap();
    age(&old_board, 100);
    fixture.pass(31 * 86_400);
    let mut retention = Retention::default();
    let report = collect_garbage(&mut board, &fixture.home, &retention).unwrap();
    assert_eq!(report.workspaces, 1);
    assert_eq!(report.logs, 2);
    assert_eq!(report.attachments, 1);
    assert_eq!(report.boards, 0);
    assert!(report.events >= 2);
    assert!(!workspace.exists() && busy_workspace.exists());
    assert!(kept.stored_path.exists() && young.exists() && new_log.exists());
    assert!(events(&board, &done).is_empty());
    assert!(!events(&board, &busy).is_empty());
    retention.archive_days = Some(90);
    let report = collect_garbage(&mut board, &fixture.home, &retention).unwrap();
    assert_eq!(report.boards, 2);
    assert!(!old_board.exists() && !half_deleted.exists());
}

#[test]
fn a_deleted_card_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (id, workspace) = working(&fixture, &mut board);
    let neighbour = file(&mut board, &below(&[&id]));
    let logs = fixture.board().logs;
    std::fs::create_dir_all(&logs).unwrap();
    let other_log = fixture.board().log_of(&neighbour).unwrap();
    let own = [
        fixture.board().log_of(&id).unwrap(),
        logs.join(format!("{id}.log.1")),
        fixture.board().exit_record_of(&id).unwrap(),
    ];
    for path in own.iter().chain([&other_log]) {
        std::fs::write(path, "x").unwrap();
    }
    assert!(matches!(board.purge(&id), Err(Error::NotAllowed { .. })));
    assert_eq!(board.archive(&id).unwrap(), vec![neighbour.clone()]);
    board.purge(&id).unwrap();
    discard_card_files(&fixture.board(), &id).unwrap();
    assert!(own.iter().all(|path| !path.exists()) && !workspace.exists());
    assert!(other_log.exists());
    assert_eq!(board.task(&id).unwrap(), None);
    assert_eq!(status(&board, &neighbour), Status::Ready);
    assert!(events(&board, &id).is_empty());
    board.archive(&neighbour).unwrap();
    board.purge(&neighbour).unwrap();
    assert!(board.counts().unwrap().is_empty());
    assert_eq!(task_rows(&fixture), 0);
}

fn task_rows(fixture: &Fixture) -> i64 {
    let count = |table: &str| fixture.count(table);
    [
        "tasks",
        "task_events",
        "task_runs",
        "task_links",
        "task_comments",
        "task_attachments",
    ]
    .iter()
    .map(|table| count(table))
    .sum()
}

#[test]
fn a_plain_completion_of_a_card_without_workspace_changes_no_metadata() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let completion = with_artifacts(&[json!("/nowhere/report.pdf")]);
    let done = finish(&fixture, &mut board, &id, &completion).unwrap();
    let run = board.run(done.run.unwrap()).unwrap().unwrap();
    assert_eq!(run.metadata, completion.metadata);
    assert_eq!(task(&board, &id).status(), Status::Done);
}
