//! The gateway: the process that claims a home, hosts services for months, and ends in order.
//!
//! [`Gateway`] is the process, [`HostedService`] what it hosts. Services run on threads of their own
//! and know the gateway only as a [`ServiceHost`].

mod active_state;
mod cause;
mod checks;
mod claimed;
mod dispatch_loop;
mod error;
mod gateway;
mod health;
mod live_context;
mod notice;
mod options;
mod pace;
mod reports;
mod service;
mod services;
mod shutdown;
mod supervisor;

pub use checks::{drain_timeout, refuse_beside_other_host};
pub use dispatch_loop::{DispatchLoop, DispatchObserver, Steering, described_limits};
pub use error::StartError;
pub use gateway::Gateway;
pub use live_context::LiveContext;
pub use options::{Ended, GatewayOptions, Replaced};
pub use service::{HostedService, ServiceError, ServiceHost};
pub use services::{
    AddonKeeper, BoardDispatcher, BoardNotifier, CronScheduler, MemoryLog, SettingsWatch, Sweeps,
};
