//! Programs that run what they are given: shells, interpreters, readers with a program option.
//!
//! Only facts about their command lines; what follows from them is decided by the rules.

use crate::model::{Command, Word, basename, is_long, is_one_of};
use crate::wrapper::behind_options;

/// Where a shell takes its commands from.
#[derive(Debug, Clone, PartialEq)]
pub enum ShellInput {
    /// One word: `sh -c WORD`.
    Text(Word),
    /// Several words joined: `eval a b`, `ssh host a b`.
    Joined(String),
    Stdin,
    /// A file: `sh FILE`, `source FILE`.
    File(Word),
}

/// Whether a name is that of a shell.
pub fn is_shell(name: &str) -> bool {
    is_one_of(
        name,
        "sh bash zsh ksh ksh93 dash ash mksh oksh yash posh fish csh tcsh rbash xonsh nu elvish -bash -sh -zsh",
    )
}

/// Families of interpreters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpreter {
    Python,
    Perl,
    Ruby,
    Node,
    Php,
    /// `expect -c`; the others read files.
    Tcl,
    Other,
}

impl Interpreter {
    /// Letters of its options: those that bring code, those that take the rest of their word or the next
    /// word, those that take the rest of their word if there is one.
    fn letters(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Python => ("c", "WX", ""),
            Self::Perl => ("eE", "", "IMmixDCF"),
            Self::Ruby => ("e", "rI", "iFE"),
            Self::Node => ("ep", "rI", ""),
            Self::Php => ("rBRE", "d", ""),
            Self::Tcl => ("c", "", ""),
            Self::Other => ("e", "", ""),
        }
    }
}

/// The family a name belongs to, versions included (`python3.12`).
pub fn interpreter(name: &str) -> Option<Interpreter> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match stem {
        "python" | "pypy" | "ipython" | "pythonw" => Some(Interpreter::Python),
        "perl" => Some(Interpreter::Perl),
        "ruby" | "irb" => Some(Interpreter::Ruby),
        "node" | "nodejs" | "bun" | "deno" => Some(Interpreter::Node),
        "php" => Some(Interpreter::Php),
        "lua" | "luajit" | "Rscript" | "osascript" | "julia" | "elixir" | "raku" | "ghc"
        | "groovy" | "scala" | "R" | "racket" | "guile" | "gnuplot" | "jshell" | "crystal"
        | "nim" => Some(Interpreter::Other),
        "tclsh" | "expect" | "wish" => Some(Interpreter::Tcl),
        _ => None,
    }
}

/// Whether an interpreter is given code on its command line.
pub fn has_inline_code(family: Interpreter, args: &[Word]) -> bool {
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let text = word.text.as_str();
        if family == Interpreter::Node && text == "eval" {
            return true;
        }
        if text == "--" || !text.starts_with('-') || text == "-" {
            return false;
        }
        if let Some(long) = text.strip_prefix("--") {
            let long = long.split('=').next().unwrap_or_default();
            if family == Interpreter::Node && matches!(long, "eval" | "print") {
                return true;
            }
            continue;
        }
        match cluster(family, text) {
            Cluster::Code => return true,
            Cluster::TakesNext => {
                args.next();
            }
            Cluster::Ends => return false,
            Cluster::Plain => {}
        }
    }
    false
}

enum Cluster {
    Code,
    TakesNext,
    Ends,
    Plain,
}

/// Letters behind one dash, up to the one that takes a value.
fn cluster(family: Interpreter, text: &str) -> Cluster {
    let (code, with_value, with_rest) = family.letters();
    let mut letters = text.trim_start_matches('-').chars();
    while let Some(c) = letters.next() {
        if code.contains(c) {
            return Cluster::Code;
        }
        if with_value.contains(c) && letters.as_str().is_empty() {
            return Cluster::TakesNext;
        }
        if with_value.contains(c) || with_rest.contains(c) {
            return Cluster::Plain;
        }
        if family == Interpreter::Python && c == 'm' {
            return Cluster::Ends;
        }
    }
    Cluster::Plain
}

