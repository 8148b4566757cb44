//! The directory that holds installed add-ons, by what is in it. Nothing here is ever read as code.

mod environments;
mod index;
mod locks;
mod names;
mod place;
mod record;
mod wipe;

pub(crate) use environments::Generation;
pub(crate) use index::{Failure, Index, IndexState, IndexedInterpreter, StoredFeature, indexed};
pub(crate) use locks::RecordedLock;
pub(crate) use names::{LEASE, LOCK, RECORD, SHIMS, SITE, STAGES, TRASH};
pub(crate) use place::{Store, StoreState};
pub(crate) use record::{
    Damage, Record, RecordedInstaller, RecordedPackage, read_tree, tree_digest,
};
