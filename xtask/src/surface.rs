//! No promise that nothing keeps: every documented setting, variable and argument is read by code
//! that acts on it, or is marked as kept for the Python runtime (`hermes_config::python_runtime`),
//! and nothing is both.
//!
//! A setting counts as read where a module that handles the configuration has its dotted path as a
//! literal, or has the path of its section (alone or as the beginning of a format string) and the
//! rest of the path as literals. Code that only shows settings does not count.

use std::collections::BTreeSet;

use hermes_config::dotenv::known_names;
use hermes_config::{python_runtime, schema, vars};
use quote::ToTokens;
use syn::{Fields, Item};

use crate::code::{Crate, Token, TokenKind, flatten, is_dev_crate};

/// Variables that others read for us, and who does.
const READ_BY_OTHERS: &[(&str, &str)] = &[
    ("COLUMNS", "clap wraps help to this width"),
    ("CONTAINER_HOST", "podman, whose environment keeps it"),
];

/// What is documented.
pub(crate) struct Declared {
    pub(crate) settings: Vec<Setting>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) arguments: Vec<Argument>,
}

pub(crate) struct Setting {
    /// Dotted, with `*` for names of the user's.
    pub(crate) path: String,
    pub(crate) python: bool,
}

pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) python: bool,
    /// Settings it overrides.
    pub(crate) overrides: Vec<String>,
}

/// An argument of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) module: Vec<String>,
    pub(crate) owner: String,
    pub(crate) field: String,
}

impl Declared {
    /// What the product documents.
    pub(crate) fn of_product(crates: &[Crate]) -> Self {
        let open = schema::sections().filter(|section| section.keys.is_empty());
        let paths = schema::keys().map(|(path, _)| path);
        let settings = paths
            .chain(open.map(|section| section.name.to_owned()))
            .map(|path| Setting {
                python: python_runtime::is_setting(&path),
                path,
            });
        let own = vars::ALL.iter().map(|var| var.name);
        let declared_names: BTreeSet<&str> = schema::keys()
            .filter_map(|(_, key)| key.var)
            .chain(own)
            .collect();
        let declared = declared_names.iter().map(|name| Variable {
            name: (*name).to_owned(),
            python: python_runtime::is_variable(name),
            overrides: schema::keys()
                .filter(|(_, key)| key.var == Some(*name))
                .map(|(path, _)| path)
                .collect(),
        });
        // Skills name the variables they need, so nothing else has to.
        let named = known_names()
            .filter(|known| known.category != "skill" && !declared_names.contains(known.name));
        let named = named.map(|known| Variable {
            name: known.name.to_owned(),
            python: known.python,
            overrides: Vec::new(),
        });
        Self {
            settings: settings.collect(),
            variables: declared.chain(named).collect(),
            arguments: crates.iter().flat_map(arguments).collect(),
        }
    }
}

/// What code mentions, by module.
pub(crate) struct Reads {
    modules: Vec<ModuleReads>,
}

struct ModuleReads {
    package: String,
    path: Vec<String>,
    /// Whether values read here have an effect.
    acts: bool,
    texts: BTreeSet<String>,
    /// Texts given to a method that reads a setting; `None` for one given another way.
    asked: BTreeSet<Option<String>>,
    names: BTreeSet<String>,
    /// Constants of `hermes_config::vars`.
    variables: BTreeSet<String>,
    /// Fields read with a dot or in a pattern, by items other than their owner.
    fields: BTreeSet<(Option<String>, String)>,
}

impl Reads {
    pub(crate) fn new(crates: &[Crate]) -> Self {
        let modules = crates.iter().flat_map(|of| {
            of.modules.iter().map(|module| {
                let mut reads = ModuleReads {
                    acts: acts(&of.package, &module.path),
                    package: of.package.clone(),
                    path: module.path.clone(),
                    texts: BTreeSet::new(),
                    asked: BTreeSet::new(),
                    names: BTreeSet::new(),
                    variables: BTreeSet::new(),
                    fields: BTreeSet::new(),
                };
                for item in &module.items {
                    reads.add(item);
                }
                reads
            })
        });
        Self {
            modules: modules.collect(),
        }
    }

    fn acting(&self) -> impl Iterator<Item = &ModuleReads> {
        self.modules.iter().filter(|module| module.acts)
    }

