//! Public items that nothing of the product uses: neither another crate nor the crate's own code,
//! tests apart. The compiler reports private ones; `pub` hides the others from it.
//!
//! Marks what the programs reach. Types and free functions are found exactly, through imports; a
//! method counts as called wherever one of its name is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use quote::ToTokens;
use syn::visit::Visit;
use syn::{ImplItem, Item, ItemUse, TraitItem, Type, Visibility};

use crate::code::{
    Crate, ModuleId, Names, Target, Token, TokenKind, defined_name, flatten, imports, is_dev_crate,
};

/// The reason of items that were there before this check. The list only becomes shorter.
const TESTS_ONLY: &str = "only tests call it";

/// Items that may have no caller outside tests, with the reason.
pub(crate) const ALLOWED: &[(&str, &str)] = &[(
    "hermes-terminal::background::registry::Processes::drain_notices",
    TESTS_ONLY,
)];

/// A public item without a caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unused {
    pub(crate) package: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    /// `module::Type::method`.
    pub(crate) name: String,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} has no caller outside tests",
            self.file, self.line, self.name
        )
    }
}

/// The findings that no exception covers, and exceptions that cover nothing.
pub(crate) fn without_allowed(found: Vec<Unused>, allowed: &[(&str, &str)]) -> Vec<String> {
    let covers = |name: &str, unused: &Unused| unused.id() == name;
    let idle = allowed.iter().filter(|(name, reason)| {
        reason.trim().is_empty() || !found.iter().any(|unused| covers(name, unused))
    });
    let idle =
        idle.map(|(name, _)| format!("the exception {name} has no reason or covers nothing"));
    let left = found
        .iter()
        .filter(|unused| !allowed.iter().any(|(name, _)| covers(name, unused)));
    left.map(ToString::to_string).chain(idle).collect()
}

impl Unused {
    /// `package::module::Type::method`, as exceptions name it.
    fn id(&self) -> String {
        format!("{}::{}", self.package, self.name)
    }
}

/// One definition, or a block that lives and dies with one.
struct Node {
    module: ModuleId,
    file: String,
    line: usize,
    /// Set for what is reported: public items.
    name: Option<String>,
    uses: Uses,
}

/// What the code of a node mentions.
#[derive(Default)]
struct Uses {
    /// Paths as written, from a module.
    paths: BTreeSet<Vec<String>>,
    /// Names after a dot.
    methods: BTreeSet<String>,
}

#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    /// Items by where they are defined.
    items: BTreeMap<Target, Vec<usize>>,
    /// Associated functions by type or trait, then name.
    associated: BTreeMap<(Target, String), Vec<usize>>,
    /// Functions that can be called with a dot, by name.
    methods: BTreeMap<String, Vec<usize>>,
    /// Blocks that belong to a type.
    blocks: BTreeMap<Target, Vec<usize>>,
    /// Where to begin.
    roots: Vec<usize>,
}

/// Every public item of the libraries that no program reaches.
pub(crate) fn find(crates: &[Crate]) -> Vec<Unused> {
    let names = Names::new(crates);
    let mut graph = Graph::default();
    for (index, of) in crates.iter().enumerate() {
        if !is_dev_crate(&of.package) {
            graph.add_crate(&names, index, of);
        }
    }
    let live = graph.mark(&names);
    let dead = graph.nodes.iter().zip(live).filter(|(_, live)| !live);
    dead.filter_map(|(node, _)| {
        Some(Unused {
            package: crates[node.module.0].package.clone(),
            file: node.file.clone(),
            line: node.line,
            name: node.name.clone()?,
        })
    })
    .collect()
}

impl Graph {
    fn add_crate(&mut self, names: &Names, index: usize, of: &Crate) {
        // The compiler itself reports what a program does not use.
        for module in &of.modules {
            let id = (index, module.path.clone());
            for item in &module.items {
                let added = self.add_item(names, &id, &module.file, item);
                if !of.library {
                    self.roots.extend(added);
                }
            }
        }
    }

