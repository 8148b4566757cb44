//! Homes and profiles: where state lives, which profile a command is about, and making, copying,
//! renaming and deleting them.
//!
//! Returns data; words for people beyond error messages are the command line's business. Nothing
//! here appears half made: profiles are built under a hidden name and published by one rename.

mod alias;
pub mod archive;
pub mod backup;
mod container;
mod database;
mod ensure;
mod error;
mod gateway_host;
mod gateway_marker;
mod gateway_probe;
mod gateway_record;
mod hermes_command;
mod location;
mod managed;
mod name;
mod pending;
pub mod profiles;
mod select;
mod skills;
mod soul;
mod sticky;
mod system;

pub use alias::{Alias, AliasError, AliasMove, AliasName, AliasRules, Aliases};
pub use container::is_container;
pub use ensure::{EnsureError, HomePolicy, ensure_home, refuse_non_directory};
pub use error::{Error, Result, StepError};
pub use gateway_host::{gateway_elsewhere, heartbeat_field, host_fields, owner_elsewhere_beside};
pub use gateway_marker::{GatewayMarker, utc_now};
pub use gateway_probe::{gateway_pid, recorded_gateway};
pub use hermes_command::HEARTBEAT_ARGUMENTS;
pub use location::{HomeKind, Location, LocationError};
pub use managed::Managed;
pub use name::{NameError, ProfileName};
pub use pending::{PendingWrite, PendingWrites};
pub use select::{SelectError, Selection, SelectionSource, command_of, select};
pub use skills::{count_skills, each_skill, each_skill_below, has_skill};
pub use soul::{ENV_SEED, SOUL_SEED};
pub use sticky::{Sticky, sticky_profile};
pub use system::SystemFacts;
