//! Code that is run without a file anybody could have looked at.

use std::collections::HashSet;

use super::super::keys::{self, Key};
use super::{Call, Keys, short_letters};
use hermes_shell::escape_of_client;
use hermes_shell::programs::{
    Interpreter, ShellInput, has_inline_code, interpreter, is_shell, reads_script_from_stdin,
    shell_text,
};
use hermes_shell::{
    Command, Inner, InnerForm, Script, Via, Word, basename, file_operands, is_long, is_one_of,
};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let Some(word) = call.command.words.first() else {
        return;
    };
    substituted(&word.inner, keys);
    unresolved(call, word, keys);
    let name = call.name();
    let takes_text =
        "eval . source su runuser script sg ssh at batch env watch entr flock trap make gmake";
    if is_shell(name) || is_one_of(name, takes_text) {
        shell(call, keys);
    }
    let family = interpreter(name);
    if family.is_some_and(|family| is_given_code(call, family, keys)) || runs_code(call) {
        keys.push(keys::SCRIPT_E);
    }
    if is_one_of(
        name,
        "sqlite3 sqlite psql mysql mariadb duckdb ftp mail mailx",
    ) {
        client(call, keys);
    }
}

/// Whether an interpreter gets code that is in no file. What says most about it is added first: it is
/// what is shown and remembered.
fn is_given_code(call: &Call<'_>, family: Interpreter, keys: &mut Keys) -> bool {
    let args = call.command.args();
    from_process(call, keys);
    if has_inline_code(family, args) {
        return true;
    }
    if !reads_script_from_stdin(args) {
        return file_operands(args).next().is_some_and(is_process);
    }
    from_pipe(call, keys);
    match &call.command.stdin {
        Some(stdin) if stdin.heredoc => {
            keys.push(keys::SCRIPT_HEREDOC);
            false
        }
        Some(_) => true,
        None => call.script.is_fed_by_a_pipe(call.command) && !is_fed_with_file(call),
    }
}

/// Code for other programs that can start commands with it: `awk 'BEGIN { system("id") }'`.
fn runs_code(call: &Call<'_>) -> bool {
    match call.name() {
        "awk" | "gawk" | "mawk" | "nawk" => {
            let mut texts = call.command.texts();
            texts.any(|text| text.replace(' ', "").contains("system("))
        }
        "emacs" | "emacsclient" | "octave" | "sbcl" | "clisp" | "erl" => {
            let options = "--eval -eval -e --execute --funcall -f";
            let mut texts = call.command.texts();
            texts.any(|text| is_one_of(text.split('=').next().unwrap_or_default(), options))
        }
        _ => false,
    }
}

/// Whether a file is what a command prints.
fn is_process(word: &Word) -> bool {
    let mut inner = word.inner.iter();
    inner.any(|inner| inner.form == InnerForm::Process)
}

/// A command word whose name nobody can tell yet. In a function, the words of the call decide.
fn unresolved(call: &Call<'_>, word: &Word, keys: &mut Keys) {
    let name = basename(&word.text);
    if !word.dynamic || !name.contains(['$', '`']) {
        return;
    }
    let by_call = call.command.function.is_some()
        && name.strip_prefix('$').is_some_and(|rest| {
            let rest = rest.trim_start_matches('{');
            rest.starts_with(|c: char| c.is_ascii_digit() || "@*".contains(c))
        });
    // Text that is not known as a whole was found where it is evaluated.
    let carrier = call.command.carrier.and_then(|(index, via)| {
        let carrier = call.script.commands.get(index)?;
        (via == Via::Text).then_some(carrier)
    });
    let evaluated = carrier.is_some_and(|carrier| {
        shell_text(carrier).is_some() && carrier.args().iter().any(|word| word.dynamic)
    });
    if !by_call && !evaluated {
        keys.push(keys::UNRESOLVED);
    }
}

/// Lines of database clients that a shell runs.
fn client(call: &Call<'_>, keys: &mut Keys) {
    let stdin = call.command.stdin.iter();
    let stdin = stdin.flat_map(|stdin| stdin.word.text.lines());
    let mut lines = call.command.texts().flat_map(str::lines).chain(stdin);
    if lines.any(|line| escape_of_client(line).is_some()) {
        keys.push(keys::CLIENT_SHELL);
    }
}