    fn setting(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('.').collect();
        self.acting()
            .filter(|module| {
                ["config", "Config"]
                    .iter()
                    .any(|name| module.names.contains(*name))
            })
            .any(|module| {
                module.texts.contains(path) && (segments.len() > 1 || module.asks_for(path))
                    || module.texts.iter().any(|text| is_below(text, path))
                    || (1..segments.len())
                        .any(|at| module.reads_below(&segments[..at], &segments[at..]))
            })
    }

    fn variable(&self, variable: &Variable) -> bool {
        let mut overridden = variable.overrides.iter();
        overridden.any(|path| self.setting(path))
            || self.acting().any(|module| {
                // These two list names in order to hide or pass on their values.
                let lists = ["hermes-proc", "hermes-secret"].contains(&module.package.as_str());
                module.variables.contains(&variable.name)
                    || !lists && module.texts.contains(&variable.name)
            })
            || READ_BY_OTHERS
                .iter()
                .any(|(name, _)| *name == variable.name)
    }

    fn argument(&self, argument: &Argument) -> bool {
        self.modules.iter().any(|module| {
            module.fields.iter().any(|(owner, field)| {
                *field == argument.field
                    && (owner.as_ref() != Some(&argument.owner) || module.path != argument.module)
            })
        })
    }
}

/// Whether a path names nothing that the schema knows, in a section that it knows.
fn is_undocumented(path: &str) -> bool {
    let path: Vec<&str> = path.split('.').collect();
    let section = schema::sections().find(|section| path.first() == Some(&section.name));
    let known = matches!(
        schema::classify(&path),
        schema::Known::Key(_) | schema::Known::Group
    );
    path.len() > 1 && section.is_some_and(|section| !section.keys.is_empty()) && !known
}

/// Whether a literal is the path of something in an open section.
fn is_below(text: &str, section: &str) -> bool {
    !section.contains('.')
        && schema::sections().any(|known| known.name == section && known.keys.is_empty())
        && text
            .strip_prefix(section)
            .is_some_and(|rest| rest.starts_with('.'))
}

impl ModuleReads {
    /// Whether a setting of one word is asked for. Such a word may stand in a module for other
    /// things, so it must be in the call, or calls must take their keys from elsewhere.
    fn asks_for(&self, path: &str) -> bool {
        self.asked.contains(&Some(path.to_owned())) || self.asked.contains(&None)
    }

    fn reads_below(&self, prefix: &[&str], rest: &[&str]) -> bool {
        let prefix = prefix.join(".");
        let begins = format!("{prefix}.{{");
        let section =
            self.texts.contains(&prefix) || self.texts.iter().any(|text| text.starts_with(&begins));
        let mut names = rest.iter().filter(|name| **name != "*");
        section
            && (self.texts.contains(&rest.join("."))
                || names.all(|name| self.texts.contains(*name)))
    }

    fn add(&mut self, item: &Item) {
        let tokens = flatten(item.to_token_stream());
        let imports_variables =
            matches!(item, Item::Use(_)) && tokens.iter().any(|token| token.is_name("vars"));
        let owner = match item {
            Item::Struct(item) => Some(item.ident.to_string()),
            Item::Enum(item) => Some(item.ident.to_string()),
            _ => None,
        };
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Text => drop(self.texts.insert(token.text.clone())),
                TokenKind::Name if is_question(&tokens, at) => {
                    let asked = tokens
                        .get(at + 2)
                        .filter(|next| next.kind == TokenKind::Text);
                    self.asked.insert(asked.map(|text| text.text.clone()));
                }
                TokenKind::Name => {
                    let of_vars =
                        at > 2 && tokens[at - 3].is_name("vars") && tokens[at - 1].is_mark(":");
                    if of_vars || imports_variables {
                        self.variables.insert(token.text.clone());
                    }
                    if is_field(&tokens, at) {
                        self.fields.insert((owner.clone(), token.text.clone()));
                    }
                    self.names.insert(token.text.clone());
                }
                TokenKind::Mark | TokenKind::Other => {}
            }
        }
    }
}

