//! Git commands that lose work.

use super::super::keys;
use super::super::syntax::{behind_options, is_long};
use super::{Call, Keys, has_letter};

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
        _ => {}
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
