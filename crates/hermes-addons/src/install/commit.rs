//! The end of an install: what is complete and checked comes into service.

use std::path::Path;

use hermes_fs::Staging;
use hermes_proc::Captured;

use super::{diagnosis, log};
use crate::error::{AddonError, Code, InstallerReport, Result};
use crate::store::{Generation, Index, IndexedInterpreter, LEASE, RECORD, Record, Store, indexed};

/// A name for a new generation of a feature: the time, and which closure it is.
pub(crate) fn fresh_generation(store: &Store, feature: &str, digest: &str) -> String {
    let short: String = digest.chars().take(8).collect();
    let mut moment = jiff::Timestamp::now();
    // Two installs of one closure within a second.
    loop {
        let name = format!("{}-{short}", moment.strftime("%Y%m%dT%H%M%SZ"));
        let path = Generation::new(feature, &name).path(store);
        match moment.checked_add(jiff::SignedDuration::from_secs(1)) {
            Ok(next) if hermes_fs::exists_no_follow(&path) => moment = next,
            _ => return name,
        }
    }
}

/// Puts a stage into service. The index decides; what comes after is tidying.
pub(crate) fn commit(
    store: &Store,
    stage: Staging,
    record: &Record,
    interpreter: Option<IndexedInterpreter>,
) -> Result<()> {
    let failed = |error: hermes_fs::Error| AddonError::store(&store.root, &error);
    let json = serde_json::to_vec(record)
        .map_err(|error| AddonError::new(Code::Broken, error.to_string()))?;
    hermes_fs::write_atomic(&stage.path().join(RECORD), &json, 0o400).map_err(failed)?;
    hermes_fs::touch(&stage.path().join(LEASE), 0o600).map_err(failed)?;
    hermes_fs::sync_filesystem(stage.path()).map_err(failed)?;
    let generation = Generation::new(&record.feature, &record.generation);
    let path = generation.path(store);
    let root = hermes_fs::Directory::open(&store.root).map_err(failed)?;
    let parent = generation.relative();
    let parent = parent.parent().unwrap_or(Path::new(""));
    root.create_directories(parent, 0o700).map_err(failed)?;
    stage.publish(&path).map_err(failed)?;
    let (mut index, state) = Index::load(store);
    index
        .features
        .insert(record.feature.clone(), indexed(record));
    if interpreter.is_some() {
        index.interpreter = interpreter;
    }
    index.save(store, state)?;
    for old in store.generations(&record.feature) {
        if old != generation {
            old.retire(store, false)?;
        }
    }
    Ok(())
}

/// What an installer said, with the file that has all of it.
pub(crate) fn report(
    home: &Path,
    name: &str,
    tool: &str,
    version: &str,
    output: &Captured,
) -> InstallerReport {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let log = log::write(home, name, &time.to_string(), output);
    InstallerReport {
        tool: tool.to_owned(),
        version: version.to_owned(),
        exit: output.status.code(),
        tail: diagnosis::tail(output),
        log: log.map(|path| path.display().to_string()),
    }
}

/// The time, as records have it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
