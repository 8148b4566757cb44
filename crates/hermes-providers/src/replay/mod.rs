//! A provider that plays a script: no key, no network, the same answers every time.
//!
//! A script is YAML. Its `turns` are tried from the top; the first whose `match` holds is played.
//! Turns without a `match` are played one after the other.
//!
//! ```yaml
//! turns:
//!   - match: {last: "/task (?<id>t_[0-9a-f]+)/", step: 1}
//!     delay: 0.3
//!     text: I look at card ${id} first.
//!     calls:
//!       - {tool: kanban_show, arguments: {task_id: "${id}"}}
//!   - match: hello            # the same as {last: hello}
//!     text: Good day.
//!   - error: {class: overloaded, message: come back later}   # once; `times` for more
//!   - match: {task: title_generation}     # an auxiliary task needs a turn that names it
//!     text: A short talk
//!   - text: Done.
//! ```
//!
//! Turns are matched against the request alone, so a session resumed after a crash continues where
//! it was.

mod condition;
mod play;
mod reader;
mod script;

pub use play::Replay;
pub use script::{ReplayScript, ScriptError};
