//! Reviews in the database: comments, replies, verdicts.

use hermes_board::model::{
    Approval, DiffSide, LineRange, OnApprove, RepoPath, Status, TaskId, WorkBase,
};
use hermes_board::store::{Applied, BoardStore, Completion, NewTask, ResolvedWorkspace};
use hermes_board::{ContextOptions, Error, NewReviewComment, StoredBoard, worker_context};
use pretty_assertions::assert_eq;

use crate::Fixture;
use crate::fixture::{card, claim, claimant, file};

fn comment(line: u32, body: &str) -> NewReviewComment {
    NewReviewComment {
        lines: LineRange {
            file: RepoPath::from_bytes("src/a.rs"),
            side: DiffSide::New,
            first_line: line,
            last_line: line + 1,
        },
        quote: "let a = 1;\nlet b = 2;".to_owned(),
        commit: Some("abc".to_owned()),
        author: "boss".to_owned(),
        body: body.to_owned(),
    }
}

fn blocked(board: &mut StoredBoard) -> TaskId {
    let id = file(board, &card("x"));
    claim(board, &id);
    board
        .block(&hermes_board::store::BlockRequest {
            task: id.clone(),
            reason: None,
            kind: None,
            expected_run: None,
        })
        .unwrap();
    id
}

#[test]
fn comments_have_numbers_of_their_card() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (one, other) = (blocked(&mut board), blocked(&mut board));
    assert_eq!(
        board
            .add_review_comment(&one, &comment(3, "first"))
            .unwrap(),
        1
    );
    assert_eq!(
        board
            .add_review_comment(&one, &comment(9, "second"))
            .unwrap(),
        2
    );
    assert_eq!(
        board
            .add_review_comment(&other, &comment(3, "third"))
            .unwrap(),
        1
    );
    board.reply_to_review(&one, 2, "coder", " done ").unwrap();
    assert!(board.resolve_review(&one, 2, "coder").unwrap());
    assert!(!board.resolve_review(&one, 2, "boss").unwrap());
    board
        .move_review_comments(&one, &[(1, Some((5, 6)))])
        .unwrap();
    let review = board.review(&one).unwrap();
    let [first, second] = &review.comments[..] else {
        panic!("{review:?}")
    };
    assert_eq!((first.lines.first_line, first.outdated), (5, false));
    assert_eq!(second.replies[0].body, "done");
    assert_eq!(second.resolved_by.as_deref(), Some("coder"));
    assert_eq!(review.open().count(), 1);
    board.move_review_comments(&one, &[(1, None)]).unwrap();
    assert!(board.review(&one).unwrap().comments[0].outdated);
    let unknown = board.reply_to_review(&one, 3, "coder", "x");
    assert!(matches!(
        unknown,
        Err(Error::UnknownReviewComment { number: 3, .. })
    ));
    let blank = board.add_review_comment(&one, &comment(1, " "));
    assert!(matches!(blank, Err(Error::Blank { .. })));
}

#[test]
fn base_of_the_first_attempt_is_kept() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let new = NewTask {
        on_approve: Some(OnApprove::Merge),
        ..card("x")
    };
    let id = file(&mut board, &new);
    let base = |commit: &str| WorkBase {
        repository: "/repository/.git".into(),
        commit: commit.to_owned(),
        branch: Some("main".to_owned()),
    };
    for commit in ["first", "second"] {
        let run = claim(&mut board, &id);
        let workspace = ResolvedWorkspace {
            path: "/repository/.worktrees/x".into(),
            branch: Some("wt/x".to_owned()),
            base: Some(base(commit)),
        };
        let recorded = board
            .record_workspace(&id, claimant(run), &workspace)
            .unwrap();
        assert_eq!(recorded, Applied::Yes);
        let _applied = board
            .reclaim(
                &id,
                Some("host:1"),
                None,
                hermes_board::model::Termination::default(),
            )
            .unwrap();
    }
    let review = board.review(&id).unwrap();
    assert_eq!(review.base, Some(base("first")));
    assert_eq!(review.on_approve, Some(OnApprove::Merge));
}

#[test]
fn verdicts_follow_each_other() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = blocked(&mut board);
    let nothing = board.request_changes(&id, "boss", Some("  "));
    assert!(matches!(nothing, Err(Error::NothingToChange { .. })));
    board.add_review_comment(&id, &comment(3, "why?")).unwrap();
    let sent = board.request_changes(&id, "boss", None).unwrap();
    assert_eq!(sent, (Status::Ready, 1));
    board.complete(&id, &Completion::default()).unwrap();
    let approval = Approval {
        by: "boss".to_owned(),
        at: 7,
        action: "merge".to_owned(),
        commit: Some("abc".to_owned()),
        branch: Some("main".to_owned()),
    };
    board.record_approval(&id, &approval).unwrap();
    assert_eq!(board.review(&id).unwrap().approval, Some(approval.clone()));
    // What is sent back is approved no longer.
    board
        .request_changes(&id, "boss", Some("after all"))
        .unwrap();
    assert_eq!(board.review(&id).unwrap().approval, None);
    assert!(board.record_approval(&id, &approval).is_err());
    board.archive(&id).unwrap();
    assert!(board.request_changes(&id, "boss", Some("x")).is_err());
    assert!(board.add_review_comment(&id, &comment(1, "x")).is_err());
    board.purge(&id).unwrap();
    assert!(board.review(&id).is_err());
}

#[test]
fn context_of_a_worker_holds_open_comments_within_bounds() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = blocked(&mut board);
    board
        .add_review_comment(&id, &comment(3, "the first"))
        .unwrap();
    board
        .add_review_comment(&id, &comment(7, "resolved"))
        .unwrap();
    board.resolve_review(&id, 2, "boss").unwrap();
    let options = ContextOptions::default();
    let text = worker_context(&board, &id, &options).unwrap();
    assert!(
        text.contains("### Comment 1 on src/a.rs:3-4, by `boss` at "),
        "{text}"
    );
    assert!(
        text.contains("\n    let a = 1;\n    let b = 2;\n\nthe first\n"),
        "{text}"
    );
    assert!(!text.contains("resolved\n"), "{text}");
    for number in 0..60 {
        let body = format!("{number} {}", "long ".repeat(600));
        board.add_review_comment(&id, &comment(9, &body)).unwrap();
    }
    let text = worker_context(&board, &id, &options).unwrap();
    assert!(text.len() < 40_000, "{}", text.len());
    assert!(text.contains("more not shown"), "{text}");
}
