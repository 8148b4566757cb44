//! Commands in a container, by Docker or Podman.
//!
//! [`DockerSandbox`] is the container as [`Transport`](hermes_terminal::remote::Transport) sees it; [`DockerHost`] is what all
//! sandboxes of a process share. Everything that decides (plan, run arguments, identity, drift) is pure;
//! everything that acts goes through one engine program, which is never told a secret in its
//! arguments. Nothing here runs a command on the host.

mod attach;
mod auto_mounts;
mod background_sweep;
mod create;
mod diagnose;
mod discovery;
mod drift;
mod engine;
mod engine_words;
mod error;
mod exec_stream;
mod extra_args;
mod held_directory;
mod host;
mod host_access;
mod host_paths;
mod identity;
mod image;
mod inspect;
pub mod labels;
pub mod manage;
mod mounts;
mod owner;
mod plan;
mod pull;
mod queries;
mod quota;
mod reaper;
mod run_arguments;
mod sandbox;
mod session_env;
mod settings;
mod skill_mirror;
mod socket;
mod suspects;
mod teardown;
mod usage;
mod volumes;
mod workdir;

pub use attach::Container;
pub use drift::Drift;
pub use engine::{Answer, Engine, EngineInfo, EngineKind};
pub use error::{DockerError, Result};
pub use host::{DockerHost, Observer};
pub use host_access::host_access;
pub use identity::{HomeOf, SandboxIdentity};
pub use inspect::{BindFact, ContainerFacts, State};
pub use mounts::{Mount, MountOrigin, PathMap};
pub use plan::{HostFacts, Limits, SHARED_TASK, SandboxPlan, SandboxRequest};
pub use reaper::{sweep, sweep_ownerless, threshold};
pub use run_arguments::{Circumstance, InitSource, fingerprint, run_arguments};
pub use sandbox::{DockerSandbox, Removal};
pub use settings::{DockerSettings, InitMode, Isolation, OnDrift};