    /// Adds the nodes of an item and returns them.
    fn add_item(
        &mut self,
        names: &Names,
        module: &ModuleId,
        file: &str,
        item: &Item,
    ) -> Vec<usize> {
        let first = self.nodes.len();
        match item {
            Item::Use(_) | Item::Mod(_) => {}
            Item::Impl(block) => {
                let own = match block.self_ty.as_ref() {
                    Type::Path(path) => {
                        let path: Vec<String> = path
                            .path
                            .segments
                            .iter()
                            .map(|s| s.ident.to_string())
                            .collect();
                        names.resolve(module, &path).into_iter().next()
                    }
                    _ => None,
                };
                let mut rest = block.clone();
                if let (Some(owner), None) = (&own, &block.trait_) {
                    rest.items.clear();
                    for inner in &block.items {
                        let (name, public, dotted) = match inner {
                            ImplItem::Fn(f) => (
                                f.sig.ident.to_string(),
                                is_public(&f.vis),
                                f.sig.receiver().is_some(),
                            ),
                            ImplItem::Const(c) => (c.ident.to_string(), is_public(&c.vis), false),
                            _ => continue,
                        };
                        let shown = format!("{}::{name}", owner.rest.join("::"));
                        let node = self.node(
                            module,
                            file,
                            inner,
                            public.then(|| qualified(module, &shown)),
                            Some(owner),
                        );
                        self.associated
                            .entry((owner.clone(), name.clone()))
                            .or_default()
                            .push(node);
                        if dotted {
                            self.methods.entry(name).or_default().push(node);
                        }
                    }
                }
                let node = self.node(module, file, &rest, None, own.as_ref());
                match own {
                    Some(owner) => self.blocks.entry(owner).or_default().push(node),
                    None => self.roots.push(node),
                }
            }
            other => match defined_name(other) {
                None => {
                    let node = self.node(module, file, other, None, None);
                    self.roots.push(node);
                }
                Some(name) => {
                    let public = item_visibility(other).is_some_and(is_public);
                    let target = Target {
                        module: module.clone(),
                        rest: vec![name.clone()],
                    };
                    let node = self.node(
                        module,
                        file,
                        other,
                        public.then(|| qualified(module, &name)),
                        Some(&target),
                    );
                    self.items.entry(target.clone()).or_default().push(node);
                    if let Item::Trait(definition) = other {
                        for inner in &definition.items {
                            let TraitItem::Fn(function) = inner else {
                                continue;
                            };
                            let method = function.sig.ident.to_string();
                            let shown = format!("{name}::{method}");
                            let node = self.node(
                                module,
                                file,
                                &function.sig,
                                public.then(|| qualified(module, &shown)),
                                Some(&target),
                            );
                            self.associated
                                .entry((target.clone(), method.clone()))
                                .or_default()
                                .push(node);
                            self.methods.entry(method).or_default().push(node);
                        }
                    }
                }
            },
        }
        (first..self.nodes.len()).collect()
    }

    fn node(
        &mut self,
        module: &ModuleId,
        file: &str,
        code: &(impl ToTokens + Mentions),
        name: Option<String>,
        owner: Option<&Target>,
    ) -> usize {
        let tokens = flatten(code.to_token_stream());
        // Attributes and their comments come first; the definition begins at its visibility.
        let line = tokens
            .iter()
            .find(|t| ["pub", "fn", "impl"].iter().any(|w| t.is_name(w)))
            .or(tokens.first())
            .map_or(0, |t| t.line);
        let mut uses = uses(&tokens, owner);
        uses.paths.extend(code.local_imports());
        self.nodes.push(Node {
            module: module.clone(),
            file: file.to_owned(),
            line,
            name,
            uses,
        });
        self.nodes.len() - 1
    }

    /// Which nodes are reached.
    fn mark(&self, names: &Names) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        let mut waiting = self.roots.clone();
        let mut called: BTreeSet<&str> = BTreeSet::new();
        let nothing = Vec::new();
        while let Some(next) = waiting.pop() {
            if std::mem::replace(&mut live[next], true) {
                continue;
            }
            let node = &self.nodes[next];
            for method in &node.uses.methods {
                if called.insert(method) {
                    waiting.extend(self.methods.get(method).unwrap_or(&nothing));
                }
            }
            for path in &node.uses.paths {
                for target in names.resolve(&node.module, path) {
                    waiting.extend(self.reached(&target));
                }
            }
        }
        live
    }

    fn reached(&self, target: &Target) -> Vec<usize> {
        let Some((item, below)) = target.rest.split_first() else {
            return Vec::new();
        };
        let owner = Target {
            module: target.module.clone(),
            rest: vec![item.clone()],
        };
        let mut found = Vec::new();
        found.extend(self.items.get(&owner).into_iter().flatten());
        found.extend(self.blocks.get(&owner).into_iter().flatten());
        if let Some(name) = below.first() {
            let key = (owner, name.clone());
            found.extend(self.associated.get(&key).into_iter().flatten());
        }
        found
    }
}

