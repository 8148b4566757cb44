//! A profile as one file: export to a gzip tar and import from it.
//!
//! An export is for handing a profile to somebody, not a backup: it holds no credentials. An
//! import trusts nothing in the archive: names, types, sizes and links are checked before anything
//! appears under its real name.
//!
//! This module takes plain paths and names. Which names are allowed, where profiles live and what
//! to register after an import is decided by its callers.

mod error;
mod exclude;
mod export;
mod import;
mod links;

pub use error::{Error, Result};
pub use export::{ExportReport, ExportRequest, export_profile};
pub use import::{ImportLimits, ImportRequest, Unpacked, unpack_profile};
