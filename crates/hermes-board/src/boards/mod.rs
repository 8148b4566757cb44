//! Boards: where they lie, which one is meant, and what they are called.

mod bell;
mod board;
mod home;
mod locks;
mod manage;
mod metadata;
mod server;
mod slug;
mod transfer;

pub use board::Board;
pub use home::BoardHome;
pub use locks::{TickLock, lock_dispatcher, lock_notifier};
pub use manage::{CreatedBoard, Listed};
pub use metadata::{BoardInfo, MetadataChange};
pub use server::{BoardServer, ServerSettings};
pub use slug::BoardSlug;
pub use transfer::TransferSettings;

pub(crate) use home::{ManagedScratch, entries};
pub(crate) use metadata::{database_in, load as load_info};
