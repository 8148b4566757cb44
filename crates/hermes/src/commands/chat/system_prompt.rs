//! The system prompt of a conversation from the command line.

use hermes_agent::Parts;
use hermes_session::SessionId;

use super::wishes::Wishes;
use crate::context::Context;
use crate::error::Result;

pub(super) fn assemble(
    _parts: &Parts,
    _id: &SessionId,
    _wishes: &Wishes,
    _context: &Context,
) -> Result<String> {
    Ok("You are an assistant.".to_owned())
}
