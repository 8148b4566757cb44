//! The services of the gateway itself.

mod dispatcher;
mod memory_log;
mod notifier;
mod resident_addons;
mod scheduler;
mod settings_watch;
mod sweeps;

pub use dispatcher::BoardDispatcher;
pub use memory_log::MemoryLog;
pub use notifier::BoardNotifier;
pub use resident_addons::AddonKeeper;
pub use scheduler::CronScheduler;
pub use settings_watch::SettingsWatch;
pub use sweeps::Sweeps;
