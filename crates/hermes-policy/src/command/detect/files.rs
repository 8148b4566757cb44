//! Deleting, opening up and overwriting files and disks.

use super::super::keys::{self, Key};
use super::super::paths::{
    Sensitive, is_irreplaceable, is_system_directory, may_be_block_device, sensitivity,
};
use super::{Call, Keys, has_letter, short_letters};
use hermes_shell::programs::{Interpreter, interpreter};
use hermes_shell::{Via, Word, basename, file_operands, is_long};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    redirections(call, keys);
    match call.name() {
        "rm" | "unlink" | "grm" => delete(call, keys),
        "rmdir" => {
            let root = |word: &Word| word.text.trim_matches('/').split('/').count() == 1;
            let mut files = file_operands(call.command.args());
            if files.any(|word| word.text.starts_with('/') && root(word)) {
                keys.push(keys::DELETE_IN_ROOT);
            }
        }
        "shred" | "srm" | "scrub" | "wipe" => keys.push(keys::SHRED),
        "find" | "gfind" if call.texts().contains(&"-delete") => keys.push(keys::FIND_DELETE),
        "chmod" | "gchmod" => permissions(call, keys),
        "chown" | "gchown" => owner(call, keys),
        "chgrp" | "setfacl" | "chattr" | "chflags" | "chcon" => root_mode(call, keys),
        "setcap" => keys.push(keys::SETUID),
        "tar" | "gtar" | "zip" | "trash" | "trash-put" | "rmtrash" | "gio" if moves_away(call) => {
            let homes = &call.paths.homes;
            let mut files = file_operands(call.command.args());
            if files.any(|word| is_irreplaceable(call.command, word, homes)) {
                keys.push(keys::DELETE_IN_ROOT);
            }
        }
        "dd" => disk_copy(call, keys),
        "mke2fs" => keys.push(keys::FORMAT),
        "wipefs" if wipes_all(call.texts()) => keys.push(keys::FORMAT),
        name if name == "mkfs" || name.starts_with("mkfs.") => keys.push(keys::FORMAT),
        "tee" => tee(call, keys),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "gcp" | "gmv" => copy(call, keys),
        "sed" | "gsed" => sed(call, keys),
        name => {
            if matches!(
                interpreter(name),
                Some(Interpreter::Perl | Interpreter::Ruby)
            ) {
                edit_by_script(call, keys);
            }
        }
    }
}

/// Whether a program takes files from where they are, into an archive or the trash.
fn moves_away(call: &Call<'_>) -> bool {
    let texts = call.texts();
    match call.name() {
        "tar" | "gtar" => texts.iter().any(|text| is_long(text, "--remove-files", 5)),
        "zip" => has_letter(texts, 'm') || texts.iter().any(|text| is_long(text, "--move", 4)),
        "gio" => matches!(texts.first(), Some(&("trash" | "remove"))),
        _ => true,
    }
}

fn wipes_all(texts: &[&str]) -> bool {
    has_letter(texts, 'a') || texts.iter().any(|text| is_long(text, "--all", 3))
}

/// Recursive changes of modes and owners of what the machine or the user cannot do without.
fn root_mode(call: &Call<'_>, keys: &mut Keys) {
    let texts = call.texts();
    let recursive =
        has_letter(texts, 'R') || texts.iter().any(|text| is_long(text, "--recursive", 5));
    let homes = &call.paths.homes;
    let mut files = file_operands(call.command.args());
    if recursive && files.any(|word| is_irreplaceable(call.command, word, homes)) {
        keys.push(keys::ROOT_MODE);
    }
}

fn redirections(call: &Call<'_>, keys: &mut Keys) {
    let by = [
        keys::SYSTEM_CONFIG,
        keys::SYSTEM_REDIRECT,
        keys::SYSTEM_REDIRECT,
        keys::PROJECT_REDIRECT,
    ];
    for redirect in call.command.redirects.iter().filter(|r| r.writes) {
        overwritten(call, &redirect.target, &by, keys);
    }
}

/// Adds the keys for overwriting a file: what it means for something of the system, the user, Hermes
/// or a project, in this order, as far as it means anything.
pub(super) fn overwritten(call: &Call<'_>, file: &Word, by: &[Key], keys: &mut Keys) {
    let homes = &call.paths.homes;
    if may_be_block_device(call.command, file, homes) {
        keys.push(keys::BLOCK_DEVICE);
    }
    let sensitive = sensitivity(call.command, file, homes);
    keys.extend(sensitive.and_then(|kind| by.get(kind as usize)));
}