/// Whether an interpreter without a script reads one from its input.
pub fn reads_script_from_stdin(args: &[Word]) -> bool {
    let first = args.iter().find(|word| {
        !word.text.starts_with('-') || matches!(word.text.as_str(), "-" | "-c" | "-e" | "-m")
    });
    first.is_none_or(|word| matches!(word.text.as_str(), "-" | "/dev/stdin"))
}

/// Options of `ssh` that take a word.
const SSH_VALUES: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w";

/// Where a command takes shell text from, if it runs any.
pub fn shell_text(command: &Command) -> Option<ShellInput> {
    let name = command.name();
    let args = command.args();
    let joined = |words: &[Word]| {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        (!texts.is_empty()).then(|| ShellInput::Joined(texts.join(" ")))
    };
    match name {
        _ if is_shell(name) => shell_input(args),
        "eval" => joined(behind_dashes(args)),
        "." | "source" => behind_dashes(args)
            .first()
            .map(|word| match word.text.as_str() {
                "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => ShellInput::Stdin,
                _ => ShellInput::File(word.clone()),
            }),
        "trap" => behind_dashes(args)
            .first()
            .filter(|word| !word.text.starts_with('-'))
            .map(|word| ShellInput::Text(word.clone())),
        "alias" => {
            let values: Vec<&str> = args
                .iter()
                .filter_map(|word| Some(word.text.split_once('=')?.1))
                .collect();
            (!values.is_empty()).then(|| ShellInput::Joined(values.join("\n")))
        }
        "su" | "runuser" | "script" | "flock" | "sg" | "capsh" | "npx" | "npm" | "vagrant" => {
            text_option(args, 'c')
                .or_else(|| value_of(args, &["--command", "--session-command", "--call"]))
                .map(ShellInput::Text)
        }
        "entr" => {
            let shell = args
                .first()
                .is_some_and(|word| word.text.starts_with('-') && word.text.contains('s'));
            shell
                .then(|| args.get(1).cloned())
                .flatten()
                .map(ShellInput::Text)
        }
        // Recipes are what a shell is given.
        "make" | "gmake" => {
            let mut pairs = args.windows(2);
            let stdin = |file: &str| matches!(file, "-" | "/dev/stdin");
            let separate = pairs.any(|pair| matches!(pair, [option, file] if is_one_of(&option.text, "-f --file --makefile") && stdin(&file.text)));
            let joined = args
                .iter()
                .any(|word| matches!(word.text.as_str(), "-f-" | "--file=-" | "--makefile=-"));
            (separate || joined).then_some(ShellInput::Stdin)
        }
        "nix-shell" => value_of(args, &["--run", "--command"]).map(ShellInput::Text),
        // What is to run later is given now.
        "at" | "batch" => (!args
            .iter()
            .any(|word| is_one_of(&word.text, "-l -r -d -c -V -f")))
        .then_some(ShellInput::Stdin),
        "hyperfine" | "concurrently" => joined_lines(behind_options(
            args,
            "-w -r -n -N -p --warmup --runs --prepare --export-json --export-markdown",
            0,
        )),
        "tmux" => tmux(args),
        "watch" => joined(behind_options(args, "-n --interval", 0)),
        "ssh" => joined(behind_options(args, SSH_VALUES, 1)),
        "env" => value_of(args, &["-S", "--split-string"]).map(ShellInput::Text),
        _ => None,
    }
}

/// Words that are texts of their own.
fn joined_lines(words: &[Word]) -> Option<ShellInput> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    (!texts.is_empty()).then(|| ShellInput::Joined(texts.join("\n")))
}

/// Words for a shell in a new window, or typed into one.
fn tmux(args: &[Word]) -> Option<ShellInput> {
    let verb = args.iter().position(|word| !word.text.starts_with('-'))?;
    let (verb, rest) = args.get(verb..)?.split_first()?;
    let runs = "new new-session neww new-window splitw split-window respawnp respawn-pane respawnw \
        respawn-window run run-shell popup display-popup pipe-pane if-shell if send send-keys";
    if !is_one_of(&verb.text, runs) {
        return None;
    }
    joined_lines(behind_options(
        rest,
        "-s -n -t -c -F -e -x -y -l -N -h -w -T -S -b",
        0,
    ))
}

