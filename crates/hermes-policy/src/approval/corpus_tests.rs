//! The attacks that were tried for real, other spellings of them, and what people do every day.

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_secret::Redactor;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    SessionApprovals, Verdict,
};

/// Attacks as they were found.
const PROBES: &str = include_str!("../../tests/fixtures/guard-probes.json");
/// Other wrappers, spellings and tools for the same ends, so that no single string is what is met.
const MORE_PROBES: &str = include_str!("../../tests/fixtures/more-guard-probes.json");
const EVERYDAY: &str = include_str!("../../tests/fixtures/everyday-commands.json");

fn judged(command: &str, sandboxed: bool) -> Verdict {
    let paths = KnownPaths {
        homes: KnownHomes::new(["/home/u"], ["/home/u/.hermes"]),
        temp_dirs: vec!["/tmp".to_owned()],
    };
    let redactor = Arc::new(Redactor::default());
    let policy = CommandPolicy::new(ApprovalSettings::default(), paths, redactor);
    policy.check(&CheckRequest {
        text: command,
        shell: &hermes_shell::UnknownShell,
        isolated: false,
        sandboxed,
        yolo: false,
        sudo_password_set: false,
        interaction: Interaction::NonInteractive,
        session: &SessionApprovals::default(),
    })
}

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// Attacks of each kind: how many there are, and those that were allowed.
fn allowed(text: &str) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut kinds: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for row in rows(text) {
        let (kind, command) = (
            row["kind"].as_str().unwrap(),
            row["command"].as_str().unwrap(),
        );
        let entry = kinds.entry(kind.to_owned()).or_default();
        entry.0 += 1;
        if judged(command, false).is_approved() {
            entry.1.push(command.to_owned());
        }
    }
    kinds
}

#[test]
fn attacks_of_the_corpus_are_flagged_or_blocked() {
    let kinds = allowed(PROBES);
    let counts: Vec<(&str, usize, usize)> = kinds
        .iter()
        .map(|(kind, (all, through))| (kind.as_str(), *all, through.len()))
        .collect();
    // Text from a file, and constant text that does no harm, are not asked about.
    let expected = [
        ("dangerous", 42, 0),
        ("detect", 113, 2),
        ("hardline", 200, 0),
    ];
    assert_eq!(counts, expected, "{kinds:#?}");
}

#[test]
fn other_spellings_of_attacks_are_flagged_or_blocked() {
    for (kind, (all, through)) in allowed(MORE_PROBES) {
        let percent = through.len() * 100 / all;
        let most = match kind.as_str() {
            "hardline" => 1,
            _ => 2,
        };
        assert!(
            percent <= most,
            "{kind}: {} of {all}: {through:#?}",
            through.len()
        );
    }
}

#[test]
fn commands_that_end_the_machine_are_blocked_in_the_sandbox_too() {
    let rows = rows(PROBES);
    let hardline = rows.iter().filter(|row| row["kind"] == "hardline");
    let commands: Vec<&str> = hardline
        .map(|row| row["command"].as_str().unwrap())
        .collect();
    let blocked = commands
        .iter()
        .filter(|command| judged(command, true).hardline);
    assert_eq!((commands.len(), blocked.count()), (200, 195));
    for command in [
        "rm -rf build",
        "python3 -c 'print(1)'",
        "git reset --hard",
        "$X",
        "eval \"$X\"",
    ] {
        assert!(!judged(command, false).is_approved(), "{command}");
        assert_eq!(judged(command, true), Verdict::approved(), "{command}");
    }
}

#[test]
fn everyday_commands_are_never_flagged() {
    let commands = rows(EVERYDAY);
    assert!(commands.len() >= 400);
    let flagged: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            let command = command.as_str().unwrap();
            let verdict = judged(command, false);
            (verdict != Verdict::approved()).then(|| format!("{command:?}: {verdict:?}"))
        })
        .collect();
    assert!(flagged.is_empty(), "{flagged:#?}");
}