fn delete(call: &Call<'_>, keys: &mut Keys) {
    if is_own_temp_script(call) {
        return;
    }
    let args = call.command.args();
    if file_operands(args).any(|word| word.text.starts_with('/')) {
        keys.push(keys::DELETE_IN_ROOT);
    }
    let homes = &call.paths.homes;
    let is_precious = |word: &Word| {
        let kind = sensitivity(call.command, word, homes);
        matches!(kind, Some(Sensitive::User | Sensitive::Hermes))
    };
    if file_operands(args).any(is_precious) {
        keys.push(keys::DELETE_SENSITIVE);
    }
    let texts = call.texts();
    if has_letter(texts, 'r') || has_letter(texts, 'R') {
        keys.push(keys::RECURSIVE_DELETE);
    } else if texts
        .iter()
        .take_while(|text| **text != "--")
        .any(|text| is_long(text, "--recursive", 3))
    {
        keys.push(keys::RECURSIVE_DELETE_LONG);
    }
    match call.command.carrier {
        Some((_, Via::Xargs)) => keys.push(keys::XARGS_RM),
        Some((_, Via::FindExec)) => keys.push(keys::FIND_EXEC_RM),
        _ => {}
    }
}

/// `rm -f` of one script that Hermes itself put directly into a directory for temporary files.
fn is_own_temp_script(call: &Call<'_>) -> bool {
    let [flag, file] = call.command.args() else {
        return false;
    };
    if flag.text != "-f" || file.dynamic || file.glob || call.command.carrier.is_some() {
        return false;
    }
    call.paths.temp_dirs.iter().any(|dir| {
        file.text
            .strip_prefix(dir.trim_end_matches('/'))
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|name| {
                !name.contains('/')
                    && (name.starts_with("hermes-verify-") || name.starts_with("hermes-ad-hoc-"))
            })
    })
}

fn permissions(call: &Call<'_>, keys: &mut Keys) {
    root_mode(call, keys);
    let texts = call.texts();
    if texts.iter().any(|text| sets_identity(text)) {
        keys.push(keys::SETUID);
    }
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

/// Whether a mode lets a program run as its owner, `u+s` or `4755`.
fn sets_identity(mode: &str) -> bool {
    if mode.len() >= 4 && mode.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        let special = mode
            .as_bytes()
            .get(mode.len() - 4)
            .map_or(0, |digit| digit & 6);
        return special != 0;
    }
    mode.split(',').any(|clause| {
        clause.split_once(['+', '=']).is_some_and(|(who, what)| {
            who.chars().all(|c| "ugoa".contains(c))
                && what.chars().all(|c| "rwxXst".contains(c))
                && what.contains('s')
        })
    })
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
        // Without a name it is everybody, less what the mask takes away.
        who.chars().all(|c| matches!(c, 'u' | 'g' | 'o' | 'a'))
            && (who.is_empty() || who.contains(['o', 'a']))
            && what.chars().skip(1).all(|c| "rwxXst".contains(c))
            && what.contains('w')
    })
}

fn owner(call: &Call<'_>, keys: &mut Keys) {
    root_mode(call, keys);
    let to_root = file_operands(call.command.args())
        .next()
        .is_some_and(|owner| {
            let user = owner.text.split([':', '.']).next().unwrap_or_default();
            matches!(user, "root" | "0")
        });
    let texts = call.texts();
    if to_root && has_letter(texts, 'R') {
        keys.push(keys::CHOWN_ROOT);
    } else if to_root && texts.iter().any(|text| is_long(text, "--recursive", 4)) {
        keys.push(keys::CHOWN_ROOT_LONG);
    }
}

fn disk_copy(call: &Call<'_>, keys: &mut Keys) {
    for text in call.command.texts() {
        if text.starts_with("if=") {
            keys.push(keys::DISK_COPY);
        }
        if let Some(target) = text.strip_prefix("of=") {
            let by = [
                keys::SYSTEM_CONFIG,
                keys::SYSTEM_CONFIG,
                keys::SYSTEM_CONFIG,
            ];
            overwritten(call, &Word::constant(target), &by, keys);
        }
    }
}

