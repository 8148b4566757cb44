//! Gateways as services of s6, the supervisor of the container image.
//!
//! Every profile has a *slot*: a service directory below the scan directory of `s6-svscan`. In the
//! image the slots are root's, so that nothing an agent writes is ever run by root; the user whom
//! gateways run as may control them, and asks the registrar, a small service of root, to add and
//! remove them. Where no registrar listens, the caller writes slots itself.

mod log_directory;
mod permissions;
mod presence;
mod profile_home;
mod registrar;
mod registrar_client;
mod request;
mod service;
mod slot_build;
mod slot_files;
mod slots;
mod status;
mod tools;

pub use permissions::{prepare_scan_directory, prepare_static_service};
pub use presence::is_s6;
pub use registrar::{Registrar, RegistrarError};
pub use service::S6;
pub use slot_build::Owner;
pub use slots::Slots;
pub use status::SlotStatus;

pub(crate) use profile_home::{HomeFacts, ProfileHome};
pub(crate) use slot_files::SlotDefinition;
