//! What goes when the interpreter changes: everything that was made for another one.

use super::environments::{Generation, is_package};
use super::index::Index;
use super::place::Store;
use super::record::Record;
use crate::error::Result;

impl Store {
    /// Removes the environments of other interpreters once one for this one is in service, and the
    /// reference's packages if they are for another. What is in use stays until a collection finds
    /// it unused, and is not started again. Features stay in the index: the next use installs them
    /// again.
    pub(crate) fn wipe_other_abis(&self, abi: &str) -> Result<()> {
        let stamp = self.stamp();
        if stamp.as_deref() == Some(abi) {
            return Ok(());
        }
        let old = stamp.unwrap_or_default();
        tracing::info!(%old, new = abi, "the add-on store is for another interpreter now");
        let is_other = |generation: &Generation| {
            !Record::load(self, generation).is_ok_and(|record| record.abi == abi)
        };
        let names = self.environment_names().into_iter();
        let others: Vec<Generation> = names
            .filter(|name| !is_package(name))
            .flat_map(|feature| self.generations(&feature))
            .filter(is_other)
            .collect();
        for generation in &others {
            generation.retire(self, false)?;
        }
        if !old.is_empty() {
            for name in self.legacy_names() {
                self.discard(&self.path(&name))?;
            }
        }
        let (mut index, state) = Index::load(self);
        for (name, feature) in &mut index.features {
            let is_gone = |current: &String| {
                let generation = Generation::new(name, current);
                others.contains(&generation) || !generation.is_present(self)
            };
            if feature.current.as_ref().is_some_and(is_gone) {
                feature.current = None;
                feature.bytes = 0;
            }
        }
        index.save(self, state)?;
        self.write_stamp(abi)
    }
}
