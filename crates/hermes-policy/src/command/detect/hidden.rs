//! A second look at the arguments of programs nobody knows: a wrapper that is in no list still shows
//! the command it runs.

use super::super::hardline::command_hardline;
use super::super::keys;
use super::{Call, Keys};
use hermes_shell::{Command, basename, is_one_of};

/// Programs whose arguments are data, however they look.
const PRINT_OR_SEARCH: &str = "echo printf grep egrep fgrep zgrep rg ag ack git gh glab hg svn man info apropos \
    whatis which type whereis test [ [[ true false : export declare local readonly typeset alias unalias \
    cat tac jq yq curl wget http logger notify-send say wall write mail hermes sed awk gawk cut tr read fzf \
    less more head tail expr basename dirname ls stat file wc sort uniq diff comm touch mkdir set unset \
    docker podman nerdctl kubectl ssh scp rsync cd pushd tee cp mv ln find fd locate python python3 perl ruby \
    node history fc complete compgen apt apt-get brew npm yarn pnpm pip pip3 cargo go rm rmdir chmod chown \
    strings column paste join nl sqlite3 psql mysql rustc gcc cc claude codex aider sleep date";

/// Programs whose names give them away.
const DESTRUCTIVE: &str = "rm unlink dd shred mkfs kill wipefs";

/// Words looked at.
const MAX_WORDS: usize = 64;

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let name = call.name();
    if name.is_empty() || is_one_of(name, PRINT_OR_SEARCH) {
        return;
    }
    let args = call.command.args();
    for at in 0..args.len().min(MAX_WORDS) {
        let Some(rest) = args.get(at..) else { break };
        let Some(first) = rest.first() else { break };
        let text = first.text.as_str();
        let hidden = is_destructive(text)
            && is_hardline(
                call,
                Command {
                    words: rest.to_vec(),
                    ..Command::default()
                },
            );
        let inside = text.contains(' ') && text_is_hardline(call, text);
        if hidden || inside {
            keys.push(keys::HIDDEN_COMMAND);
            return;
        }
    }
}

fn is_destructive(text: &str) -> bool {
    let name = basename(text);
    is_one_of(name, DESTRUCTIVE) || name.starts_with("mkfs.")
}

fn is_hardline(call: &Call<'_>, command: Command) -> bool {
    let located = Command {
        cwd: call.command.cwd.clone(),
        ..command
    };
    command_hardline(&located, &call.paths.homes).is_some()
}

/// A word that is a whole command line: `foo --run='rm -rf /'`.
fn text_is_hardline(call: &Call<'_>, text: &str) -> bool {
    let value = text.split_once('=').map_or(
        text,
        |(name, value)| {
            if name.contains(' ') { text } else { value }
        },
    );
    let first = value
        .trim_start()
        .split_ascii_whitespace()
        .next()
        .unwrap_or_default();
    if !is_destructive(first) {
        return false;
    }
    let words = value
        .split_ascii_whitespace()
        .map(hermes_shell::Word::constant)
        .collect();
    is_hardline(
        call,
        Command {
            words,
            ..Command::default()
        },
    )
}
