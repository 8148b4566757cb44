//! What builtins do to the shell they run in: the directory, the positional parameters, variables
//! and aliases that later commands see.

use crate::model::{Command, Word, is_one_of};
use crate::scope::Scope;
use crate::substitution;

/// Options of `read` that take a word.
const READ_VALUES: &str = "-a -d -i -n -N -p -t -u";
/// Options of `mapfile` that take a word.
const MAPFILE_VALUES: &str = "-d -n -O -s -u -C -c";

/// Whether what a function does depends on the words it is called with.
pub(crate) fn uses_parameters(body: &str) -> bool {
    body.split('$').skip(1).any(|behind| {
        let behind = behind.strip_prefix(['{']).unwrap_or(behind);
        let behind = behind.strip_prefix(['#', '!']).unwrap_or(behind);
        behind.starts_with(['@', '*']) || behind.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Applies what a command changes about its own shell.
pub(crate) fn apply(command: &Command, scope: &mut Scope<'_>) {
    let mut words = command.words.as_slice();
    while let [first, rest @ ..] = words
        && matches!(first.text.as_str(), "builtin" | "command")
    {
        words = rest;
    }
    let Some((name, args)) = words.split_first() else {
        return;
    };
    match name.text.as_str() {
        "cd" | "pushd" | "chdir" => enter(args, scope),
        "popd" => scope.enter(None),
        "set" => {
            if let Some(words) = parameters(args) {
                scope.set_positional(words);
            }
        }
        "shift" => {
            let count = args.first().and_then(|word| word.text.parse().ok());
            scope.shift(count.unwrap_or(1));
        }
        "printf" => print_into_variable(words, args, scope),
        "read" => read(command, args, scope),
        "mapfile" | "readarray" => map_file(command, args, scope),
        "getopts" => args
            .get(1)
            .into_iter()
            .for_each(|word| scope.forget(&word.text)),
        "unset" => args.iter().for_each(|word| scope.forget(&word.text)),
        "alias" => {
            for (name, value) in args.iter().filter_map(|word| word.text.split_once('=')) {
                scope.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
        "unalias" => args.iter().for_each(|word| {
            scope.aliases.remove(&word.text);
        }),
        // `hash -p /bin/rm x`: from now on `x` is `rm`.
        "hash" => {
            if let [flag, path, names @ ..] = args
                && flag.text == "-p"
            {
                for name in names {
                    scope.aliases.insert(name.text.clone(), path.text.clone());
                }
            }
        }
        _ => {}
    }
}

fn enter(args: &[Word], scope: &mut Scope<'_>) {
    let operand = args
        .iter()
        .find(|word| !is_one_of(&word.text, "-L -P -e -@ --"));
    match operand {
        None => scope.enter(Some("~")),
        Some(word) if word.dynamic || word.glob || word.text == "-" => scope.enter(None),
        Some(word) => scope.enter(Some(&word.text)),
    }
}

/// The positional parameters that `set` sets; `None` when it sets options only.
fn parameters(args: &[Word]) -> Option<&[Word]> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match word.text.as_str() {
            "--" | "-" => return args.get(at + 1..),
            "-o" | "+o" => at += 2,
            text if text.starts_with(['-', '+']) => at += 1,
            _ => return args.get(at..),
        }
    }
    None
}

/// `printf -v NAME FORMAT …`
fn print_into_variable(words: &[Word], args: &[Word], scope: &mut Scope<'_>) {
    let [flag, name, rest @ ..] = args else {
        return;
    };
    if flag.text != "-v" {
        return;
    }
    let known = !rest.iter().any(|word| word.dynamic);
    let printed: Vec<Word> = words.iter().take(1).chain(rest).cloned().collect();
    match substitution::output(&printed).filter(|_| known) {
        Some(text) => scope.assign(&name.text, &[Word::constant(text)]),
        None => scope.forget(&name.text),
    }
}

/// Operands behind the options of a builtin.
fn names<'w>(args: &'w [Word], with_value: &str) -> &'w [Word] {
    crate::wrapper::behind_options(args, with_value, 0)
}

/// The text a builtin reads, where it is known.
fn input(command: &Command) -> Option<&str> {
    let stdin = command.stdin.as_ref()?;
    (!stdin.word.dynamic).then_some(stdin.word.text.as_str())
}

/// `read NAME…`, from a here-string or here-document.
fn read(command: &Command, args: &[Word], scope: &mut Scope<'_>) {
    let names = names(args, READ_VALUES);
    let mut text = input(command).and_then(|text| text.lines().next());
    for (at, name) in names.iter().enumerate() {
        let Some(rest) = text.map(str::trim) else {
            scope.forget(&name.text);
            continue;
        };
        let is_last = at + 1 == names.len();
        let (value, behind) = match rest.split_once(|c: char| c.is_ascii_whitespace()) {
            Some(parts) if !is_last => parts,
            _ => (rest, ""),
        };
        scope.assign(&name.text, &[Word::constant(value)]);
        text = Some(behind);
    }
    if names.is_empty() {
        match text {
            Some(text) => scope.assign("REPLY", &[Word::constant(text)]),
            None => scope.forget("REPLY"),
        }
    }
}

/// `mapfile NAME`, from a here-string or here-document.
fn map_file(command: &Command, args: &[Word], scope: &mut Scope<'_>) {
    let name = names(args, MAPFILE_VALUES).first();
    let name = name.map_or("MAPFILE", |word| word.text.as_str());
    match input(command) {
        Some(text) => {
            let lines: Vec<Word> = text.lines().map(Word::constant).collect();
            scope.assign(name, &lines);
        }
        None => scope.forget(name),
    }
}
