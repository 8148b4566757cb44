//! Shortening a conversation that grows too long for the model's window.

mod threshold;

use hermes_providers::Request;

pub(crate) use threshold::threshold;

use crate::agent::Agent;
use crate::error::Result;
use crate::observer::Observer;

/// Why a conversation is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is about to become too long.
    Wanted,
    /// The provider has refused it, or somebody asked for it.
    Forced,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compacted {
    /// It is shorter now.
    Done,
    /// It is as it was.
    Unchanged {
        /// Why.
        reason: String,
    },
}

/// What is remembered from one compaction to the next.
#[derive(Debug, Default)]
pub(crate) struct CompactionState {}

impl Agent {
    /// Whether a request has reached the length from which conversations are shortened.
    pub(crate) fn is_too_long(&self, request: &Request) -> bool {
        let route = self.provider.route();
        let limit = threshold(&self.settings.compaction, &route);
        self.settings.compaction.enabled
            && self.calibration.correct(request.estimated_tokens()) >= limit
    }

    /// Shortens the conversation.
    pub(crate) fn compact(
        &mut self,
        _need: Need,
        _observer: &mut dyn Observer,
    ) -> Result<Compacted> {
        Ok(Compacted::Unchanged {
            reason: "not yet".to_owned(),
        })
    }
}
