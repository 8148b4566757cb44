//! Skills that are part of the program. They are copied into the home of a profile, where the user
//! may change them; changed ones are never touched again.

mod manifest;
mod sync;

pub use sync::{
    BundledState, OPT_OUT_MARK, diff, remove_unchanged, reset, states, sync, sync_if_needed,
};

/// A skill of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledSkill {
    pub name: &'static str,
    /// Its directory below `skills/`.
    pub path: &'static str,
    pub text: &'static str,
}

/// All of them.
pub const BUNDLED: [BundledSkill; 6] = [
    BundledSkill {
        name: "acceptance-checks",
        path: "kanban/acceptance-checks",
        text: include_str!("../../skills/acceptance-checks.md"),
    },
    BundledSkill {
        name: "board-planning",
        path: "kanban/board-planning",
        text: include_str!("../../skills/board-planning.md"),
    },
    BundledSkill {
        name: "board-worker",
        path: "kanban/board-worker",
        text: include_str!("../../skills/board-worker.md"),
    },
    BundledSkill {
        name: "change-review",
        path: "development/change-review",
        text: include_str!("../../skills/change-review.md"),
    },
    BundledSkill {
        name: "hermes-guide",
        path: "hermes/hermes-guide",
        text: include_str!("../../skills/hermes-guide.md"),
    },
    BundledSkill {
        name: "sdlc-review",
        path: "kanban/sdlc-review",
        text: include_str!("../../skills/sdlc-review.md"),
    },
];

/// The text of a skill of the program.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    named(name).map(|skill| skill.text)
}

/// The skill of this name.
pub fn named(name: &str) -> Option<&'static BundledSkill> {
    BUNDLED.iter().find(|skill| skill.name == name)
}
