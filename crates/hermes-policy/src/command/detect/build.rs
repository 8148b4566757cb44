//! Build tools and package managers pointed at code that nobody has looked at.

use super::super::keys;
use super::super::paths::{is_in_temporary_directory, located};
use super::{Call, Keys};
use hermes_shell::{Word, is_one_of};

/// Options that name the directory or the file a build tool takes its orders from.
const SOURCES: &[(&str, &str)] = &[
    ("make gmake ninja", "-C -f --directory --file --makefile"),
    ("cargo", "--manifest-path --path -C"),
    ("npm pnpm yarn bun", "--prefix --cwd --dir -C"),
    ("go", "-C"),
    (
        "mvn gradle gradlew ant",
        "-f -p -b --file --project-dir --build-file",
    ),
    ("cmake", "-P -S"),
    (
        "bazel meson scons just task rake",
        "-C -f --directory --file --justfile --taskfile",
    ),
    (
        "pip pip3 uv poetry",
        "-e --editable -r --requirement --directory --project",
    ),
];

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let name = call.name();
    let args = call.command.args();
    let is_temporary =
        |word: &Word| is_in_temporary_directory(&located(call.command, word, &call.paths.homes));
    for (tools, options) in SOURCES {
        if !is_one_of(name, tools) {
            continue;
        }
        for (at, word) in args.iter().enumerate() {
            let value = match word.text.split_once('=') {
                Some((option, value)) if is_one_of(option, options) => Some(Word::constant(value)),
                _ if is_one_of(&word.text, options) => args.get(at + 1).cloned(),
                _ => None,
            };
            if value.is_some_and(|value| is_temporary(&value)) {
                keys.push(keys::TEMP_BUILD);
            }
        }
    }
    let mut operands = call
        .command
        .args()
        .iter()
        .filter(|word| !word.text.starts_with('-'));
    let verb = operands.next().map_or("", |word| word.text.as_str());
    let (installs, paths_count) = match name {
        "npm" | "pnpm" | "yarn" | "bun" => (is_one_of(verb, "install i add ci"), true),
        "pip" | "pip2" | "pip3" | "gem" | "cargo" | "luarocks" | "cpan" | "conda" => {
            (verb == "install", false)
        }
        "go" => (is_one_of(verb, "run install"), false),
        "easy_install" => (true, false),
        _ => (false, false),
    };
    if !installs {
        return;
    }
    for word in operands {
        let text = word.text.as_str();
        let from_network = text.contains("://") || text.starts_with("git@");
        let from_path = paths_count
            && (text.starts_with("./") || text.starts_with("../") || text.starts_with(['/', '~']));
        if from_network || from_path || (text.starts_with('/') && is_temporary(word)) {
            keys.push(keys::PACKAGE_SOURCE);
        }
    }
}
