//! Shell text inside what other tools are given: scripts of awk, sed, editors, debuggers and database
//! clients, options and variables that name a program.
//!
//! The text is read like any other; that it is there is no finding by itself (`rsync -e 'ssh -p 22'`).

use crate::heredoc::{self, Substitution};
use crate::model::{Command, Word, is_long, is_one_of};
use crate::sed;

/// Variables whose value is run as a command.
const COMMAND_VARIABLES: &str = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER GIT_EDITOR EDITOR VISUAL \
    FCEDIT SUDO_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS \
    SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND PROMPT_COMMAND BROWSER LESSOPEN LESSCLOSE RSYNC_RSH \
    CVS_RSH HGEDITOR SVN_EDITOR PSQL_PAGER PSQL_EDITOR KUBE_EDITOR";

/// Options whose value is a command: tools, option, fewest letters of it that count.
const COMMAND_OPTIONS: &[(&str, &str, usize)] = &[
    ("rsync", "--rsh", 5),
    ("rsync", "--rsync-path", 9),
    ("rsync", "-e", 2),
    ("scp sftp", "-S", 2),
    ("nodemon", "--exec", 3),
    ("nodemon", "-x", 2),
];

/// The same for the verbs of git.
const GIT_OPTIONS: &[(&str, &str, usize)] = &[
    ("rebase", "--exec", 4),
    ("rebase", "-x", 2),
    ("difftool mergetool", "--extcmd", 4),
    ("difftool", "-x", 2),
    ("grep", "--open-files-in-pager", 4),
    ("grep", "-O", 2),
    ("clone fetch fetch-pack pull ls-remote", "--upload-pack", 8),
    ("clone", "-u", 2),
    ("push send-pack", "--receive-pack", 5),
    ("push archive", "--exec", 4),
    ("filter-branch", "--tree-filter", 5),
    ("filter-branch", "--index-filter", 5),
    ("filter-branch", "--env-filter", 5),
    ("filter-branch", "--msg-filter", 4),
    ("filter-branch", "--commit-filter", 5),
    ("filter-branch", "--parent-filter", 5),
    ("filter-branch", "--tag-name-filter", 5),
    ("filter-branch", "--setup", 4),
];

/// Shell texts that a command carries besides its own words.
pub(crate) fn texts(command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in command.environment.iter() {
        if is_one_of(name, COMMAND_VARIABLES) || name.starts_with("GIT_CONFIG_VALUE_") {
            found.push(value.text.trim_start_matches(['!', '|']).to_owned());
        }
        // Expanded before each line that a traced shell runs, and before each prompt.
        if matches!(name.as_str(), "PS4" | "PS1" | "PS0" | "PS2") {
            substitutions(&value.text, &mut found);
        }
    }
    let args = command.args();
    if is_one_of(command.name(), "export declare typeset readonly") {
        let assigned = args.iter().filter_map(|word| word.text.split_once('='));
        let runs = assigned.filter(|(name, _)| is_one_of(name, COMMAND_VARIABLES));
        found.extend(runs.map(|(_, value)| value.trim_start_matches(['!', '|']).to_owned()));
    }
    match command.name() {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk(args, &mut found),
        "sed" | "gsed" | "ssed" => {
            found.extend(
                sed::scripts(args)
                    .iter()
                    .flat_map(|script| sed::commands(script)),
            );
        }
        "vi" | "vim" | "nvim" | "view" | "ex" | "vimdiff" | "gvim" | "rvim" | "vimtutor" => {
            editor(args, &mut found);
        }
        "emacs" | "emacsclient" | "sbcl" | "clisp" => called_strings(args, &mut found),
        "ed" | "red" => found.extend(
            command
                .stdin
                .iter()
                .flat_map(|stdin| stdin.word.text.lines())
                .filter_map(|line| Some(line.split_once('!')?.1.to_owned())),
        ),
        "gdb" | "lldb" | "radare2" | "r2" => debugger(args, &mut found),
        "sqlite3" | "sqlite" | "psql" | "mysql" | "mariadb" | "duckdb" | "ftp" | "mail"
        | "mailx" | "bc" => client(command, &mut found),
        "dc" => found.extend(
            args.iter()
                .filter_map(|word| Some(word.text.split_once('!')?.1.to_owned())),
        ),
        "m4" | "gnuplot" | "php" | "lua" | "luajit" | "osascript" | "octave" | "perl" | "ruby"
        | "node" | "nodejs" | "python" | "python2" | "python3" | "tclsh" | "expect" => {
            called_strings(args, &mut found);
        }
        "ssh" | "scp" | "sftp" | "ssh-keyscan" => ssh_options(args, &mut found),
        "git" => git(args, &mut found),
        "make" | "gmake" => make(args, &mut found),
        "socat" | "socat1" => found.extend(args.iter().filter_map(|word| {
            let lower = word.text.to_ascii_lowercase();
            let at = ["exec:", "system:", "shell:"]
                .iter()
                .find_map(|kind| lower.find(kind).map(|at| at + kind.len()));
            at.and_then(|at| word.text.get(at..))
                .map(|text| text.split(',').next().unwrap_or_default().to_owned())
        })),
        "mapfile" | "readarray" => found.extend(option(args, "-C", 2)),
        "complete" | "compgen" => {
            found.extend(option(args, "-C", 2));
            found.extend(option(args, "-F", 2));
        }
        "bind" => found.extend(option(args, "-x", 2).map(|text| {
            text.split_once(':').map_or(text.clone(), |(_, command)| {
                command.trim_matches([' ', '"']).to_owned()
            })
        })),
        // Subscripts are computed, and computing runs substitutions.
        "printf" if args.first().is_none_or(|word| word.text != "-v") => {}
        "test" | "[" | "let" | "printf" | "read" | "unset" | "declare" | "typeset" | "local"
        | "readonly" | "export" | "wait" => {
            for word in args.iter().filter(|word| word.text.contains('[')) {
                substitutions(&word.text, &mut found);
            }
        }
        "expr" | "echo" | "cat" | "ls" => {}
        name => {
            for (tools, name_of_option, fewest) in COMMAND_OPTIONS {
                if is_one_of(name, tools) {
                    found.extend(option(args, name_of_option, *fewest));
                }
            }
        }
    }
    found.retain(|text| !text.trim().is_empty());
    found
}

