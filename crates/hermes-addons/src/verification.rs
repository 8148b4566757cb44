//! Comparing environments with their records.

use serde::Serialize;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::store::{Damage, Index, Record, StoredFeature};

/// How closely environments are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyMode {
    /// Every byte.
    Full,
    /// Sizes and modes.
    Fast,
}

/// What was found of one feature.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    pub feature: String,
    pub ok: bool,
    pub checked: usize,
    pub missing: Vec<String>,
    pub changed: Vec<String>,
    pub extra: Vec<String>,
    /// Why nothing could be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Addons {
    /// Compares the environments of these features, or of all installed ones, with their records.
    pub fn verify(&self, features: &[String], mode: VerifyMode) -> Result<Vec<Verified>> {
        for name in features {
            Self::installable(name)?;
        }
        let store = self.existing_store()?;
        let index = store.as_ref().map(|store| Index::load(store).0);
        let index = index.unwrap_or_default();
        let is_active = |name: &String| {
            let indexed = index.features.get(name);
            indexed.is_some_and(|indexed| indexed.current.is_some())
        };
        if let Some(missing) = features.iter().find(|name| !is_active(name)) {
            let error = AddonError::new(Code::NotInstalled, "it is not installed");
            return Err(error
                .hint(format!("run: hermes addons install {missing}"))
                .of(missing));
        }
        let Some(store) = store else {
            return Ok(Vec::new());
        };
        let wanted = index
            .features
            .keys()
            .filter(|name| is_active(name) && (features.is_empty() || features.contains(name)));
        let verified = wanted.map(|name| {
            let found = StoredFeature::find(&store, name, &index);
            let compared = found
                .ok_or_else(|| "the environment is gone".to_owned())
                .and_then(|stored| {
                    let record = Record::load(&store, &stored.generation)?;
                    record.compare(&store, &stored.generation, mode == VerifyMode::Fast)
                });
            report(name, compared)
        });
        Ok(verified.collect())
    }
}

fn report(feature: &str, compared: std::result::Result<Damage, String>) -> Verified {
    let (damage, problem) = match compared {
        Ok(damage) => (damage, None),
        Err(problem) => (Damage::default(), Some(problem)),
    };
    Verified {
        feature: feature.to_owned(),
        ok: problem.is_none() && damage.is_none(),
        checked: damage.checked,
        missing: damage.missing,
        changed: damage.changed,
        extra: damage.extra,
        problem,
    }
}
