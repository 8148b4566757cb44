//! The duties of a conversation that works on a card of the board: reminders, claim, exit record.

mod card;
mod claim_watch;
mod denials;

pub(crate) use self::card::Worker;
pub(crate) use self::claim_watch::ClaimWatch;
pub(crate) use self::denials::DenialLog;
