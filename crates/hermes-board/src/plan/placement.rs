//! Which hosts a card may be worked on, and why none of them does.

use serde::Serialize;

use crate::model::{Host, Placement};
use crate::plan::OwnHost;
use crate::store::Snapshot;

/// Why a card that asks for certain hosts is not started by this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Misplaced {
    /// No host has the name.
    NoSuchHost { host: String, known: Vec<String> },
    /// No host has the label.
    NoSuchLabel { label: String, known: Vec<String> },
    /// Hosts have some of the labels, none has all.
    NotTogether {
        labels: Vec<String>,
        known: Vec<String>,
    },
    /// The host of the name lacks a label.
    LacksLabel { host: String, label: String },
    /// All hosts that would do are away; the one that was here last.
    Away { host: String, since: i64 },
    /// All hosts that would do and are here have no free slot; the first of them.
    Full { host: String },
    /// This host has a free slot and starts it.
    WaitsFor { host: String },
}

impl Misplaced {
    /// The reason in a few words, whatever the time.
    pub fn in_words(&self) -> String {
        match self {
            Self::NoSuchHost { host, .. } => format!("no host is called {host}"),
            Self::NoSuchLabel { label, .. } => format!("no host has the label {label}"),
            Self::NotTogether { labels, .. } => {
                format!("no host has all of the labels {}", labels.join(", "))
            }
            Self::LacksLabel { host, label } => {
                format!("host {host} does not have the label {label}")
            }
            Self::Away { host, .. } => format!("host {host} is away"),
            Self::Full { host } => format!("host {host} has no free slot"),
            Self::WaitsFor { host } => format!("host {host} starts them"),
        }
    }

    /// The reason as a sentence. `now` is the time of the board.
    pub(super) fn sentence(&self, now: i64) -> String {
        match self {
            Self::NoSuchHost { host, known } => {
                format!("No host is called {host} (hosts: {}).", list(known))
            }
            Self::NoSuchLabel { label, known } => {
                format!("No host has the label {label} (hosts: {}).", list(known))
            }
            Self::NotTogether { labels, known } => format!(
                "No host has all of the labels {} (hosts: {}).",
                labels.join(", "),
                list(known)
            ),
            Self::LacksLabel { host, label } => {
                format!("Host {host} does not have the label {label}.")
            }
            Self::Away { host, since } => {
                let ago = now.saturating_sub(*since).max(0);
                format!("Host {host} has been away for {}.", span(ago))
            }
            Self::Full { host } => format!("Host {host} has no free slot."),
            Self::WaitsFor { host } => format!("Host {host} starts it at its next tick."),
        }
    }
}

/// A time that has passed, in the largest unit that it fills.
fn span(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

impl OwnHost {
    /// Whether a card may be worked on here.
    fn suits(&self, placement: &Placement) -> bool {
        let is_called = |name: &String| *name == self.name || Some(name) == self.id.as_ref();
        placement.host.as_ref().is_none_or(is_called)
            && placement
                .labels
                .iter()
                .all(|label| self.labels.contains(label))
    }
}

fn suits(host: &Host, placement: &Placement) -> bool {
    let mut labels = placement.labels.iter();
    placement
        .host
        .as_deref()
        .is_none_or(|name| host.is_called(name))
        && labels.all(|label| host.labels.contains(label))
}

/// Why this host does not start a card; `None` if the card may be worked on here.
pub(super) fn misplaced(
    placement: &Placement,
    own: &OwnHost,
    board: &Snapshot,
) -> Option<Misplaced> {
    if placement.is_anywhere() || own.suits(placement) {
        return None;
    }
    let now = board.taken_at;
    let suitable: Vec<&Host> = board
        .hosts
        .iter()
        .filter(|host| suits(host, placement))
        // What this host is registered as may be out of date; what it is was asked above.
        .filter(|host| Some(&host.id) != own.id.as_ref())
        .collect();
    if suitable.is_empty() {
        return Some(unsuitable(placement, &board.hosts));
    }
    let here = || {
        suitable
            .iter()
            .filter(|host| host.away_since(now).is_none())
    };
    if let Some(host) = here().find(|host| has_slot(host, board)) {
        let host = host.name.clone();
        return Some(Misplaced::WaitsFor { host });
    }
    if let Some(host) = here().next() {
        let host = host.name.clone();
        return Some(Misplaced::Full { host });
    }
    let last = suitable.iter().max_by_key(|host| host.away_since(now))?;
    Some(Misplaced::Away {
        host: last.name.clone(),
        since: last.away_since(now).unwrap_or(now),
    })
}

fn has_slot(host: &Host, board: &Snapshot) -> bool {
    let used = board
        .running
        .iter()
        .filter(|running| running.host_id.as_ref() == Some(&host.id))
        .count();
    let slots = host.slots.map(|slots| usize::try_from(slots).unwrap_or(0));
    slots.is_none_or(|slots| used < slots)
}

/// What is missing on every host.
fn unsuitable(placement: &Placement, hosts: &[Host]) -> Misplaced {
    let known: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    if let Some(name) = &placement.host {
        let called: Vec<&Host> = hosts.iter().filter(|host| host.is_called(name)).collect();
        let lacks = |label: &&String| called.iter().any(|host| !host.labels.contains(label));
        return match placement.labels.iter().find(lacks) {
            Some(label) if !called.is_empty() => Misplaced::LacksLabel {
                host: name.clone(),
                label: label.clone(),
            },
            _ => Misplaced::NoSuchHost {
                host: name.clone(),
                known,
            },
        };
    }
    let nobody_has = |label: &&String| !hosts.iter().any(|host| host.labels.contains(label));
    match placement.labels.iter().find(nobody_has) {
        Some(label) => Misplaced::NoSuchLabel {
            label: label.clone(),
            known,
        },
        None => Misplaced::NotTogether {
            labels: placement.labels.clone(),
            known,
        },
    }
}
