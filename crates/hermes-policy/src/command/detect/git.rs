//! Git commands that lose work.

use super::super::keys;
use super::{Call, Keys, has_letter, is_long};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    if call.name() != "git" {
        return;
    }
    let texts = call.texts();
    let mut takes_value = false;
    let verb = texts.iter().position(|text| {
        let value = std::mem::take(&mut takes_value);
        takes_value = matches!(
            *text,
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace"
        );
        !value && !text.starts_with('-')
    });
    let Some(at) = verb else { return };
    let args = texts.get(at + 1..).unwrap_or_default();
    let options: Vec<&str> = args
        .iter()
        .copied()
        .take_while(|text| *text != "--")
        .collect();
    match texts.get(at) {
        Some(&"reset") if options.iter().any(|text| is_long(text, "--hard", 4)) => {
            keys.push(keys::GIT_RESET);
        }
        Some(&"push") => {
            let long = options.iter().any(|text| text.starts_with("--forc"));
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
        Some(&"clean")
            if has_letter(&options, 'f')
                || options.iter().any(|text| is_long(text, "--force", 4)) =>
        {
            keys.push(keys::GIT_CLEAN);
        }
        Some(&"branch") => branch(&options, keys),
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
            .position(|text| has_letter(&[text], letter) || is_long(text, long, 4))
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
