//! The services of the gateway itself.

mod dispatcher;
mod memory_log;
mod settings_watch;
mod sweeps;

pub use dispatcher::BoardDispatcher;
pub use memory_log::MemoryLog;
pub use settings_watch::SettingsWatch;
pub use sweeps::Sweeps;