/// Whether a name is a method that reads a setting, called on a configuration.
fn is_question(tokens: &[Token], at: usize) -> bool {
    let readers = ["flag", "get", "int", "number", "text", "texts"];
    at > 1
        && readers.iter().any(|name| tokens[at].is_name(name))
        && tokens[at - 1].is_mark(".")
        && (tokens[at - 2].is_name("config") || at > 3 && tokens[at - 4].is_name("config"))
        && tokens.get(at + 1).is_some_and(|token| token.is_mark("("))
}

/// Whether a name stands where a field is read: after a dot, or in braces before `,`, `:` or `}`.
fn is_field(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let after = tokens.get(at + 1);
    let is = |token: Option<&Token>, marks: &[&str]| {
        token.is_some_and(|token| marks.iter().any(|mark| token.is_mark(mark)))
    };
    is(before, &["."]) || is(before, &["{", ","]) && is(after, &[",", ":", "}"])
}

/// Whether code of this module does what a setting says. Declarations, edits and reports do not.
fn acts(package: &str, module: &[String]) -> bool {
    let module: Vec<&str> = module.iter().map(String::as_str).collect();
    match (package, module.as_slice()) {
        ("hermes-config", path) => path == ["settings", "config"],
        ("hermes", ["doctor" | "facts" | "reference_docs", ..] | ["commands", "dump"]) => false,
        ("hermes", ["commands", "config", command]) => *command == "edit",
        _ => !is_dev_crate(package),
    }
}

/// The arguments that commands of a program declare.
fn arguments(of: &Crate) -> Vec<Argument> {
    let mut found = Vec::new();
    if is_dev_crate(&of.package) {
        return found;
    }
    for module in &of.modules {
        for item in &module.items {
            let (owner, attributes, fields): (_, _, Vec<&Fields>) = match item {
                Item::Struct(item) => (&item.ident, &item.attrs, vec![&item.fields]),
                Item::Enum(item) => {
                    let fields = item.variants.iter().map(|variant| &variant.fields);
                    (&item.ident, &item.attrs, fields.collect())
                }
                _ => continue,
            };
            let derives = attributes
                .iter()
                .filter(|attribute| attribute.path().is_ident("derive"));
            let derived: Vec<Token> = derives
                .flat_map(|derive| flatten(derive.to_token_stream()))
                .collect();
            let is_command = ["Args", "Parser", "Subcommand"]
                .iter()
                .any(|name| derived.iter().any(|token| token.is_name(name)));
            let names = fields
                .into_iter()
                .flatten()
                .filter_map(|field| field.ident.as_ref());
            found.extend(names.filter(|_| is_command).map(|field| Argument {
                module: module.path.clone(),
                owner: owner.to_string(),
                field: field.to_string(),
            }));
        }
    }
    found
}

/// What is promised and not kept, and what is marked and yet read.
pub(crate) fn findings(declared: &Declared, reads: &Reads) -> Vec<String> {
    let finding = |what: String, read: bool, python: bool| match (read, python) {
        (false, false) => Some(format!(
            "{what} is documented and nothing acts on it; remove it, or list it in \
             hermes_config::python_runtime"
        )),
        (true, true) => Some(format!(
            "{what} is marked as kept for the Python runtime and is read here"
        )),
        _ => None,
    };
    let settings = declared.settings.iter().filter_map(|setting| {
        finding(
            format!("the setting {}", setting.path),
            reads.setting(&setting.path),
            setting.python,
        )
    });
    let variables = declared.variables.iter().filter_map(|variable| {
        finding(
            format!("the variable {}", variable.name),
            reads.variable(variable),
            variable.python,
        )
    });
    let arguments = declared.arguments.iter().filter_map(|argument| {
        let Argument {
            module,
            owner,
            field,
        } = argument;
        let name = format!("the argument {field} of {}::{owner}", module.join("::"));
        finding(name, reads.argument(argument), false)
    });
    let mut found: Vec<String> = settings.chain(variables).chain(arguments).collect();
    let asked: BTreeSet<&String> = reads
        .acting()
        .flat_map(|module| module.asked.iter().flatten())
        .collect();
    found.extend(
        asked
            .into_iter()
            .filter(|path| is_undocumented(path))
            .map(|path| {
                format!(
                    "the setting {path} is read and not documented; add it to hermes_config::schema"
                )
            }),
    );
    found
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