/// The text that a letter among the options brings, be it in a cluster: `script -qec TEXT`.
fn text_option(args: &[Word], letter: char) -> Option<Word> {
    for (at, word) in args.iter().enumerate() {
        let Some(letters) = word
            .text
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'))
        else {
            continue;
        };
        let Some((before, rest)) = letters.split_once(letter) else {
            continue;
        };
        if !before.chars().all(|c| c.is_ascii_alphabetic()) {
            continue;
        }
        return match rest {
            "" => args.get(at + 1).cloned(),
            text => Some(Word {
                text: text.to_owned(),
                ..word.clone()
            }),
        };
    }
    None
}

/// The words behind the text of a shell: `bash -c TEXT NAME WORDS`, `bash -s WORDS`.
pub(crate) fn shell_parameters(command: &Command) -> Option<&[Word]> {
    if !is_shell(command.name()) {
        return None;
    }
    let args = command.args();
    let text = args.iter().position(|word| {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.contains(['c', 's'])
    })?;
    let skipped = if args.get(text)?.text.contains('c') {
        3
    } else {
        1
    };
    Some(args.get(text + skipped..).unwrap_or_default())
}

fn behind_dashes(args: &[Word]) -> &[Word] {
    match args.split_first() {
        Some((first, rest)) if first.text == "--" => rest,
        _ => args,
    }
}

/// The value of an option: the next word, or what is joined to it.
fn value_of(args: &[Word], options: &[&str]) -> Option<Word> {
    for (at, word) in args.iter().enumerate() {
        for option in options {
            let joined = if option.starts_with("--") {
                // Perhaps shortened.
                if !is_long(&word.text, option, 3) {
                    continue;
                }
                word.text.split_once('=').map(|(_, value)| value)
            } else {
                match word.text.strip_prefix(option) {
                    Some(rest) => Some(rest).filter(|rest| !rest.is_empty()),
                    None => continue,
                }
            };
            return match joined {
                Some(value) => Some(Word {
                    text: value.to_owned(),
                    ..word.clone()
                }),
                None => args.get(at + 1).cloned(),
            };
        }
    }
    None
}

/// `-c` anywhere among the options makes the first operand the text; without a script, it is stdin.
fn shell_input(args: &[Word]) -> Option<ShellInput> {
    let mut text_follows = false;
    let mut from_stdin = false;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" || text == "-" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            if matches!(long, "rcfile" | "init-file") {
                at += 1;
            } else if let Some(value) = long.strip_prefix("command=") {
                return Some(ShellInput::Joined(value.to_owned()));
            } else if long == "command" {
                text_follows = true;
            } else if matches!(long, "help" | "version") {
                return None;
            }
            continue;
        }
        let Some(letters) = text.strip_prefix(['-', '+']) else {
            at -= 1;
            break;
        };
        text_follows |= text.starts_with('-') && letters.contains('c');
        from_stdin |= text.starts_with('-') && letters.contains('s');
        if letters.ends_with(['o', 'O']) {
            at += 1;
        }
    }
    match args.get(at) {
        Some(word) if text_follows => Some(ShellInput::Text(word.clone())),
        None if text_follows => None,
        Some(word)
            if matches!(
                word.text.as_str(),
                "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"
            ) =>
        {
            Some(ShellInput::Stdin)
        }
        Some(word) if !from_stdin => Some(ShellInput::File(word.clone())),
        _ => Some(ShellInput::Stdin),
    }
}

/// Options of reading tools that name a program: tools, option, fewest letters of it that count.
const PROGRAM_OPTIONS: &[(&str, &str, usize)] = &[
    ("rg", "--pre", 5),
    ("rg", "--hostname-bin", 14),
    ("sort gsort", "--compress-program", 4),
    ("ag ack bat", "--pager", 7),
    ("man", "--pager", 5),
    ("man", "--html", 4),
    ("man", "-P", 2),
    ("man", "-H", 2),
    ("tar", "--checkpoint-action", 13),
    ("tar", "--to-command", 6),
    ("tar", "--use-compress-program", 4),
    ("tar", "-I", 2),
    ("tar", "--rsh-command", 6),
    ("tar", "--info-script", 6),
    ("tar", "--new-volume-script", 5),
    ("zip", "-TT", 3),
    ("split gsplit", "--filter", 4),
    ("tcpdump", "-z", 2),
    ("wget", "--use-askpass", 7),
];

