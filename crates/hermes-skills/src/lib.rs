//! Skills: texts that tell an agent how to do something, with their files, in directories that the
//! reference uses as well.
//!
//! This crate knows where skills are, what they declare, which are offered, how they are changed,
//! checked, installed and kept up to date. It knows no model, no tool and no terminal. What a skill
//! declares is anybody's text: it is read with bounds, and a skill that cannot be read is named in
//! one line and left out.

pub mod bundled;
mod catalog;
mod error;
mod files;
mod find;
pub mod guard;
mod head;
pub mod hub;
mod index;
mod manage;
mod name;
mod offer;
mod plugin;

pub use catalog::{Catalog, IndexedSkill, SkillRoot};
pub use error::{Error, Result};
pub use files::{LinkedFiles, SkillFile, list_files, read_file, text_diff};
pub use find::{Absence, Skill, SkillPlace, Skills};
pub use head::{RequiredVariable, SkillHead, split};
pub use index::index_text;
pub use manage::{SkillEditor, check_text};
pub use name::{check_category, check_name};
pub use offer::{OfferFacts, is_for_this_system};
pub use plugin::PluginSkills;