fn tee(call: &Call<'_>, keys: &mut Keys) {
    let system = keys::SYSTEM_TEE;
    for file in file_operands(call.command.args()) {
        overwritten(
            call,
            file,
            &[system, system, system, keys::PROJECT_TEE],
            keys,
        );
    }
}

/// Only the destination counts: reading `/etc/hosts` hurts nobody.
fn copy(call: &Call<'_>, keys: &mut Keys) {
    let args = call.command.args();
    let mut destination = None;
    for (at, word) in args.iter().enumerate() {
        if word.text == "-t" || is_long(&word.text, "--target-directory", 3) {
            destination = match word.text.split_once('=') {
                Some((_, value)) => Some(Word::constant(value)),
                None => args.get(at + 1).cloned(),
            };
        }
    }
    let files: Vec<&Word> = file_operands(args).collect();
    let (destination, sources) = match (destination, files.split_last()) {
        (Some(directory), _) => (directory, files.as_slice()),
        (None, Some((last, sources))) if !sources.is_empty() => ((*last).clone(), sources),
        _ => return,
    };
    let homes = &call.paths.homes;
    let moves = matches!(call.name(), "mv" | "gmv");
    if moves
        && sources.iter().any(|word| {
            is_irreplaceable(call.command, word, homes)
                || is_system_directory(call.command, word, homes)
        })
    {
        keys.push(keys::MOVE_ROOT);
    }
    let mirrors = call.name() == "rsync"
        && args.iter().any(|word| word.text.starts_with("--del"))
        && is_irreplaceable(call.command, &destination, homes);
    if mirrors {
        keys.push(keys::SYNC_DELETE);
    }
    let by = [
        keys::COPY_TO_SYSTEM,
        keys::COPY_TO_SENSITIVE,
        keys::PROJECT_COPY,
        keys::PROJECT_COPY,
    ];
    overwritten(call, &destination, &by, keys);
    // Into a directory: each keeps its name there.
    for source in sources {
        let name = basename(&source.text);
        let text = format!("{}/{name}", destination.text.trim_end_matches('/'));
        let inside = Word {
            text,
            ..destination.clone()
        };
        let is_project = matches!(
            sensitivity(call.command, &inside, homes),
            Some(Sensitive::Project)
        );
        if !is_project {
            overwritten(call, &inside, &by, keys);
        }
    }
}

/// Whether `-i` is given; letters behind one that takes a value are that value.
fn edits_in_place(args: &[Word], with_value: &[char]) -> bool {
    let mut clusters = args.iter().filter_map(|word| short_letters(&word.text));
    clusters.any(|letters| {
        let flags = letters.split(with_value).next();
        flags.is_some_and(|flags| flags.contains('i'))
    })
}

fn sed(call: &Call<'_>, keys: &mut Keys) {
    let args = call.command.args();
    let short = edits_in_place(args, &['e', 'f', 'l', 's']);
    let long = args.iter().any(|word| is_long(&word.text, "--in-place", 3));
    if !short && !long {
        return;
    }
    let script_given = args.iter().any(|word| {
        short_letters(&word.text).is_some_and(|letters| letters.contains(['e', 'f']))
            || is_long(&word.text, "--expression", 3)
            || is_long(&word.text, "--file", 4)
    });
    let by = if short {
        [keys::EDIT_SYSTEM, keys::EDIT_SENSITIVE, keys::EDIT_HERMES]
    } else {
        [
            keys::EDIT_SYSTEM_LONG,
            keys::EDIT_SENSITIVE_LONG,
            keys::EDIT_HERMES_LONG,
        ]
    };
    for file in file_operands(args).skip(usize::from(!script_given)) {
        overwritten(call, file, &by, keys);
    }
}

/// `perl -i` and `ruby -i`.
fn edit_by_script(call: &Call<'_>, keys: &mut Keys) {
    let args = call.command.args();
    let options = args.split(|word| word.text == "--").next();
    if !edits_in_place(options.unwrap_or_default(), &['e', 'E', 'I', 'M', 'm']) {
        return;
    }
    let by = [
        keys::EDIT_SYSTEM,
        keys::EDIT_SENSITIVE_PERL,
        keys::EDIT_HERMES_PERL,
    ];
    for file in file_operands(args) {
        overwritten(call, file, &by, keys);
    }
}
