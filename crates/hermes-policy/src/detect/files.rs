//! Deleting, opening up and overwriting files and disks.

use super::super::keys;
use super::super::paths::{Sensitive, is_block_device, sensitivity};
use super::super::programs::{Interpreter, interpreter};
use super::super::syntax::{Via, Word};
use super::{Keys, Place, has_letter, is_long, short_letters};

pub(super) fn rules(place: &Place<'_>, keys: &mut Keys) {
    redirections(place, keys);
    match place.name() {
        "rm" => delete(place, keys),
        "find" | "gfind" if place.texts().contains(&"-delete") => keys.push(keys::FIND_DELETE),
        "chmod" => permissions(place, keys),
        "chown" => owner(place, keys),
        "dd" => disk_copy(place, keys),
        "mke2fs" => keys.push(keys::FORMAT),
        "wipefs" if has_letter(&place.texts(), 'a') => keys.push(keys::FORMAT),
        name if name == "mkfs" || name.starts_with("mkfs.") => keys.push(keys::FORMAT),
        "tee" => tee(place, keys),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "gcp" | "gmv" => copy(place, keys),
        "sed" | "gsed" => sed(place, keys),
        name => {
            if matches!(
                interpreter(name),
                Some(Interpreter::Perl | Interpreter::Ruby)
            ) {
                edit_by_script(place, keys);
            }
        }
    }
}

fn redirections(place: &Place<'_>, keys: &mut Keys) {
    for redirect in place.command.redirects.iter().filter(|r| r.writes) {
        if is_block_device(&redirect.target, place.folding()) {
            keys.push(keys::BLOCK_DEVICE);
        }
        match sensitivity(&redirect.target, place.folding()) {
            Some(Sensitive::System) => keys.push(keys::SYSTEM_CONFIG),
            Some(Sensitive::User | Sensitive::Hermes) => keys.push(keys::SYSTEM_REDIRECT),
            Some(Sensitive::Project) => keys.push(keys::PROJECT_REDIRECT),
            None => {}
        }
    }
}

fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    let dashes = args.iter().position(|word| word.text == "--");
    args.iter().enumerate().filter_map(move |(at, word)| {
        let behind = dashes.is_some_and(|dashes| at > dashes);
        (behind || !word.text.starts_with('-') || word.text == "-").then_some(word)
    })
}

fn delete(place: &Place<'_>, keys: &mut Keys) {
    if is_own_temp_script(place) {
        return;
    }
    let args = place.command.args();
    if operands(args).any(|word| word.text.starts_with('/')) {
        keys.push(keys::DELETE_IN_ROOT);
    }
    let texts = place.texts();
    if has_letter(&texts, 'r') || has_letter(&texts, 'R') {
        keys.push(keys::RECURSIVE_DELETE);
    } else if texts
        .iter()
        .take_while(|text| **text != "--")
        .any(|text| is_long(text, "--recursive", 3))
    {
        keys.push(keys::RECURSIVE_DELETE_LONG);
    }
    match place.command.carrier {
        Some((_, Via::Xargs)) => keys.push(keys::XARGS_RM),
        Some((_, Via::FindExec)) => keys.push(keys::FIND_EXEC_RM),
        _ => {}
    }
}

/// `rm -f` of one script that Hermes itself put directly into a directory for temporary files.
fn is_own_temp_script(place: &Place<'_>) -> bool {
    let [flag, file] = place.command.args() else {
        return false;
    };
    if flag.text != "-f" || file.dynamic || file.glob || place.command.carrier.is_some() {
        return false;
    }
    place.surroundings.temp_dirs.iter().any(|dir| {
        file.text
            .strip_prefix(dir.trim_end_matches('/'))
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|name| {
                !name.contains('/')
                    && (name.starts_with("hermes-verify-") || name.starts_with("hermes-ad-hoc-"))
            })
    })
}

fn permissions(place: &Place<'_>, keys: &mut Keys) {
    let texts = place.texts();
    let opens = texts.iter().any(|text| opens_to_others(text));
    if !opens {
        return;
    }
    if texts.iter().any(|text| is_long(text, "--recursive", 5)) {
        keys.push(keys::WORLD_WRITABLE_LONG);
    } else {
        keys.push(keys::WORLD_WRITABLE);
    }
}

/// Whether a mode lets everybody write.
fn opens_to_others(mode: &str) -> bool {
    if (3..=4).contains(&mode.len()) && mode.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        return mode.bytes().last().is_some_and(|digit| digit & 2 != 0);
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=']) else {
            return false;
        };
        let (who, what) = clause.split_at(at);
        !who.is_empty()
            && who.chars().all(|c| matches!(c, 'u' | 'g' | 'o' | 'a'))
            && who.contains(['o', 'a'])
            && what.chars().skip(1).all(|c| "rwxXst".contains(c))
            && what.contains('w')
    })
}