/// A program named by an option of a reading tool: `tool option`, and the program if it is known.
pub fn program_option(command: &Command) -> Option<(String, Option<String>)> {
    let name = command.name();
    if name == "git" {
        return git_program(command);
    }
    let options = PROGRAM_OPTIONS.iter();
    let options = options.filter(|(tools, ..)| is_one_of(name, tools));
    if command.args().is_empty() || options.clone().next().is_none() {
        return None;
    }
    let mut previous_takes_value = false;
    for (at, word) in command.args().iter().enumerate() {
        if word.text == "--" {
            return None;
        }
        if std::mem::take(&mut previous_takes_value) {
            continue;
        }
        // `rg --sort --pre`: the second is the value of the first.
        previous_takes_value = matches!(
            word.text.as_str(),
            "--sort" | "--sortr" | "-e" | "--regexp" | "-k" | "--key" | "-f" | "--file"
        );
        for (_, option, fewest) in options.clone() {
            let (written, joined) = match word.text.split_once('=') {
                Some((written, value)) if option.starts_with("--") => (written, Some(value)),
                _ => (word.text.as_str(), None),
            };
            let hit = if option.starts_with("--") {
                written.len() >= *fewest && option.starts_with(written)
            } else {
                written.starts_with(option)
            };
            if !hit {
                continue;
            }
            let joined =
                joined.or_else(|| written.strip_prefix(option).filter(|rest| !rest.is_empty()));
            let next = || command.args().get(at + 1).map(|word| word.text.as_str());
            let program = joined.or_else(next);
            if option == &"--checkpoint-action" {
                let executed = program.and_then(|program| program.strip_prefix("exec="))?;
                return Some((format!("{name} {option}"), Some(executed.to_owned())));
            }
            // Known compressors are what the option is for.
            let harmless = matches!(*option, "--use-compress-program" | "-I")
                && program.is_some_and(|program| {
                    let name = program.split(' ').next().unwrap_or_default();
                    is_one_of(
                        basename(name),
                        "gzip bzip2 xz zstd pigz lz4 pbzip2 lzma pxz pzstd lzop brotli zstdmt unzstd",
                    )
                });
            if harmless {
                return None;
            }
            return Some((format!("{name} {option}"), program.map(str::to_owned)));
        }
    }
    None
}

/// `git -c KEY=VALUE` with a key whose value is run.
fn git_program(command: &Command) -> Option<(String, Option<String>)> {
    let args = command.args();
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1;
        let (key, value) = match word.text.as_str() {
            "-c" => args.get(at)?.text.split_once('=')?,
            // The value is in a variable; which, is all that is known.
            text if is_long(text, "--config-env", 8) => {
                let key = text.split_once('=').map(|(_, pair)| pair);
                let pair = key.or_else(|| Some(args.get(at)?.text.as_str()))?;
                (pair.split('=').next()?, "!")
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                at += 1;
                continue;
            }
            _ => continue,
        };
        at += 1;
        let key = key.to_ascii_lowercase();
        if runs_value(&key, value) {
            let program = value.trim_start_matches('!').to_owned();
            return Some(("git -c".to_owned(), Some(program)));
        }
    }
    None
}

/// Whether git runs the value of a setting.
pub fn runs_value(key: &str, value: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    match last {
        "pager" => !matches!(value, "cat" | "less" | "" | "false" | "true" | "delta"),
        "editor" => !matches!(value, "true" | ":" | "vim" | "vi" | "nano" | "cat"),
        "fsmonitor" | "untrackedcache" => !matches!(value, "true" | "false" | ""),
        "sshcommand" | "hookspath" | "askpass" | "gitproxy" | "textconv" | "clean" | "smudge"
        | "process" | "uploadpack" | "receivepack" | "proxycommand" | "sequenceeditor" => true,
        "external" | "driver" | "command" | "cmd" | "program" | "insteadof" | "pushinsteadof" => {
            !value.is_empty()
        }
        "helper" => value.starts_with('!') || value.contains('/'),
        "path" => key.starts_with("include") || value.contains(' '),
        _ => key.starts_with("alias.") && value.starts_with('!'),
    }
}
