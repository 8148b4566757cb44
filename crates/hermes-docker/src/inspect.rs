//! A container as `inspect` tells it, from Docker and from Podman.
//!
//! Reads only what decisions need. A missing or odd field is an absent fact, never an error: older
//! engines have fewer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What became of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Created,
    Running,
    Paused,
    /// The engine is starting it again.
    Restarting,
    /// Its processes have ended.
    Exited,
    /// Going away, or stuck in doing so.
    Leaving,
    /// A word we do not know.
    Other,
}

/// Whether a container is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    There(State),
    Missing,
}

impl State {
    /// Reads the engine's word, in any case. Some lists of Podman add how long: `Up 3 seconds`.
    pub fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        if text.contains("(paused)") {
            return Self::Paused;
        }
        match text.split_whitespace().next().unwrap_or_default() {
            "created" | "configured" | "initialized" => Self::Created,
            "running" | "up" => Self::Running,
            "paused" => Self::Paused,
            "restarting" => Self::Restarting,
            "exited" | "stopped" => Self::Exited,
            "removing" | "dead" | "stopping" => Self::Leaving,
            _ => Self::Other,
        }
    }
}

/// A directory or file of the host in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindFact {
    /// On the engine's host.
    pub source: PathBuf,
    /// In the container.
    pub target: String,
    pub is_read_only: bool,
}

/// A container.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerFacts {
    /// Its full id.
    pub id: String,
    /// Its name, without the slash.
    pub name: String,
    /// The engine's word for its state.
    pub state_word: String,
    pub created_at: Option<String>,
    /// When it was started last; `None` if it never was.
    pub started_at: Option<String>,
    /// When it ended last; `None` if it never did.
    pub finished_at: Option<String>,
    pub exit_code: Option<i64>,
    /// The image as it was asked for.
    pub image: String,
    pub labels: BTreeMap<String, String>,
    /// Binds of the host, named volumes left out.
    pub binds: Vec<BindFact>,
    /// `none`, `bridge`, …; `None` if it cannot be read.
    pub network_mode: Option<String>,
    /// User of its processes; empty for the image's.
    pub user: String,
    /// Added capabilities, without `CAP_`.
    pub added_capabilities: Vec<String>,
    pub is_privileged: bool,
    /// Limit in billionths of a core; 0 for none.
    pub nano_cpus: i64,
    /// Limit in bytes; 0 for none.
    pub memory: i64,
    /// Limit of processes; `None` for none.
    pub pids_limit: Option<i64>,
    /// Its variables, `NAME=value`.
    pub environment: Vec<String>,
}

impl ContainerFacts {
    /// Reads one element of what `inspect` prints.
    pub fn read(value: &Value) -> Option<Self> {
        let text_at = |path: &str| value.pointer(path).and_then(text);
        let texts_at = |path: &str| list(value.pointer(path)).filter_map(text);
        let number_at = |path: &str| value.pointer(path).and_then(Value::as_i64);
        let flag_at = |path: &str| value.pointer(path).and_then(Value::as_bool);
        let time_at = |path: &str| text_at(path).filter(|time| !time.starts_with("0001-01-01"));
        let labels = value.pointer("/Config/Labels").and_then(Value::as_object);
        let name = text_at("/Name").unwrap_or_default();
        Some(Self {
            id: text_at("/Id")?,
            name: name.trim_start_matches('/').to_owned(),
            state_word: text_at("/State/Status").unwrap_or_default(),
            created_at: text_at("/Created"),
            started_at: time_at("/State/StartedAt"),
            finished_at: time_at("/State/FinishedAt"),
            exit_code: number_at("/State/ExitCode"),
            image: text_at("/Config/Image")
                .or_else(|| text_at("/ImageName"))
                .unwrap_or_default(),
            labels: labels
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect(),
            binds: list(value.get("Mounts")).filter_map(bind).collect(),
            network_mode: text_at("/HostConfig/NetworkMode"),
            user: text_at("/Config/User").unwrap_or_default(),
            added_capabilities: texts_at("/HostConfig/CapAdd")
                .map(|name| name.trim_start_matches("CAP_").to_owned())
                .collect(),
            is_privileged: flag_at("/HostConfig/Privileged") == Some(true),
            nano_cpus: number_at("/HostConfig/NanoCpus").unwrap_or(0),
            memory: number_at("/HostConfig/Memory").unwrap_or(0),
            pids_limit: number_at("/HostConfig/PidsLimit").filter(|limit| *limit > 0),
            environment: texts_at("/Config/Env").collect(),
        })
    }