fn qualified(module: &ModuleId, name: &str) -> String {
    let mut path = module.1.clone();
    path.push(name.to_owned());
    path.join("::")
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn item_visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return None,
    })
}

/// Code that may hold `use` statements of its own.
trait Mentions {
    fn local_imports(&self) -> Vec<Vec<String>>;
}

struct LocalImports(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for LocalImports {
    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        self.0
            .extend(imports(&import.tree).into_iter().map(|(_, path)| path));
    }
}

macro_rules! mentions {
    ($($code:ty => $visit:ident),*) => {
        $(impl Mentions for $code {
            fn local_imports(&self) -> Vec<Vec<String>> {
                let mut found = LocalImports(Vec::new());
                found.$visit(self);
                found.0
            }
        })*
    };
}
mentions!(Item => visit_item, ImplItem => visit_impl_item, syn::ItemImpl => visit_item_impl, syn::Signature => visit_signature);

/// The paths and methods that tokens mention. `Self` is the owner.
fn uses(tokens: &[Token], owner: Option<&Target>) -> Uses {
    let locals = local_names(tokens);
    let mut found = Uses::default();
    let mut at = 0;
    while at < tokens.len() {
        let start = at;
        let first = &tokens[start];
        at += 1;
        if first.kind == TokenKind::Text {
            // Attributes of serde name functions in quotes.
            let path: Vec<String> = first.text.split("::").map(str::to_owned).collect();
            if path.iter().all(|name| is_identifier(name)) {
                found.paths.insert(path);
            }
        }
        if first.kind != TokenKind::Name {
            continue;
        }
        let mut path = vec![first.text.clone()];
        while let [one, two, name, ..] = &tokens[at..]
            && one.is_mark(":")
            && two.is_mark(":")
            && name.kind == TokenKind::Name
        {
            path.push(name.text.clone());
            at += 3;
        }
        let before = start.checked_sub(1).map(|index| &tokens[index]);
        let called = tokens.get(at).is_some_and(|token| token.is_mark("("));
        let local = path.len() == 1 && !called && locals.contains(first.text.as_str());
        let marks = |count: usize, mark: &str| {
            let from = start.checked_sub(count);
            from.is_some_and(|from| tokens[from..start].iter().all(|token| token.is_mark(mark)))
        };
        let defined = DEFINERS
            .iter()
            .any(|word| before.is_some_and(|token| token.is_name(word)));
        // What follows `>::` is a function of a type with parameters; `..` is no call.
        if marks(2, ":") || marks(1, ".") && !marks(2, ".") {
            found.methods.insert(first.text.clone());
        } else if !local && !defined {
            if let ("Self", Some(owner)) = (first.text.as_str(), owner) {
                let start = ["crate".to_owned()];
                path = [&start, owner.module.1.as_slice(), &owner.rest, &path[1..]].concat();
            }
            found.paths.insert(path);
        }
    }
    found
}

/// Keywords before the name that they define.
const DEFINERS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];

/// Names of parameters and variables, as far as a scan can tell them.
fn local_names(tokens: &[Token]) -> BTreeSet<&str> {
    let windows = tokens.windows(3);
    windows
        .filter(|window| {
            let typed = window[1].is_mark(":") && !window[2].is_mark(":");
            window[0].kind == TokenKind::Name && typed
        })
        .map(|window| window[0].text.as_str())
        .chain(tokens.windows(2).filter_map(|window| {
            let binds = ["let", "mut", "ref", "for"]
                .iter()
                .any(|word| window[0].is_name(word))
                || window[0].is_mark("|");
            let name = window[1].text.as_str();
            // `&mut Type` binds nothing.
            let is_type = name.starts_with(char::is_uppercase);
            (binds && !is_type && window[1].kind == TokenKind::Name).then_some(name)
        }))
        // `&mut Card` names a type.
        .filter(|name| !name.starts_with(char::is_uppercase))
        .collect()
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
#[path = "unused_tests.rs"]
mod tests;