/// `cat FILE | sh`, the same as `sh FILE`.
fn is_fed_with_file(call: &Call<'_>) -> bool {
    let upstream = call.script.upstream(call.command);
    !upstream.is_empty()
        && upstream.iter().all(|source| {
            source.name() == "cat"
                && source.stdin.is_none()
                && !source.args().iter().any(|word| !word.inner.is_empty())
                && file_operands(source.args()).next().is_some()
        })
}

/// Programs whose output is made to be evaluated by a shell.
const SETTINGS: &str = "ssh-agent gpg-agent keychain dircolors direnv pyenv rbenv nodenv goenv jenv starship zoxide \
    brew conda mamba micromamba fnm mise rtx asdf opam docker-machine minikube luarocks resize tset thefuck atuin \
    mcfly register-python-argcomplete nvm perlbrew plenv lesspipe";
/// Verbs for the same.
const SETTINGS_VERBS: &str = "completion completions shellenv hook init activate shell-init env";

fn prints_shell_settings(inner: &Inner) -> bool {
    let mut names = inner.names.iter();
    let is_known = names.next().is_some_and(|name| is_one_of(name, SETTINGS));
    is_known
        || names
            .next()
            .is_some_and(|verb| is_one_of(verb, SETTINGS_VERBS))
}

pub(super) fn is_remote(name: &str) -> bool {
    matches!(
        name,
        "curl"
            | "wget"
            | "fetch"
            | "http"
            | "https"
            | "xh"
            | "aria2c"
            | "lynx"
            | "w3m"
            | "links"
            | "elinks"
            | "curlie"
            | "ftp"
            | "tftp"
            | "nc"
            | "ncat"
            | "netcat"
            | "socat"
            | "telnet"
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
    let only_runs_text =
        is_shell(call.name()) || is_one_of(call.name(), "eval . source su runuser script sg");
    // What does not parse may run something else than what was found.
    let unclear =
        only_runs_text && (call.script.incomplete || call.script.unclear.contains(&call.index));
    from_process(call, keys);
    match shell_text(command) {
        Some(ShellInput::Text(text)) => {
            substituted(&text.inner, keys);
            // Constant text was parsed, and the rules see the commands in it.
            if (text.dynamic && only_runs_text) || unclear {
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
            let is_settings = |word: &Word| word.inner.iter().any(prints_shell_settings);
            let mut unknown = command.args().iter().filter(|word| word.dynamic);
            if call.name() == "eval" && unknown.any(|word| !is_settings(word)) {
                keys.push(keys::EVAL_UNKNOWN);
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
            if call.script.unknown_input.contains(&call.index) && !is_fed_with_file(call) {
                keys.push(keys::PIPE_UNKNOWN);
            }
        }
        Some(ShellInput::File(file)) => {
            // The file to run is named by a substitution: `. $(curl …)`.
            substituted(&file.inner, keys);
            let unknown = |inner: &Inner| {
                inner.form == InnerForm::Process
                    && inner.output.is_none()
                    && !prints_shell_settings(inner)
            };
            if file.inner.iter().any(unknown) {
                keys.push(keys::PROCESS_UNKNOWN);
            }
        }
        None => {}
    }
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
        // Printed in a form in which nobody reads it.
        let prints = matches!(source.name(), "echo" | "printf");
        if prints && source.texts().any(is_escaped) {
            keys.push(keys::DECODED_PIPE);
        }
    }
}

/// Whether letters are written as numbers.
fn is_escaped(text: &str) -> bool {
    let mut escapes = text.split('\\').skip(1);
    escapes.any(|behind| behind.starts_with(|c: char| matches!(c, 'x' | 'u' | 'U' | '0'..='7')))
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

pub(super) fn plain(path: &str) -> &str {
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
        let numeric = (3..=4).contains(&text.len())
            && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte))
            && text.bytes().rev().take(3).any(|digit| digit & 1 != 0);
        numeric
            || text.split(',').any(|clause| {
                clause.split_once(['+', '=']).is_some_and(|(who, what)| {
                    who.chars().all(|c| matches!(c, 'u' | 'g' | 'o' | 'a'))
                        && what.contains('x')
                        && what.chars().all(|c| "rwxXst".contains(c))
                })
            })
    })
}
