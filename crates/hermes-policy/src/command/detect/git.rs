//! Git commands that lose work.

use super::super::keys;
use super::{Call, Keys, has_letter};
use hermes_shell::programs::runs_value;
use hermes_shell::{behind_options, is_long};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    if call.name() != "git" {
        return;
    }
    let with_value = "-C -c --git-dir --work-tree --namespace";
    let words = behind_options(call.command.args(), with_value, 0);
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let Some((verb, args)) = texts.split_first() else {
        return;
    };
    let options: Vec<&str> = args
        .iter()
        .copied()
        .take_while(|text| *text != "--")
        .collect();
    match *verb {
        "reset" if options.iter().any(|text| is_long(text, "--hard", 3)) => {
            keys.push(keys::GIT_RESET);
        }
        "push" => {
            // `--force-with-lease` and `--force-if-includes` too; shorter ones are ambiguous to git.
            let long = options.iter().any(|text| text.starts_with("--for"));
            // `+branch` forces that branch.
            let refspec = args
                .iter()
                .any(|text| text.len() > 1 && text.starts_with('+'));
            let deletes = options
                .iter()
                .any(|text| matches!(*text, "--delete" | "-d" | "--mirror" | "--prune"))
                || args
                    .iter()
                    .any(|text| text.len() > 1 && text.starts_with(':'));
            if deletes {
                keys.push(keys::GIT_PUSH_DELETE);
            }
            if long || refspec {
                keys.push(keys::GIT_FORCE_PUSH);
            } else if has_letter(&options, 'f') {
                keys.push(keys::GIT_FORCE_PUSH_SHORT);
            }
        }
        "clean"
            if has_letter(&options, 'f')
                || options.iter().any(|text| is_long(text, "--force", 3)) =>
        {
            keys.push(keys::GIT_CLEAN);
        }
        "branch" => branch(&options, keys),
        "stash" if matches!(args.first(), Some(&"drop" | &"clear")) => keys.push(keys::GIT_STASH),
        "checkout" | "restore" | "switch" => discard(verb, args, keys),
        "update-ref" if has_letter(&options, 'd') => keys.push(keys::GIT_HISTORY),
        "filter-branch" | "filter-repo" => keys.push(keys::GIT_HISTORY),
        "reflog" if matches!(args.first(), Some(&"expire" | &"delete")) => {
            keys.push(keys::GIT_HISTORY);
        }
        "gc" | "prune"
            if options
                .iter()
                .any(|text| text.starts_with("--prune=now") || text.starts_with("--expire")) =>
        {
            keys.push(keys::GIT_HISTORY);
        }
        "tag" if has_letter(&options, 'd') || options.contains(&"--delete") => {
            keys.push(keys::GIT_HISTORY);
        }
        "worktree"
            if args.first() == Some(&"remove")
                && (has_letter(&options, 'f')
                    || options.iter().any(|text| is_long(text, "--force", 3))) =>
        {
            keys.push(keys::GIT_DISCARD);
        }
        "config" => setting(args, keys),
        _ => {}
    }
}

/// Everything in the work tree as it was: `checkout -f`, `checkout -- .`, `restore .`.
fn discard(verb: &str, args: &[&str], keys: &mut Keys) {
    let forced = args.iter().take_while(|text| **text != "--").any(|text| {
        has_letter(&[text], 'f')
            || is_long(text, "--force", 4)
            || is_long(text, "--discard-changes", 4)
    });
    let staged_only = args.iter().any(|text| matches!(*text, "--staged" | "-S"))
        && !args.iter().any(|text| matches!(*text, "--worktree" | "-W"));
    let everything = args
        .iter()
        .any(|text| matches!(*text, "." | "./" | ":/" | "*" | ":/*"));
    let paths = verb == "restore" || args.contains(&"--") || args.len() == 1;
    if forced || (everything && paths && !staged_only) {
        keys.push(keys::GIT_DISCARD);
    }
}

/// Settings whose value git runs, now or later.
fn setting(args: &[&str], keys: &mut Keys) {
    let mut operands = args
        .iter()
        .filter(|text| !text.starts_with('-') && !matches!(**text, "set" | "add"));
    let reads = args.iter().any(|text| {
        text.starts_with("--get")
            || text.starts_with("--unset")
            || matches!(*text, "get" | "list" | "unset" | "--list" | "-l")
    });
    let (Some(key), Some(value), false) = (operands.next(), operands.next(), reads) else {
        return;
    };
    if runs_value(&key.to_ascii_lowercase(), value) {
        keys.push(keys::GIT_SETTING);
    }
}

fn branch(options: &[&str], keys: &mut Keys) {
    if has_letter(options, 'D') {
        keys.push(keys::GIT_BRANCH_D);
        return;
    }
    let position_of = |letter: char, long: &str| {
        options
            .iter()
            .position(|text| has_letter(&[text], letter) || is_long(text, long, 3))
    };
    if let (Some(delete), Some(force)) = (position_of('d', "--delete"), position_of('f', "--force"))
    {
        keys.push(if delete <= force {
            keys::GIT_BRANCH_LONG
        } else {
            keys::GIT_BRANCH_FORCE_FIRST
        });
    }
}
