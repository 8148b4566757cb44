//! Work on a card that another machine left, brought before the next attempt begins here.

use std::time::Duration;

use crate::boards::Board;
use crate::claim_lock::installation_host;
use crate::files::{note_change, unpack_workspace};
use crate::model::Task;
use crate::{BoardOptions, Result, StoredBoard};

/// A copy of a repository that is older is fetched before a card is worked on.
pub(in crate::dispatch) const FRESH: Duration = Duration::from_mins(1);
/// Who says on a card that its work stayed on a machine.
pub(in crate::dispatch) const AUTHOR: &str = "dispatcher";

/// Brings the work that another machine left of a card, and notes that it is here from now on.
pub(super) fn arrive(board: &Board, task: &Task) -> Result<()> {
    let mut store = StoredBoard::open(board, &BoardOptions::default())?;
    let own = board.installation();
    if let Some(work) = store.work_of(&task.id)?
        && work.place != own
    {
        if !work.is_handed_over {
            let text = format!(
                "The work of attempt {} stays on {}, which has not handed it over: the next attempt \
                 begins without it.",
                work.run,
                installation_host(&work.place)
            );
            store.add_comment(&task.id, AUTHOR, &text)?;
        } else if task.repository.is_none()
            && let Some(content) = store.workspace_content(&task.id)?
            && content.run == Some(work.run)
            && let Some(kept) = unpack_workspace(&store, &task.id, &content)?
        {
            let text = format!(
                "What an earlier attempt left on {} and nobody handed over is in {} there.",
                installation_host(&own),
                kept.display()
            );
            store.add_comment(&task.id, AUTHOR, &text)?;
        }
    }
    Ok(())
}

/// Notes that the work on a card is on this machine.
pub(super) fn begin(board: &Board, task: &Task) -> Result<()> {
    let Some(run) = task.current_run_id else {
        return Ok(());
    };
    note_change(board, &task.id)?;
    let store = StoredBoard::open(board, &BoardOptions::default())?;
    store.begin_work(&task.id, run, &board.installation())
}
