//! Which crate may depend on which: edges go to lower layers, and the graph has no cycle.
//!
//! The rule is checked on a plain model of the workspace, so that tests can show that it fails.

use std::collections::BTreeMap;
use std::fmt;

/// Permitted dependencies within one layer, each with its reason.
pub(crate) const ALLOWED_SIDEWAYS: &[Sideways] = &[
    Sideways {
        from: "hermes-http",
        to: "hermes-config",
        reason: "certificates, proxies and reachable hosts are settings",
    },
    Sideways {
        from: "hermes-board",
        to: "hermes-home",
        reason: "boards lie in the root that profiles share, and cards are given to profiles",
    },
    Sideways {
        from: "hermes-board",
        to: "hermes-policy",
        reason: "what a card may be worked on in follows the one list of private places",
    },
    Sideways {
        from: "hermes-docker",
        to: "hermes-policy",
        reason: "what is mounted follows the one list of private places",
    },
    Sideways {
        from: "hermes-docker",
        to: "hermes-terminal",
        reason: "a container is a backend of the terminal",
    },
    Sideways {
        from: "hermes-ssh",
        to: "hermes-terminal",
        reason: "another machine is a backend of the terminal",
    },
    Sideways {
        from: "hermes-terminal",
        to: "hermes-policy",
        reason: "a command runs only after a verdict",
    },
    Sideways {
        from: "hermes-session",
        to: "hermes-policy",
        reason: "what is remembered passes the one scan for injected instructions",
    },
    Sideways {
        from: "hermes-skills",
        to: "hermes-home",
        reason: "skills lie in a home, where profiles count them",
    },
    Sideways {
        from: "hermes-skills",
        to: "hermes-policy",
        reason: "skills pass the one scan for injected instructions",
    },
    Sideways {
        from: "hermes-supervise",
        to: "hermes-home",
        reason: "a gateway belongs to a home, whose profiles ask whether one runs",
    },
    Sideways {
        from: "hermes-boot",
        to: "hermes-home",
        reason: "a container's boot prepares a home",
    },
    Sideways {
        from: "hermes-mcp",
        to: "hermes-providers",
        reason: "logins to servers and to providers are made and renewed in one way",
    },
    Sideways {
        from: "hermes-agent",
        to: "hermes-providers",
        reason: "a turn asks a model",
    },
    Sideways {
        from: "hermes-agent",
        to: "hermes-tools",
        reason: "a turn calls tools",
    },
    Sideways {
        from: "hermes-tools",
        to: "hermes-mcp",
        reason: "tools of MCP servers are tools",
    },
    Sideways {
        from: "hermes-web",
        to: "hermes-api",
        reason: "a turn of the chat page is a run of the API, in the same process",
    },
];

/// A permitted dependency within one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sideways {
    /// The crate that depends.
    pub(crate) from: &'static str,
    /// The crate it depends on.
    pub(crate) to: &'static str,
    /// Why it cannot be otherwise.
    pub(crate) reason: &'static str,
}

/// The layer of a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// 0 at the bottom, the program at the top.
    Number(u8),
    /// For tests and chores: may depend on everything; only tests may depend on it.
    Dev,
}

/// When a dependency is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) layer: Option<Layer>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A breach of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The manifest has no layer.
    NoLayer { name: String },
    /// A dependency on a higher layer.
    Upward { from: String, to: String },
    /// A dependency within a layer without a reason.
    Sideways { from: String, to: String },
    /// The product depends on something made for tests.
    DevOnly { from: String, to: String },
    /// Crates that need each other.
    Cycle { path: Vec<String> },
    /// An exception without a reason, or one that nothing uses.
    IdleException { from: String, to: String },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLayer { name } => write!(
                f,
                "{name} has no layer; add [package.metadata.hermes] with layer = N to its Cargo.toml"
            ),
            Self::Upward { from, to } => {
                write!(f, "{from} depends on {to}, which is in a higher layer")
            }
            Self::Sideways { from, to } => write!(
                f,
                "{from} depends on {to} of its own layer; move what both need down, or name the \
                 exception and its reason in ALLOWED_SIDEWAYS"
            ),
            Self::DevOnly { from, to } => {
                write!(
                    f,
                    "{from} depends on {to} outside tests, which is for tests only"
                )
            }
            Self::Cycle { path } => write!(f, "a cycle: {}", path.join(" -> ")),
            Self::IdleException { from, to } => write!(
                f,
                "the exception {from} -> {to} has no reason or no such dependency; remove it"
            ),
        }
    }
}

