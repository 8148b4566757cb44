//! Actions that were begun here: commands that go on by themselves.

use std::collections::HashMap;
use std::sync::Mutex;

use hermes_proc::Child;

/// The process of each action, by its name.
#[derive(Default)]
pub(crate) struct Actions {
    pub(crate) children: Mutex<HashMap<&'static str, Child>>,
}