/// The values of an option: the next word, or what is joined to it.
fn option(args: &[Word], option: &str, fewest: usize) -> Option<String> {
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if option.starts_with("--") {
            if text.starts_with("--") && is_long(text, option, fewest) {
                return match text.split_once('=') {
                    Some((_, value)) => Some(value.to_owned()),
                    None => args.get(at + 1).map(|word| word.text.clone()),
                };
            }
        } else if let Some(rest) = text.strip_prefix(option) {
            return match rest.strip_prefix('=').unwrap_or(rest) {
                "" => args.get(at + 1).map(|word| word.text.clone()),
                joined => Some(joined.to_owned()),
            };
        }
    }
    None
}

fn substitutions(text: &str, found: &mut Vec<String>) {
    for inner in heredoc::substitutions(text) {
        let (Substitution::Dollar(inner) | Substitution::Backtick(inner)) = inner;
        found.push(inner);
    }
}

/// Strings that code of another language gives to a shell: those right behind a call that runs them,
/// and those in backticks.
fn called_strings(args: &[Word], found: &mut Vec<String>) {
    const CALLS: [&str; 7] = [
        "system", "exec", "popen", "spawn", "shell", "syscmd", "Sync",
    ];
    for word in args {
        let text = word.text.as_str();
        for call in CALLS {
            for (at, _) in text.match_indices(call) {
                let behind = text.get(at + call.len()..).unwrap_or_default();
                let Some(quote) = behind.find(['"', '\'', '`']).filter(|at| *at <= 9) else {
                    continue;
                };
                let mut strings_behind = Vec::new();
                strings(behind.get(quote..).unwrap_or_default(), &mut strings_behind);
                found.extend(strings_behind.into_iter().next());
            }
        }
        found.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
    }
}

/// The contents of quotes of any kind.
fn strings(text: &str, found: &mut Vec<String>) {
    let mut chars = text.chars();
    while let Some(open) = chars.next() {
        if !matches!(open, '"' | '\'' | '`') {
            continue;
        }
        let mut inside = String::new();
        while let Some(c) = chars.next() {
            match c {
                _ if c == open => break,
                '\\' => inside.extend(chars.next()),
                c => inside.push(c),
            }
        }
        found.push(inside);
    }
}

/// `system("…")`, `print | "…"` and `"…" | getline`.
fn awk(args: &[Word], found: &mut Vec<String>) {
    for word in args {
        let text = word.text.as_str();
        if text.contains("system") || text.contains("getline") || text.contains('|') {
            strings(text, found);
        }
    }
}