fn owner(place: &Place<'_>, keys: &mut Keys) {
    let to_root = operands(place.command.args()).next().is_some_and(|owner| {
        let user = owner.text.split([':', '.']).next().unwrap_or_default();
        matches!(user, "root" | "0")
    });
    let texts = place.texts();
    if to_root && has_letter(&texts, 'R') {
        keys.push(keys::CHOWN_ROOT);
    } else if to_root && texts.iter().any(|text| is_long(text, "--recursive", 4)) {
        keys.push(keys::CHOWN_ROOT_LONG);
    }
}

fn disk_copy(place: &Place<'_>, keys: &mut Keys) {
    for text in place.command.texts() {
        if text.starts_with("if=") {
            keys.push(keys::DISK_COPY);
        }
        if let Some(target) = text.strip_prefix("of=") {
            let target = Word::constant(target);
            if is_block_device(&target, place.folding()) {
                keys.push(keys::BLOCK_DEVICE);
            }
            if sensitivity(&target, place.folding()) == Some(Sensitive::System) {
                keys.push(keys::SYSTEM_CONFIG);
            }
        }
    }
}

fn tee(place: &Place<'_>, keys: &mut Keys) {
    for file in operands(place.command.args()) {
        if is_block_device(file, place.folding()) {
            keys.push(keys::BLOCK_DEVICE);
        }
        match sensitivity(file, place.folding()) {
            Some(Sensitive::Project) => keys.push(keys::PROJECT_TEE),
            Some(_) => keys.push(keys::SYSTEM_TEE),
            None => {}
        }
    }
}

/// Only the destination counts: reading `/etc/hosts` hurts nobody.
fn copy(place: &Place<'_>, keys: &mut Keys) {
    let args = place.command.args();
    let mut destination = None;
    for (at, word) in args.iter().enumerate() {
        if matches!(word.text.as_str(), "-t" | "--target-directory") {
            destination = args.get(at + 1).cloned();
        } else if let Some(value) = word.text.strip_prefix("--target-directory=") {
            destination = Some(Word::constant(value));
        }
    }
    let destination = destination.or_else(|| {
        let files: Vec<&Word> = operands(args).collect();
        files
            .split_last()
            .filter(|(_, sources)| !sources.is_empty())
            .map(|(last, _)| (*last).clone())
    });
    let Some(destination) = destination else {
        return;
    };
    if is_block_device(&destination, place.folding()) {
        keys.push(keys::BLOCK_DEVICE);
    }
    match sensitivity(&destination, place.folding()) {
        Some(Sensitive::System) => keys.push(keys::COPY_TO_SYSTEM),
        Some(Sensitive::User) => keys.push(keys::COPY_TO_SENSITIVE),
        Some(Sensitive::Hermes | Sensitive::Project) => keys.push(keys::PROJECT_COPY),
        None => {}
    }
}

fn sed(place: &Place<'_>, keys: &mut Keys) {
    let args = place.command.args();
    let short = args
        .iter()
        .filter_map(|word| short_letters(&word.text))
        // Letters behind one that takes a value are that value.
        .any(|letters| {
            letters
                .split(['e', 'f', 'l', 's'])
                .next()
                .is_some_and(|l| l.contains('i'))
        });
    let long = args.iter().any(|word| is_long(&word.text, "--in-place", 4));
    if !short && !long {
        return;
    }
    let script_given = args.iter().any(|word| {
        short_letters(&word.text).is_some_and(|letters| letters.contains(['e', 'f']))
            || is_long(&word.text, "--expression", 4)
            || is_long(&word.text, "--file", 4)
    });
    for file in operands(args).skip(usize::from(!script_given)) {
        match (sensitivity(file, place.folding()), short) {
            (Some(Sensitive::System), true) => keys.push(keys::EDIT_SYSTEM),
            (Some(Sensitive::System), false) => keys.push(keys::EDIT_SYSTEM_LONG),
            (Some(Sensitive::User), true) => keys.push(keys::EDIT_SENSITIVE),
            (Some(Sensitive::User), false) => keys.push(keys::EDIT_SENSITIVE_LONG),
            (Some(Sensitive::Hermes), true) => keys.push(keys::EDIT_HERMES),
            (Some(Sensitive::Hermes), false) => keys.push(keys::EDIT_HERMES_LONG),
            (Some(Sensitive::Project) | None, _) => {}
        }
    }
}

/// `perl -i` and `ruby -i`.
fn edit_by_script(place: &Place<'_>, keys: &mut Keys) {
    let args = place.command.args();
    let in_place = args
        .iter()
        .take_while(|word| word.text != "--")
        .filter_map(|word| short_letters(&word.text))
        .any(|letters| {
            letters
                .split(['e', 'E', 'I', 'M', 'm'])
                .next()
                .is_some_and(|letters| letters.contains('i'))
        });
    if !in_place {
        return;
    }
    for file in operands(args) {
        match sensitivity(file, place.folding()) {
            Some(Sensitive::System) => keys.push(keys::EDIT_SYSTEM),
            Some(Sensitive::User) => keys.push(keys::EDIT_SENSITIVE_PERL),
            Some(Sensitive::Hermes) => keys.push(keys::EDIT_HERMES_PERL),
            Some(Sensitive::Project) | None => {}
        }
    }
}
