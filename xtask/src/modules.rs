//! Modules of one crate that need each other: between siblings, dependencies go one way.
//!
//! A reference is followed through re-exports to the module that defines the item. A module counts
//! as one with everything below it, and what a parent and its own children share is their affair.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use quote::ToTokens;
use syn::Item;

use crate::code::{Crate, Module, Names, Token, TokenKind, flatten, imports};

/// Siblings that need each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Crate and parent module.
    pub(crate) parent: String,
    /// Who needs whom, and one reference for each.
    pub(crate) edges: Vec<Edge>,
}

/// One module refers to a sibling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Places of the references, as `file:line path`.
    pub(crate) references: Vec<String>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<&str> = self.edges.iter().map(|edge| edge.from.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        write!(f, "{}: {} need each other", self.parent, names.join(", "))?;
        for edge in &self.edges {
            write!(f, "\n    {} -> {}:", edge.from, edge.to)?;
            for reference in &edge.references {
                write!(f, "\n        {reference}")?;
            }
        }
        Ok(())
    }
}

/// Every group of siblings that need each other.
pub(crate) fn cycles(crates: &[Crate]) -> Vec<Cycle> {
    let names = Names::new(crates);
    let checked = crates.iter().enumerate();
    checked
        .flat_map(|(index, checked)| cycles_of(&names, index, checked))
        .collect()
}

/// Edges between the children of a module, with the references that make them.
type Edges = BTreeMap<(String, String), Vec<String>>;

fn cycles_of(names: &Names, index: usize, checked: &Crate) -> Vec<Cycle> {
    let mut graphs: BTreeMap<Vec<String>, Edges> = BTreeMap::new();
    for module in &checked.modules {
        let id = (index, module.path.clone());
        for (line, path) in references(module) {
            for target in names.resolve(&id, &path) {
                let (of, target) = target.module;
                let shared = module
                    .path
                    .iter()
                    .zip(&target)
                    .take_while(|(a, b)| a == b)
                    .count();
                let (Some(from), Some(to)) = (module.path.get(shared), target.get(shared)) else {
                    continue;
                };
                if of != index {
                    continue;
                }
                let reference = format!("{}:{line} {}", module.file, path.join("::"));
                let graph = graphs.entry(module.path[..shared].to_vec()).or_default();
                let found = graph.entry((from.clone(), to.clone())).or_default();
                if !found.contains(&reference) {
                    found.push(reference);
                }
            }
        }
    }
    graphs
        .into_iter()
        .flat_map(|(parent, graph)| {
            let mut name = vec![checked.package.clone()];
            name.extend(parent);
            let name = name.join("::");
            groups(&graph)
                .into_iter()
                .map(move |group| Cycle {
                    parent: name.clone(),
                    edges: graph
                        .iter()
                        .filter(|((from, to), _)| group.contains(from) && group.contains(to))
                        .map(|((from, to), references)| Edge {
                            from: from.clone(),
                            to: to.clone(),
                            references: references.clone(),
                        })
                        .collect(),
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Sets of modules each of which reaches all others of its set.
fn groups(graph: &Edges) -> Vec<BTreeSet<String>> {
    let reach = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(next) = waiting.pop() {
            for (from, to) in graph.keys() {
                if from == next && reached.insert(to.clone()) {
                    waiting.push(to);
                }
            }
        }
        reached
    };
    let names: BTreeSet<&String> = graph.keys().map(|(from, _)| from).collect();
    let reached: BTreeMap<&String, BTreeSet<String>> =
        names.into_iter().map(|name| (name, reach(name))).collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (name, targets) in &reached {
        if !targets.contains(*name) || groups.iter().any(|group| group.contains(*name)) {
            continue;
        }
        let group = targets
            .iter()
            .filter(|target| reached.get(target).is_some_and(|back| back.contains(*name)));
        groups.push(group.cloned().collect());
    }
    groups
}

/// The paths of a module that may lead to another one: imports, and what begins with `crate`,
/// `self` or `super`. With their lines.
fn references(module: &Module) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for item in &module.items {
        if let Item::Use(import) = item {
            let line = import.use_token.span.start().line;
            let paths = imports(&import.tree).into_iter();
            found.extend(paths.map(|(_, path)| (line, path)));
        } else {
            found.extend(written_paths(&flatten(item.to_token_stream())));
        }
    }
    found
}

fn written_paths(tokens: &[Token]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let first = &tokens[at];
        let continued = at > 1 && tokens[at - 2..at].iter().all(|token| token.is_mark(":"));
        let begins = ["crate", "super", "self"]
            .iter()
            .any(|word| first.is_name(word));
        let mut path = vec![first.text.clone()];
        let mut end = at + 1;
        while let [one, two, name, ..] = &tokens[end..]
            && one.is_mark(":")
            && two.is_mark(":")
            && name.kind == TokenKind::Name
        {
            path.push(name.text.clone());
            end += 3;
        }
        if begins && !continued && path.len() > 1 {
            found.push((first.line, path));
        }
        at = end;
    }
    found
}

#[cfg(test)]
#[path = "modules_tests.rs"]
mod tests;
