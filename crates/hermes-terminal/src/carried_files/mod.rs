//! Which files of this machine go along to a remote host: credential files, skills and
//! caches.
//!
//! A container mounts [`CarriedRoot`]s, a remote machine gets copies of their [`CarriedFile`]s. Decides
//! what may go and where it belongs below `.hermes` there; never copies, mounts or logs anything.

mod credential;
mod files;
mod request;
mod roots;

pub use credential::declared_credential;
pub use files::{CarriedFile, Unlistable, files_of, is_left_over};
pub use request::CarriedRequest;
pub use roots::{Carried, CarriedKind, CarriedRoot};
