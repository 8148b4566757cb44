//! `/rollback`: lists the snapshots of files, shows what has changed since one, and goes back to it.

use std::path::Path;

use hermes_checkpoints::{Checkpoints, Snapshot};

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

/// Lines of a difference that are shown.
const LINES: usize = 80;
/// Characters of a reason, and of a message that is undone.
const SHORT: usize = 60;
/// Files that are named.
const NAMED: usize = 5;

pub(super) fn rollback(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let Some(checkpoints) = state.conversation.checkpoints() else {
        return Err(
            CommandError::user("this conversation takes no snapshots of files")
                .hint("start with --checkpoints, or set checkpoints.enabled to true"),
        );
    };
    let cwd = state.conversation.directory();
    let snapshots = checkpoints.list(&cwd)?;
    let mut words = arguments.splitn(2, char::is_whitespace);
    match (words.next().unwrap_or_default(), words.next()) {
        ("", _) => list(state, &snapshots, &cwd)?,
        (word, which) if word.eq_ignore_ascii_case("diff") => {
            let which = which.ok_or_else(|| CommandError::user("usage: /rollback diff N"))?;
            diff(state, &checkpoints, chosen(&snapshots, which.trim(), &cwd)?)?;
        }
        (which, path) => {
            let snapshot = chosen(&snapshots, which, &cwd)?;
            restore(state, &checkpoints, snapshot, path.map(str::trim), &cwd)?;
        }
    }
    Ok(After::Prompt)
}

fn list(state: &ChatState<'_>, snapshots: &[Snapshot], cwd: &Path) -> Result<()> {
    let Some(first) = snapshots.first() else {
        return state.note(none(cwd));
    };
    let context = state.context;
    let is_one = |snapshot: &Snapshot| snapshot.directory == first.directory;
    let are_one = snapshots.iter().all(is_one);
    let zone = context.zone().resolve();
    if are_one {
        let directory = context.display(&first.directory);
        state.note(format!("Snapshots of {directory}, newest first:"))?;
    } else {
        state.note("Snapshots, newest first:")?;
    }
    for (index, snapshot) in snapshots.iter().enumerate() {
        let time = snapshot.time.to_zoned(zone.clone());
        let changes = match snapshot.files_changed {
            0 => String::new(),
            count => format!(
                "  ({}, +{}/-{})",
                counted(usize::try_from(count).unwrap_or(usize::MAX), "file"),
                snapshot.insertions,
                snapshot.deletions
            ),
        };
        let directory = if are_one {
            String::new()
        } else {
            format!("  {}", context.display(&snapshot.directory))
        };
        state.note(format!(
            "  {:>2}. {}  {}  {}{changes}{directory}",
            index + 1,
            snapshot.short_id,
            time.strftime("%Y-%m-%d %H:%M"),
            one_line(&snapshot.reason, SHORT)
        ))?;
    }
    state.note(
        "/rollback N goes back to a snapshot, /rollback diff N shows what has changed since, and \
         /rollback N FILE restores one file.",
    )
}

fn diff(state: &ChatState<'_>, checkpoints: &Checkpoints, snapshot: &Snapshot) -> Result<()> {
    let diff = checkpoints.diff(snapshot)?;
    if diff.files.is_empty() {
        return state.note("Nothing has changed since this snapshot.");
    }
    state.note(&diff.files)?;
    state.note("")?;
    let mut lines = diff.text.lines();
    for line in lines.by_ref().take(LINES) {
        state.note(line)?;
    }
    match lines.count() {
        0 => Ok(()),
        left => state.note(format!("… and {} more", counted(left, "line"))),
    }
}

fn restore(
    state: &mut ChatState<'_>,
    checkpoints: &Checkpoints,
    snapshot: &Snapshot,
    path: Option<&str>,
    cwd: &Path,
) -> Result<()> {
    let restored = checkpoints.restore(snapshot, path.filter(|path| !path.is_empty()), cwd)?;
    let (id, reason) = (&snapshot.short_id, one_line(&snapshot.reason, SHORT));
    if restored.files == 0 && restored.unsaved.is_empty() {
        state.note(format!(
            "Nothing differs from the snapshot {id} ({reason})."
        ))?;
    } else if restored.files > 0 {
        let files = counted(restored.files, "file");
        state.note(format!(
            "Restored {files} from the snapshot {id} ({reason})."
        ))?;
        state.note("What was there before is the newest snapshot: /rollback 1 goes back to it.")?;
    }
    if !restored.made_since.is_empty() {
        let files = named(&restored.made_since);
        state.note(format!(
            "Left as they are, since they were made later: {files}."
        ))?;
    }
    if !restored.unsaved.is_empty() {
        let files = named(&restored.unsaved);
        state.note(format!(
            "Not restored, since what they hold now is in no snapshot: {files}."
        ))?;
    }
    if restored.files > 0
        && let Some(text) = state.conversation.agent().undo(1)?
    {
        let text = one_line(&text, SHORT);
        state.note(format!("Undone, so that the model knows: {text}"))?;
    }
    Ok(())
}

/// The snapshot that a number of the list, or an id, names.
fn chosen<'s>(snapshots: &'s [Snapshot], which: &str, cwd: &Path) -> Result<&'s Snapshot> {
    if snapshots.is_empty() {
        return Err(CommandError::user(none(cwd)));
    }
    let numbered = which.parse::<usize>().ok().filter(|_| which.len() < 4);
    let found = match numbered {
        Some(number) => number.checked_sub(1).and_then(|at| snapshots.get(at)),
        None => {
            let id = which.to_ascii_lowercase();
            let is_id = id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let mut known = snapshots.iter();
            known.find(|snapshot| is_id && snapshot.id.starts_with(&id))
        }
    };
    found.ok_or_else(|| {
        let most = snapshots.len();
        CommandError::user(format!("there is no snapshot '{which}'")).hint(format!(
            "use a number from 1 to {most}; /rollback lists them"
        ))
    })
}

fn none(cwd: &Path) -> String {
    let cwd = cwd.display();
    format!("There are no snapshots of {cwd} yet: the first is taken before a file is changed.")
}

fn named(files: &[String]) -> String {
    let shown: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let shown = shown.join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => shown,
        left => format!("{shown} and {left} more"),
    }
}
