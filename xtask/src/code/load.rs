//! Reads every crate's module tree, without what is compiled for tests only.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, ImplItem, Item, Meta};

use crate::workspace;

/// The library or program of a package.
pub(crate) struct Crate {
    /// Name of the package.
    pub(crate) package: String,
    /// Whether other crates can use it.
    pub(crate) library: bool,
    /// Its modules, the root first.
    pub(crate) modules: Vec<Module>,
}

/// One module.
pub(crate) struct Module {
    /// Names from below the root; empty for the root.
    pub(crate) path: Vec<String>,
    /// Its file, relative to the workspace.
    pub(crate) file: String,
    /// Its items, child modules as declarations without content.
    pub(crate) items: Vec<Item>,
}

#[cfg(test)]
impl Crate {
    /// A crate of these modules, each with its path (`a::b`, empty for the root) and text.
    pub(crate) fn from_text(package: &str, modules: &[(&str, &str)]) -> Self {
        let module = |(path, text): &(&str, &str)| Module {
            path: path
                .split("::")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            file: format!("{package}/{path}.rs"),
            items: without_tests(syn::parse_file(text).unwrap().items),
        };
        Self {
            package: package.to_owned(),
            library: !modules.iter().any(|(_, text)| text.contains("fn main()")),
            modules: modules.iter().map(module).collect(),
        }
    }
}

/// Whether a package is for tests and chores only.
pub(crate) fn is_dev_crate(package: &str) -> bool {
    ["hermes-testkit", "hermes-board-sim", "hermes-soak", "xtask"].contains(&package)
}

/// All libraries and programs of the workspace.
pub(crate) fn load() -> Result<Vec<Crate>> {
    let root = workspace::root();
    workspace::root_files()?
        .into_iter()
        .map(|file| {
            let mut modules = Vec::new();
            let text = workspace::read(&file.path)?;
            let relative = relative(&root, &file.path);
            let directory = file.path.parent().unwrap_or(&root).to_owned();
            let parsed = parse(&text, &relative)?;
            add(
                &root,
                Vec::new(),
                &relative,
                &directory,
                parsed.items,
                &mut modules,
            )?;
            Ok(Crate {
                package: file.package,
                library: file.library,
                modules,
            })
        })
        .collect()
}

fn parse(text: &str, file: &str) -> Result<syn::File> {
    syn::parse_file(text).with_context(|| format!("could not parse {file}"))
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root)
        .unwrap_or(file)
        .to_string_lossy()
        .into_owned()
}

/// Adds a module and those below it. `directory` is where the files of its child modules are.
fn add(
    root: &Path,
    path: Vec<String>,
    file: &str,
    directory: &Path,
    items: Vec<Item>,
    modules: &mut Vec<Module>,
) -> Result<()> {
    let own = modules.len();
    modules.push(Module {
        path: path.clone(),
        file: file.to_owned(),
        items: Vec::new(),
    });
    let mut kept = without_tests(items);
    for item in &mut kept {
        let Item::Mod(child) = item else { continue };
        let name = child.ident.to_string();
        let mut child_path = path.clone();
        child_path.push(name.clone());
        let below = directory.join(&name);
        if let Some((_, items)) = child.content.take() {
            add(root, child_path, file, &below, items, modules)?;
            continue;
        }
        let source = match path_attribute(&child.attrs) {
            Some(named) => root.join(file).parent().unwrap_or(root).join(named),
            None => {
                let flat = directory.join(format!("{name}.rs"));
                if flat.is_file() {
                    flat
                } else {
                    below.join("mod.rs")
                }
            }
        };
        let relative = relative(root, &source);
        let parsed = parse(&workspace::read(&source)?, &relative)?;
        add(root, child_path, &relative, &below, parsed.items, modules)?;
    }
    modules[own].items = kept;
    Ok(())
}

fn path_attribute(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(text),
                    ..
                }) => Some(text.value().into()),
                _ => None,
            },
            _ => None,
        })
}

/// The items of the product. `#[cfg(any(test, …))]` counts as test code, `#[cfg(not(test))]` not.
pub(super) fn without_tests(items: Vec<Item>) -> Vec<Item> {
    items
        .into_iter()
        .filter(|item| !for_tests(item_attributes(item)))
        .map(|mut item| {
            if let Item::Impl(block) = &mut item {
                block.items.retain(|item| match item {
                    ImplItem::Fn(function) => !for_tests(&function.attrs),
                    ImplItem::Const(constant) => !for_tests(&constant.attrs),
                    _ => true,
                });
            }
            item
        })
        .collect()
}

fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && matches!(&attribute.meta, Meta::List(list) if {
                    let tokens = super::flatten(list.tokens.clone());
                    tokens.iter().any(|token| token.is_name("test"))
                        && !tokens.iter().any(|token| token.is_name("not"))
                })
    })
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
