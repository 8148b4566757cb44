//! Variables that make other programs load or find other code than they would.

use super::super::keys;
use super::super::paths::is_in_temporary_directory;
use super::{Call, Keys, has_letter};
use hermes_shell::{Word, is_one_of};

/// Variables that name code a program loads before it does anything.
const LOADING: &str = "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PYTHONSTARTUP PYTHONINSPECT \
    PERL5OPT PERL5DB PERLLIB RUBYOPT GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM \
    GCONV_PATH GLIBC_TUNABLES SHELLOPTS BASHOPTS ZDOTDIR LD_ORIGIN_PATH";
/// Those of them that nobody has for another purpose, so that their name alone says enough.
const HANDED_ON: &str = "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV PYTHONSTARTUP PERL5OPT RUBYOPT \
    GIT_EXEC_PATH GCONV_PATH";
/// Variables whose directories are searched for libraries: harmless but for what anybody could put there.
const LIBRARIES: &str = "LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PERL5LIB RUBYLIB NODE_PATH CDPATH \
    PYTHONHOME GEM_PATH CLASSPATH";
/// Options by which interpreters load code.
const OPTIONS: &str = "NODE_OPTIONS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS";
/// Directories of programs that every machine has.
const USUAL: &str =
    "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /snap/bin";

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    for (name, value) in call.command.environment.iter() {
        variable(name, value, keys);
    }
    // `export NAME=VALUE` and relatives have it among their words.
    if is_one_of(call.name(), "export declare typeset readonly local setenv") {
        for word in call.command.args() {
            if let Some((name, text)) = word.text.split_once('=') {
                let value = Word {
                    text: text.to_owned(),
                    ..word.clone()
                };
                variable(name, &value, keys);
            }
        }
    }
    if hands_on(call) {
        keys.push(keys::LOADED_CODE);
    }
    let args = call.texts();
    let replaces = match call.name() {
        "enable" => args.contains(&"-f"),
        "hash" => args.contains(&"-p"),
        _ => false,
    };
    if replaces {
        keys.push(keys::SHADOWED);
    }
}

/// Whether a variable that names code, whatever has set it, is given to all programs from here on:
/// `read LD_PRELOAD <<< x; export LD_PRELOAD`.
fn hands_on(call: &Call<'_>) -> bool {
    let texts = call.texts();
    let exports = match call.name() {
        "export" => !has_letter(texts, 'n') && !has_letter(texts, 'p'),
        "declare" | "typeset" => has_letter(texts, 'x') && !has_letter(texts, 'p'),
        _ => false,
    };
    exports && texts.iter().any(|text| is_one_of(text, HANDED_ON))
}

fn variable(name: &str, value: &Word, keys: &mut Keys) {
    if value.text.is_empty() {
        return;
    }
    let name = name.trim_end_matches('+');
    let in_temporary = || value.text.split(':').any(is_in_temporary_directory);
    if is_one_of(name, LOADING) || (is_one_of(name, LIBRARIES) && in_temporary()) {
        keys.push(keys::LOADED_CODE);
    }
    let loads = [
        "--require",
        "-r ",
        "--import",
        "--loader",
        "-javaagent",
        "-agentpath",
        "--experimental-loader",
    ];
    if is_one_of(name, OPTIONS) && loads.iter().any(|option| value.text.contains(option)) {
        keys.push(keys::LOADED_CODE);
    }
    if name == "HERMES_YOLO_MODE" || name == "HERMES_TERMINAL_SANDBOX" {
        keys.push(keys::HERMES_AGENT);
    }
    if name == "PATH" && changes_search(&value.text) {
        keys.push(keys::SEARCH_PATH);
    }
}

/// Whether a search path has a directory anybody could fill, or none of the usual ones.
fn changes_search(path: &str) -> bool {
    let mut directories = path.split(':');
    let odd = directories.clone().any(|directory| {
        directory.is_empty() || directory == "." || is_in_temporary_directory(directory)
    });
    let kept =
        directories.any(|directory| directory.starts_with('$') || is_one_of(directory, USUAL));
    odd || !kept
}