/// `vim -c ':!…'`, `vim +'!…'`, `ex -sc '!…'`.
fn editor(args: &[Word], found: &mut Vec<String>) {
    for word in args {
        let text = word.text.trim_start_matches(['+', ':', ' ']);
        if let Some((before, command)) = text.split_once('!')
            && before.len() <= 16
        {
            found.push(command.to_owned());
        } else if text.contains("system(") || text.contains("term") {
            strings(text, found);
        }
    }
}

/// `gdb -ex 'shell …'`, `lldb -o 'platform shell …'`.
fn debugger(args: &[Word], found: &mut Vec<String>) {
    for word in args {
        let text = word.text.trim_start_matches("--eval-command=").trim();
        for prefix in ["shell ", "!", "platform shell ", "make ", "pipe "] {
            if let Some(command) = text.strip_prefix(prefix) {
                found.push(command.to_owned());
            }
        }
        if text.starts_with("python") || text.starts_with("script") {
            strings(text, found);
        }
    }
}

/// `.shell …` of sqlite, `\! …` of psql and mysql, `!…` of ftp and mail.
fn client(command: &Command, found: &mut Vec<String>) {
    let given = command.texts().flat_map(str::lines);
    let stdin = command
        .stdin
        .iter()
        .flat_map(|stdin| stdin.word.text.lines());
    for line in given.chain(stdin) {
        found.extend(escape_of_client(line).map(str::to_owned));
    }
}

/// The command that a line of a database client gives to the shell.
pub fn escape_of_client(line: &str) -> Option<&str> {
    let line = line
        .trim_start_matches("-e")
        .trim_start_matches("--execute=")
        .trim();
    let prefixes = [
        ".shell ",
        ".system ",
        "\\! ",
        "\\!",
        "system ",
        "!",
        ".once |",
        ".output |",
        "\\o |",
        "\\g |",
        "tee |",
        "pager ",
    ];
    let shortened = line.starts_with(".sh") || line.starts_with(".sys");
    let shortened = shortened.then(|| line.split_once(' ').map(|(_, command)| command));
    let shortened = shortened.flatten();
    shortened.or_else(|| prefixes.iter().find_map(|prefix| line.strip_prefix(prefix)))
}

fn ssh_options(args: &[Word], found: &mut Vec<String>) {
    for (at, word) in args.iter().enumerate() {
        let value = match word.text.strip_prefix("-o") {
            Some("") => args.get(at + 1).map(|word| word.text.as_str()),
            other => other,
        };
        let Some((name, command)) = value.and_then(|value| value.split_once(['=', ' '])) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        if is_one_of(
            &name,
            "proxycommand localcommand knownhostscommand pkcs11provider securitykeyprovider",
        ) {
            found.push(command.to_owned());
        }
    }
    if let Some(command) = option(args, "-S", 2) {
        found.push(command);
    }
}

fn git(args: &[Word], found: &mut Vec<String>) {
    let rest = crate::wrapper::behind_options(
        args,
        "-C -c --git-dir --work-tree --namespace --config-env",
        0,
    );
    // A transport that is a command: `git clone 'ext::sh -c …'`.
    for word in rest {
        if let Some(command) = word.text.strip_prefix("ext::") {
            found.push(command.to_owned());
        }
    }
    let Some((verb, args)) = rest.split_first() else {
        return;
    };
    if verb.text == "submodule"
        && let Some(at) = args.iter().position(|word| word.text == "foreach")
    {
        let words = crate::wrapper::behind_options(args.get(at + 1..).unwrap_or_default(), "", 0);
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        found.push(texts.join(" "));
    }
    for (verbs, name_of_option, fewest) in GIT_OPTIONS {
        if is_one_of(&verb.text, verbs) {
            found.extend(option(args, name_of_option, *fewest));
        }
    }
}

/// `make --eval='$(shell …)'`, `make SHELL=…`, `make VAR='$(shell …)'`.
fn make(args: &[Word], found: &mut Vec<String>) {
    for word in args {
        let mut rest = word.text.as_str();
        while let Some((_, behind)) = rest.split_once("$(shell ") {
            let end = behind.rfind(')').unwrap_or(behind.len());
            found.extend(behind.get(..end).map(str::to_owned));
            rest = behind;
        }
        if let Some(shell) = word.text.strip_prefix("SHELL=") {
            found.push(shell.to_owned());
        }
        if let Some((_, recipe)) = word.text.split_once(":;") {
            found.push(recipe.to_owned());
        }
    }
}