/// Every breach in these crates.
pub(crate) fn check(crates: &[Crate], allowed: &[Sideways]) -> Vec<Violation> {
    let layers: BTreeMap<&str, Option<Layer>> = crates
        .iter()
        .map(|found| (found.name.as_str(), found.layer))
        .collect();
    let mut violations = Vec::new();
    for from in crates {
        let Some(layer) = from.layer else {
            violations.push(Violation::NoLayer {
                name: from.name.clone(),
            });
            continue;
        };
        for dependency in &from.dependencies {
            // Crates of others have no layer; a crate of ours without one has been reported.
            let Some(Some(target)) = layers.get(dependency.name.as_str()) else {
                continue;
            };
            violations.extend(violation(&from.name, layer, dependency, *target, allowed));
        }
    }
    violations.extend(cycle(crates));
    violations.extend(allowed.iter().filter_map(|exception| {
        let used = crates.iter().any(|from| {
            from.name == exception.from
                && from
                    .dependencies
                    .iter()
                    .any(|dependency| dependency.name == exception.to)
        });
        (!used || exception.reason.trim().is_empty()).then(|| Violation::IdleException {
            from: exception.from.to_owned(),
            to: exception.to.to_owned(),
        })
    }));
    violations
}

fn violation(
    from: &str,
    layer: Layer,
    dependency: &Dependency,
    target: Layer,
    allowed: &[Sideways],
) -> Option<Violation> {
    let to = dependency.name.clone();
    let from_name = from.to_owned();
    match (layer, target) {
        (Layer::Number(_), Layer::Dev) => {
            (dependency.kind != DependencyKind::Dev).then_some(Violation::DevOnly {
                from: from_name,
                to,
            })
        }
        (Layer::Number(own), Layer::Number(other)) if other > own => Some(Violation::Upward {
            from: from_name,
            to,
        }),
        (Layer::Number(own), Layer::Number(other)) if other == own => {
            let argued = allowed
                .iter()
                .any(|exception| exception.from == from && exception.to == to);
            (!argued).then_some(Violation::Sideways {
                from: from_name,
                to,
            })
        }
        (Layer::Dev, _) | (Layer::Number(_), Layer::Number(_)) => None,
    }
}

/// The first cycle, if there is one. Dependencies of tests are left out: cargo allows a crate's
/// tests to use what depends on it.
fn cycle(crates: &[Crate]) -> Option<Violation> {
    let edges: BTreeMap<&str, Vec<&str>> = crates
        .iter()
        .map(|from| {
            let targets = from
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Dev)
                .map(|dependency| dependency.name.as_str())
                .collect();
            (from.name.as_str(), targets)
        })
        .collect();
    let mut finished = Vec::new();
    edges.keys().find_map(|start| {
        let mut path = Vec::new();
        walk(start, &edges, &mut path, &mut finished)
    })
}

fn walk<'n>(
    name: &'n str,
    edges: &BTreeMap<&'n str, Vec<&'n str>>,
    path: &mut Vec<&'n str>,
    finished: &mut Vec<&'n str>,
) -> Option<Violation> {
    if finished.contains(&name) {
        return None;
    }
    if let Some(start) = path.iter().position(|seen| *seen == name) {
        let round = path[start..].iter().chain([&name]);
        return Some(Violation::Cycle {
            path: round.map(ToString::to_string).collect(),
        });
    }
    path.push(name);
    let found = edges
        .get(name)
        .into_iter()
        .flatten()
        .find_map(|next| walk(next, edges, path, finished));
    path.pop();
    finished.push(name);
    found
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
