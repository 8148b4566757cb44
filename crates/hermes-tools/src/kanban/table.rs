//! All tools of the board.

use std::sync::Arc;

use super::access::BoardAccess;
use super::tool::{BoardAnswer, BoardCall, KanbanTool};
use super::{attach, block, comment, complete, create, list, show};
use crate::tool::{Tool, ToolSpec};

type Entry = (
    &'static ToolSpec<'static>,
    fn(&BoardCall<'_>) -> BoardAnswer,
);

const TOOLS: &[Entry] = &[
    (&show::SHOW, show::show),
    (&list::LIST, list::list),
    (&create::CREATE, create::create),
    (&complete::COMPLETE, complete::complete),
    (&block::BLOCK, block::block),
    (&block::UNBLOCK, block::unblock),
    (&comment::COMMENT, comment::comment),
    (&comment::HEARTBEAT, comment::heartbeat),
    (&block::LINK, block::link),
    (&attach::ATTACH, attach::attach),
    (&attach::ATTACH_URL, attach::attach_url),
    (&attach::ATTACHMENTS, attach::attachments),
];

/// All tools of the board.
pub fn kanban_tools(access: BoardAccess) -> impl Iterator<Item = impl Tool> {
    let access = Arc::new(access);
    TOOLS.iter().map(move |(spec, run)| KanbanTool {
        access: Arc::clone(&access),
        spec,
        run: *run,
    })
}