    /// Reads all that `inspect` printed; `None` if that is no list of containers.
    pub fn read_all(text: &str) -> Option<Vec<Self>> {
        let value: Value = serde_json::from_str(text).ok()?;
        let found: Vec<Self> = value.as_array()?.iter().filter_map(Self::read).collect();
        (!found.is_empty()).then_some(found)
    }

    /// Its state.
    pub fn state(&self) -> State {
        State::parse(&self.state_word)
    }

    /// The value of a label, if it has it.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// What of the host is bound at a path of the container.
    pub fn bind_source(&self, target: &str) -> Option<&Path> {
        let bind = self.binds.iter().find(|bind| bind.target == target)?;
        Some(&bind.source)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn bind(mount: &Value) -> Option<BindFact> {
    if mount.get("Type").and_then(Value::as_str) != Some("bind") {
        return None;
    }
    Some(BindFact {
        source: PathBuf::from(mount.get("Source")?.as_str()?),
        target: trimmed_target(mount.get("Destination")?.as_str()?),
        is_read_only: mount.get("RW").and_then(Value::as_bool) == Some(false),
    })
}

/// A path in a container without slashes at its end.
pub(crate) fn trimmed_target(target: &str) -> String {
    let trimmed = target.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed }.to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_engine_prints_is_read() {
        let printed = json!([{
            "Id": "0123456789abcdef",
            "Name": "/hermes-0a1b2c3d",
            "Created": "2026-11-15T23:17:31.476689663Z",
            "State": {"Status": "exited", "FinishedAt": "2026-11-15T23:18:00Z"},
            "Config": {"Image": "img", "User": "7:8", "Labels": {"a": "1", "b": ""}, "Env": ["A=b"]},
            "HostConfig": {
                "NetworkMode": "none", "CapAdd": ["CAP_CHOWN", "FOWNER"], "Privileged": true,
                "Init": true, "NanoCpus": 5, "Memory": 6, "PidsLimit": 7,
            },
            "Mounts": [
                {"Type": "bind", "Source": "/s", "Destination": "/t/", "RW": false},
                {"Type": "volume", "Source": "/v", "Destination": "/u"},
            ],
        }])
        .to_string();
        let [facts] = &ContainerFacts::read_all(&printed).unwrap()[..] else {
            panic!("one container");
        };
        assert_eq!(facts.name, "hermes-0a1b2c3d");
        assert_eq!(facts.state(), State::Exited);
        assert_eq!(facts.label("a"), Some("1"));
        assert_eq!(facts.label("b"), None);
        assert_eq!(facts.bind_source("/t"), Some(Path::new("/s")));
        assert_eq!(facts.binds.len(), 1);
        assert!(facts.binds[0].is_read_only && facts.is_privileged);
        assert_eq!(facts.added_capabilities, ["CHOWN", "FOWNER"]);
        assert_eq!(
            (facts.nano_cpus, facts.memory, facts.pids_limit),
            (5, 6, Some(7))
        );
    }

    #[test]
    fn states_are_read_from_both_engines() {
        for (text, state) in [
            ("running", State::Running),
            ("Up Less than a second ago", State::Running),
            ("Up 3 minutes (Paused)", State::Paused),
            ("Exited (137) 4 seconds ago", State::Exited),
            (" Created ", State::Created),
            ("stopped", State::Exited),
            ("removing", State::Leaving),
            ("", State::Other),
            ("odd", State::Other),
        ] {
            assert_eq!(State::parse(text), state, "{text}");
        }
    }

    #[test]
    fn garbage_is_no_container_and_gaps_are_no_facts() {
        for garbage in ["", "garbage", "{}", "[]", "[1]", "[{\"Name\": \"x\"}]"] {
            assert_eq!(ContainerFacts::read_all(garbage), None, "{garbage}");
        }
        let bare = ContainerFacts::read(&json!({"Id": "x"})).unwrap();
        assert_eq!(bare.network_mode, None);
        assert_eq!(bare.state(), State::Other);
        let never = json!({"Id": "x", "State": {"FinishedAt": "0001-01-01T00:00:00Z"}});
        assert_eq!(ContainerFacts::read(&never).unwrap().finished_at, None);
    }
}
