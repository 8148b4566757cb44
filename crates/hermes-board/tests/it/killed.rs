//! Processes that die at any of their writes: what they leave is the old state or the new one, and
//! the next process goes on.

use hermes_board::boards::{BoardSlug, Listed};
use hermes_board::files::{Retention, collect_garbage};
use hermes_board::model::{Status, TaskId};
use hermes_board::store::{BoardStore, ResolvedWorkspace};
use hermes_board::{ListQuery, StoredBoard};
use hermes_store::{Integrity, integrity_check};
use pretty_assertions::assert_eq;

use crate::{Fixture, card, claim, claimant, file, process, status};

/// More writes than any of these actions has.
const MOST: u32 = 80;

/// Runs the action, killed at its first write, its second and so on, each time from `prepared`.
fn at_every_write(action: &str, prepare: impl Fn(&Fixture), check: impl Fn(&Fixture, u32)) {
    for die_at in 1..MOST {
        let fixture = Fixture::new();
        prepare(&fixture);
        let status = process(action, fixture.dir.path())
            .arg(die_at.to_string())
            .status()
            .unwrap();
        check(&fixture, die_at);
        if status.success() {
            assert!(die_at > 3, "{action} has hardly any writes");
            return;
        }
    }
    panic!("{action} does not come to an end");
}

#[test]
fn a_half_created_board_is_created_by_the_next_opening() {
    at_every_write(
        "open",
        |_| {},
        |fixture, die_at| {
            let mut board = fixture.open();
            let id = file(&mut board, &card("x"));
            assert_eq!(status(&board, &id), Status::Ready, "{die_at}");
            drop(board);
            let path = fixture.board().database;
            assert_eq!(integrity_check(&path).unwrap(), Integrity::Sound);
        },
    );
}

#[test]
fn a_killed_completion_leaves_the_deliverable_in_one_place() {
    at_every_write(
        "complete",
        |fixture| {
            let mut board = fixture.open();
            let id = file(&mut board, &card("x"));
            let run = claim(&mut board, &id);
            let path = fixture.board().workspace_of(&id).unwrap();
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("out.txt"), "precious").unwrap();
            let workspace = ResolvedWorkspace {
                path,
                branch: None,
                base: None,
            };
            let _applied = board
                .record_workspace(&id, claimant(run), &workspace)
                .unwrap();
        },
        |fixture, die_at| {
            let mut board = fixture.open();
            let id = board.list(&ListQuery::default()).unwrap().remove(0).id;
            let workspace = fixture.board().workspace_of(&id).unwrap();
            let kept = board.attachments(&id).unwrap();
            let place = match status(&board, &id) {
                Status::Running => {
                    assert!(kept.is_empty(), "{die_at}");
                    workspace.join("out.txt")
                }
                Status::Done => kept.first().unwrap().stored_path.clone(),
                other => panic!("{other} after {die_at}"),
            };
            assert_eq!(std::fs::read_to_string(place).unwrap(), "precious");
            no_unnamed_files_after_a_day(fixture, &mut board, &id);
        },
    );
}

#[test]
fn a_killed_attach_leaves_no_half_attachment() {
    at_every_write(
        "attach",
        |fixture| {
            file(&mut fixture.open(), &card("x"));
        },
        |fixture, die_at| {
            let mut board = fixture.open();
            let id = board.list(&ListQuery::default()).unwrap().remove(0).id;
            for attachment in board.attachments(&id).unwrap() {
                let content = std::fs::read_to_string(&attachment.stored_path).unwrap();
                assert_eq!(content, "content", "{die_at}");
            }
            no_unnamed_files_after_a_day(fixture, &mut board, &id);
        },
    );
}

/// What a crash left without a row is collected, what has one stays.
fn no_unnamed_files_after_a_day(fixture: &Fixture, board: &mut StoredBoard, id: &TaskId) {
    let directory = fixture.board().attachments_of(id).unwrap();
    let files = || -> Vec<std::path::PathBuf> {
        std::fs::read_dir(&directory)
            .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
            .unwrap_or_default()
    };
    for path in files() {
        let old = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
        let file = std::fs::File::open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    collect_garbage(board, &fixture.home, &Retention::default()).unwrap();
    assert_eq!(files().len(), board.attachments(id).unwrap().len());
}

#[test]
fn a_killed_delete_leaves_no_half_board() {
    at_every_write(
        "board",
        |fixture| drop(fixture.open()),
        |fixture, die_at| {
            let slug = BoardSlug::parse("p").unwrap();
            let boards = fixture.home.list(Listed::All).unwrap();
            for info in boards.iter().filter(|info| info.slug == slug) {
                assert_eq!(info.description, "new", "{die_at}");
            }
            // Whatever the pointer says, there is a board to work on.
            let active = fixture.home.select(None).unwrap();
            drop(StoredBoard::open(&active, &fixture.options()).unwrap());
        },
    );
}
