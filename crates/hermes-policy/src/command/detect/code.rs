//! Code that is run without a file anybody could have looked at.

use std::collections::HashSet;

use super::super::keys::{self, Key};
use super::super::syntax::programs::{
    ShellInput, has_inline_code, interpreter, is_shell, reads_script_from_stdin, shell_text,
};
use super::super::syntax::{Command, Inner, InnerForm, Script, Word, file_operands, is_long};
use super::{Call, Keys, short_letters};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let Some(word) = call.command.words.first() else {
        return;
    };
    substituted(&word.inner, keys);
    let name = call.name();
    if is_shell(name) || matches!(name, "eval" | "." | "source" | "su" | "runuser" | "script") {
        shell(call, keys);
    }
    if let Some(family) = interpreter(name) {
        let args = call.command.args();
        if has_inline_code(family, args) {
            keys.push(keys::SCRIPT_E);
        } else if reads_script_from_stdin(args) {
            let heredoc = call.command.stdin.as_ref();
            if heredoc.is_some_and(|stdin| stdin.heredoc) {
                keys.push(keys::SCRIPT_HEREDOC);
            } else if heredoc.is_some() {
                keys.push(keys::SCRIPT_E);
            }
            from_pipe(call, keys);
        }
        from_process(call, keys);
    }
}

fn is_remote(name: &str) -> bool {
    matches!(
        name,
        "curl" | "wget" | "fetch" | "http" | "https" | "xh" | "aria2c" | "lynx"
    )
}

/// Values that come out of a substitution and are run.
fn substituted(inner: &[Inner], keys: &mut Keys) {
    for inner in inner
        .iter()
        .filter(|inner| inner.form != InnerForm::Process)
    {
        if inner.names.iter().any(|name| is_remote(name)) {
            keys.push(keys::REMOTE_SUBSTITUTION);
        }
        keys.extend(decoder(&inner.names));
    }
}

/// The key for a decoder among these words.
fn decoder(words: &[String]) -> Option<Key> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if has(&["openssl"]) && has(&["-d"]) {
        Some(keys::OPENSSL_PIPE)
    } else if has(&["base64", "base32", "gbase64"]) && words.iter().any(|word| asks_to_decode(word))
    {
        Some(keys::DECODED_PIPE)
    } else if has(&["xxd"])
        && words
            .iter()
            .any(|word| word.starts_with('-') && word.contains('r'))
    {
        Some(keys::XXD_PIPE)
    } else {
        None
    }
}

/// `-d`, perhaps among other letters, or `--decode`, perhaps shortened.
fn asks_to_decode(word: &str) -> bool {
    is_long(word, "--decode", 3)
        || short_letters(word).is_some_and(|letters| letters.contains(['d', 'D']))
}

fn shell(call: &Call<'_>, keys: &mut Keys) {
    let command = call.command;
    // What does not parse may run something else than what was found.
    let unclear = call.script.incomplete || call.script.unclear.contains(&call.index);
    match shell_text(command) {
        Some(ShellInput::Text(text)) => {
            substituted(&text.inner, keys);
            // Constant text was parsed, and the rules see the commands in it.
            if text.dynamic || unclear {
                keys.push(keys::SHELL_C);
            }
        }
        Some(ShellInput::Joined(_)) => {
            for word in command.args() {
                substituted(&word.inner, keys);
            }
            if unclear {
                keys.push(keys::SHELL_C);
            }
        }
        Some(ShellInput::Stdin) => {
            if let Some(stdin) = &command.stdin {
                substituted(&stdin.word.inner, keys);
                if stdin.word.dynamic || unclear {
                    keys.push(if stdin.heredoc {
                        keys::SHELL_HEREDOC
                    } else {
                        keys::SHELL_C
                    });
                }
            }
            from_pipe(call, keys);
        }
        None => {
            // The file to run is named by a substitution: `. $(curl …)`.
            if let Some(file) = file_operands(command.args()).next() {
                substituted(&file.inner, keys);
            }
        }
    }
    from_process(call, keys);
}

/// What arrives through the pipe of a shell or interpreter.
fn from_pipe(call: &Call<'_>, keys: &mut Keys) {
    let upstream = call.script.upstream(call.command);
    if upstream.iter().any(|source| is_remote(source.name())) {
        keys.push(keys::REMOTE_PIPE);
    }
    for source in upstream {
        let words: Vec<String> = std::iter::once(source.name().to_owned())
            .chain(source.texts().map(str::to_owned))
            .collect();
        keys.extend(decoder(&words));
        if source.name() == "tr" {
            keys.push(keys::TR_PIPE);
        }
    }
}

/// `bash <(curl …)`, `source <(curl …)`, `sh < <(curl …)`.
fn from_process(call: &Call<'_>, keys: &mut Keys) {
    let files = call.command.args().iter();
    let inputs = call
        .command
        .redirects
        .iter()
        .filter(|redirect| !redirect.writes)
        .map(|redirect| &redirect.target);
    let remote = files.chain(inputs).any(|word: &Word| {
        word.inner.iter().any(|inner| {
            inner.form == InnerForm::Process && inner.names.iter().any(|name| is_remote(name))
        })
    });
    if remote {
        keys.push(keys::REMOTE_PROCESS);
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// `chmod +x file; ./file`
pub(super) fn runs_what_it_made_executable(script: &Script) -> bool {
    let mut made: HashSet<&str> = HashSet::new();
    for (_, command) in script.certain() {
        let Some(word) = command.words.first() else {
            continue;
        };
        if !made.is_empty() {
            let text = word.text.as_str();
            let known = text.contains('/') && made.contains(plain(text));
            if known || text.starts_with("./") {
                return true;
            }
        }
        if command.name() == "chmod" && adds_execution(command) {
            made.extend(
                command
                    .texts()
                    .filter(|text| !text.starts_with(['-', '+']))
                    .map(plain),
            );
        }
    }
    false
}

fn adds_execution(command: &Command) -> bool {
    command.texts().any(|text| {
        text.split(',').any(|clause| {
            clause.split_once('+').is_some_and(|(who, what)| {
                who.chars().all(|c| matches!(c, 'u' | 'g' | 'o' | 'a'))
                    && what.contains('x')
                    && what.chars().all(|c| "rwxXst".contains(c))
            })
        })
    })
}
