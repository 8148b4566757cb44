//! What a path in a module means: the item it names, found through imports and re-exports, also
//! those of other crates of the workspace.

use std::collections::BTreeMap;

use syn::{Item, UseTree};

use super::load::{Crate, Module};

/// A module of the workspace: the index of its crate, and its path.
pub(crate) type ModuleId = (usize, Vec<String>);

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) module: ModuleId,
    /// The rest of the path: an item of that module and what is below it, or nothing for the module.
    pub(crate) rest: Vec<String>,
}

/// What a name in a module stands for.
enum Meaning {
    Child,
    /// An import or re-export of this path.
    Import(Vec<String>),
    /// An item defined here.
    Item,
}

#[derive(Default)]
struct Scope {
    /// A name has two meanings where a module and a function share it.
    names: BTreeMap<String, Vec<Meaning>>,
    globs: Vec<Vec<String>>,
}

/// The names of all modules.
pub(crate) struct Names {
    scopes: BTreeMap<ModuleId, Scope>,
    /// Crates by the name that code calls them by.
    crates: BTreeMap<String, usize>,
}

/// More hops than any chain of re-exports has; ends imports of other crates by their own name.
const MAX_HOPS: usize = 16;

impl Names {
    pub(crate) fn new(crates: &[Crate]) -> Self {
        let mut names = Self {
            scopes: BTreeMap::new(),
            crates: BTreeMap::new(),
        };
        for (index, of) in crates.iter().enumerate() {
            if of.library {
                names.crates.insert(of.package.replace('-', "_"), index);
            }
            for module in &of.modules {
                names
                    .scopes
                    .insert((index, module.path.clone()), scope(module));
            }
        }
        names
    }

    /// What a path written in a module leads to: nothing for what is not of the workspace, two
    /// targets where a module and a function share their name.
    pub(crate) fn resolve(&self, from: &ModuleId, path: &[String]) -> Vec<Target> {
        self.follow(from, path, 0)
    }

    fn follow(&self, from: &ModuleId, path: &[String], hops: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut module = from.clone();
        match first.as_str() {
            _ if hops > MAX_HOPS => return Vec::new(),
            "crate" => module.1.clear(),
            "self" => {}
            "super" => drop(module.1.pop()),
            name if self.knows(from, name, hops) => return self.below(module, path, hops),
            name => match self.crates.get(name) {
                Some(index) => module = (*index, Vec::new()),
                None => return Vec::new(),
            },
        }
        self.below(module, rest, hops)
    }

    /// What a path means that starts in this module.
    fn below(&self, mut module: ModuleId, path: &[String], hops: usize) -> Vec<Target> {
        let Some((name, rest)) = path.split_first() else {
            return vec![Target {
                module,
                rest: Vec::new(),
            }];
        };
        if name == "super" {
            module.1.pop();
            return self.below(module, rest, hops);
        }
        let known = self
            .scopes
            .get(&module)
            .and_then(|scope| scope.names.get(name));
        let Some(meanings) = known else {
            return match self.through_globs(&module, name, hops) {
                Some(other) => self.below(other, path, hops + 1),
                None => vec![Target {
                    module,
                    rest: path.to_vec(),
                }],
            };
        };
        let mut found = Vec::new();
        for meaning in meanings {
            match meaning {
                Meaning::Child => {
                    let mut child = module.clone();
                    child.1.push(name.clone());
                    found.extend(self.below(child, rest, hops));
                }
                Meaning::Import(target) => {
                    let whole = [target, rest].concat();
                    found.extend(self.follow(&module, &whole, hops + 1));
                }
                Meaning::Item => found.push(Target {
                    module: module.clone(),
                    rest: path.to_vec(),
                }),
            }
        }
        found
    }

    fn knows(&self, module: &ModuleId, name: &str, hops: usize) -> bool {
        let scope = self.scopes.get(module);
        scope.is_some_and(|scope| scope.names.contains_key(name))
            || self.through_globs(module, name, hops).is_some()
    }

    /// The module that `use …::*` brings a name from.
    fn through_globs(&self, module: &ModuleId, name: &str, hops: usize) -> Option<ModuleId> {
        let globs = &self.scopes.get(module)?.globs;
        globs.iter().find_map(|glob| {
            let mut targets = self.follow(module, glob, hops + 1).into_iter();
            let found =
                targets.find(|target| target.rest.is_empty() && target.module != *module)?;
            let known = self.scopes.get(&found.module)?.names.contains_key(name);
            known.then_some(found.module)
        })
    }
}

fn scope(module: &Module) -> Scope {
    let mut scope = Scope::default();
    let mut add = |name: String, meaning| scope.names.entry(name).or_default().push(meaning);
    for item in &module.items {
        match item {
            Item::Mod(child) => add(child.ident.to_string(), Meaning::Child),
            Item::Use(import) => {
                for (name, path) in imports(&import.tree) {
                    if name == "*" {
                        scope.globs.push(path);
                    } else {
                        add(name, Meaning::Import(path));
                    }
                }
            }
            other => {
                if let Some(name) = defined_name(other) {
                    add(name, Meaning::Item);
                }
            }
        }
    }
    scope
}

/// The name that an item defines in its module.
pub(crate) fn defined_name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// The names a `use` brings in, each with its whole path; `*` for everything.
pub(crate) fn imports(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    fn walk(tree: &UseTree, prefix: &[String], found: &mut Vec<(String, Vec<String>)>) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        let whole = || prefix.last().cloned().unwrap_or_default();
        match tree {
            UseTree::Path(path) => walk(&path.tree, &with(&path.ident), found),
            UseTree::Name(name) if name.ident == "self" => found.push((whole(), prefix.to_vec())),
            UseTree::Name(name) => found.push((name.ident.to_string(), with(&name.ident))),
            UseTree::Rename(to) if to.ident == "self" => {
                found.push((to.rename.to_string(), prefix.to_vec()));
            }
            UseTree::Rename(to) => found.push((to.rename.to_string(), with(&to.ident))),
            UseTree::Glob(_) => found.push(("*".to_owned(), prefix.to_vec())),
            UseTree::Group(group) => {
                for tree in &group.items {
                    walk(tree, prefix, found);
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}
