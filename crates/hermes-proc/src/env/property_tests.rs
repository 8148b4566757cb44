//! Properties over random environments: no planted secret gets out, whatever else is there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::names::{CREDENTIALS, INTERNAL_SECRETS, LISTED, MODE_MARKERS, RPC_NAMES};
use super::*;

const CANARY: &str = "canary-";

/// Names found in the settings of the imagined user.
const DERIVED: &[&str] = &["MY_KEY", "CORP_LLM", "token_of_mine"];

/// Every name of tier 0 that has a fixed form, and some of each pattern.
fn internal_names() -> Vec<&'static str> {
    let patterns = [
        "_HERMES_GATEWAY",
        "_HERMES_FORCE_OPENAI_API_KEY",
        "AUXILIARY_VISION_API_KEY",
        "AUXILIARY_WEB_BASE_URL",
        "Auxiliary_Odd_Api_Key",
        "GATEWAY_RELAY_X_SECRET",
        "GATEWAY_RELAY_X_KEY",
        "gateway_relay_x_token",
    ];
    let fixed = [RPC_NAMES, MODE_MARKERS, INTERNAL_SECRETS].concat();
    fixed.into_iter().chain(patterns).collect()
}

fn tier2_names() -> Vec<&'static str> {
    LISTED.lines().chain(DERIVED.iter().copied()).collect()
}

fn policy(passthrough: BTreeSet<String>) -> EnvPolicy {
    let mut policy = EnvPolicy {
        hermes_home: PathBuf::from("/hh"),
        hermes_program: PathBuf::from("/nowhere/hermes"),
        ..EnvPolicy::default()
    };
    policy.secret_names = Arc::new(DERIVED.iter().map(|name| (*name).to_owned()).collect());
    policy.passthrough = passthrough;
    policy
}

/// Canaries under all secret names, between random others.
fn planted(noise: &[(String, Vec<u8>)]) -> Vec<(OsString, OsString)> {
    use std::os::unix::ffi::OsStringExt;
    let secrets = internal_names()
        .into_iter()
        .chain(CREDENTIALS.iter().copied());
    let secrets = secrets.chain(tier2_names());
    let secrets = secrets.map(|name| (name.into(), format!("{CANARY}{name}").into()));
    let markers = ACTIVATION_MARKERS.iter().chain(SESSION_NAMES);
    let markers = markers.map(|name| (name.into(), format!("{CANARY}{name}").into()));
    let noise = noise
        .iter()
        .map(|(name, value)| (name.into(), OsString::from_vec(value.clone())));
    noise.chain(secrets).chain(markers).collect()
}

/// Names whose canary is in the plan, under whatever name.
fn escaped(plan: &EnvPlan) -> BTreeSet<String> {
    let values = plan.variables().values();
    values
        .filter_map(|value| value.to_str()?.strip_prefix(CANARY).map(str::to_owned))
        .collect()
}

/// What a class may hold of the planted secrets: nothing, our own program apart.
fn permitted(class: SpawnClass) -> BTreeSet<String> {
    let internal = internal_names();
    let secret_of_ours = |name: &&str| {
        INTERNAL_SECRETS.contains(name) || {
            let upper = name.to_ascii_uppercase();
            upper.starts_with("AUXILIARY_") || upper.starts_with("GATEWAY_RELAY_")
        }
    };
    let names: Vec<&str> = match class {
        SpawnClass::Hermes => tier2_names()
            .into_iter()
            .chain(CREDENTIALS.iter().copied())
            .chain(internal.into_iter().filter(secret_of_ours))
            .collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(str::to_owned).collect()
}

fn noise() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    // Unlikely to hit a rule by accident; values may be any bytes but NUL.
    vec(("Z[A-Z0-9_]{0,10}", vec(1_u8..=255, 0..24)), 0..12)
}

/// Random picks of names an operator might write into a list.
fn wishes() -> impl Strategy<Value = BTreeSet<String>> {
    let all: Vec<&'static str> = internal_names()
        .into_iter()
        .chain(CREDENTIALS.iter().copied())
        .chain(tier2_names())
        .chain(SESSION_NAMES.iter().copied())
        .collect();
    let picks = vec(proptest::sample::select(all), 0..12);
    picks.prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

proptest! {
    #[test]
    fn no_canary_escapes(noise in noise(), wishes in wishes(), background: bool, pty: bool) {
        let base = planted(&noise);
        let skill = wishes.clone();
        let policy = policy(wishes);
        for class in SpawnClass::ALL {
            let plan = EnvPlan::build(&EnvRequest {
                skill_passthrough: Some(&skill),
                background,
                pty,
                exec_id: Some("id"),
                ..EnvRequest::new(class, &base, &policy)
            });
            prop_assert_eq!(escaped(&plan), permitted(class), "class {}", class);
        }
    }

    #[test]
    fn every_name_has_a_fate_that_is_true(noise in noise()) {
        let base = planted(&noise);
        let policy = policy(BTreeSet::new());
        for class in SpawnClass::ALL {
            let plan = EnvPlan::build(&EnvRequest::new(class, &base, &policy));
            for (name, _) in &base {
                prop_assert!(plan.receipt().of(name).is_some(), "{} {:?}", class, name);
            }
            for row in plan.receipt().rows() {
                let there = plan.get(row.name).is_some();
                prop_assert_eq!(there, row.fate != Fate::Stripped, "{} {:?}", class, row);
            }
            for name in plan.variables().keys() {
                prop_assert!(plan.receipt().of(name).is_some(), "{} {:?}", class, name);
            }
            let printed = format!("{plan:?} {}", plan.receipt().to_json());
            prop_assert!(!printed.contains(CANARY));
        }
    }

    #[test]
    fn a_marker_is_inherited_only_when_named(
        let_through in vec(proptest::sample::select(ACTIVATION_MARKERS), 0..4)
    ) {
        let base = planted(&[]);
        let named: BTreeSet<String> = let_through.iter().map(|name| (*name).to_owned()).collect();
        let policy = policy(named.clone());
        for class in SpawnClass::ALL {
            let plan = EnvPlan::build(&EnvRequest::new(class, &base, &policy));
            for marker in ACTIVATION_MARKERS {
                let expected = named.contains(*marker) && class.takes_operator_passthrough();
                prop_assert_eq!(plan.get(marker).is_some(), expected, "{} {}", class, marker);
            }
        }
    }

    #[test]
    fn a_session_changes_no_protected_name(
        noise in noise(),
        forged in vec(proptest::sample::select(
            internal_names()
                .into_iter()
                .chain(SESSION_NAMES.iter().copied())
                .chain(["HERMES_HOME", "HERMES_REAL_HOME", "HERMES_EXEC_ID"])
                .collect::<Vec<_>>()
        ), 0..12),
        unset: bool,
    ) {
        let base = planted(&noise);
        let policy = policy(BTreeSet::new());
        let session = [("HERMES_SESSION_KEY".to_owned(), Some("bound".to_owned()))];
        let value = (!unset).then(|| OsString::from("forged"));
        let changes: std::collections::BTreeMap<_, _> =
            forged.iter().map(|name| (OsString::from(name), value.clone())).collect();
        let overlay = Overlay { login: changes.clone(), session: changes };
        for class in SpawnClass::ALL {
            let request = EnvRequest {
                session: &session,
                exec_id: Some("id"),
                ..EnvRequest::new(class, &base, &policy)
            };
            let without = EnvPlan::build(&request);
            let with = EnvPlan::build(&EnvRequest { overlay: Some(&overlay), ..request });
            prop_assert_eq!(without.variables(), with.variables(), "class {}", class);
        }
    }
}
