//! Files that commands write because an option, an operand or their own script names them.

use super::super::keys;
use super::files::overwritten;
use super::{Call, Keys, has_letter};
use hermes_shell::{Word, basename, file_operands, is_long, is_one_of, sed};

/// Options that name the file to write: tools, their short and their long options.
const OPTIONS: &[(&str, &str, &str)] = &[
    (
        "curl",
        "-o -D -c",
        "--output --dump-header --cookie-jar --trace --stderr",
    ),
    (
        "wget",
        "-O -o -a",
        "--output-document --output-file --append-output --save-cookies",
    ),
    ("aria2c", "-o -l", "--out --log"),
    ("sort gsort shuf uconv iconv", "-o", "--output"),
    ("patch", "-o -r", "--output --reject-file"),
    ("gpg gpg2", "-o", "--output"),
    ("openssl", "-out -keyout", "-out"),
    ("gcc cc clang g++ rustc go ld", "-o", "--out-file"),
    ("xxd hexdump pandoc jq yq bison flex", "-o", "--output"),
    ("script strace ltrace", "-o", "--output"),
    ("time gtime", "-o", "--output"),
    ("mysqldump pg_dump", "-f -r", "--file --result-file"),
    ("ntfsclone", "-O -o", "--overwrite --output"),
    (
        "partclone.ext2 partclone.ext3 partclone.ext4 partclone.btrfs partclone.xfs partclone.ntfs \
         partclone.fat32 partclone.dd partclone.restore",
        "-o -O",
        "--output --overwrite",
    ),
    ("etcher balena-etcher", "-d", "--drive"),
];

/// Tools all of whose operands are written.
const WRITERS: &str = "truncate gtruncate sponge ed ex mkfifo mknod";

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let name = call.name();
    let args = call.command.args();
    match name {
        "sed" | "gsed" => {
            for file in sed::scripts(args)
                .iter()
                .flat_map(|script| sed::written_files(script))
            {
                written(call, &Word::constant(file), keys);
            }
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            for file in args.iter().flat_map(|word| printed_files(&word.text)) {
                written(call, &Word::constant(file), keys);
            }
        }
        "patch" => {
            if let Some(file) = file_operands(args).next() {
                written(call, file, keys);
            }
        }
        "ssh-keygen" => {
            let texts = call.texts();
            let reads = ['l', 'y', 'F', 'B', 'r', 'Q', 'Y', 'e'];
            let changes = !reads.iter().any(|&letter| has_letter(texts, letter));
            let file = args.iter().position(|word| word.text == "-f");
            let file = file.and_then(|at| args.get(at + 1));
            if let Some(file) = file.filter(|_| changes) {
                written(call, file, keys);
            }
        }
        "ssh-copy-id" => keys.push(keys::SSH_KEY),
        "tar" | "bsdtar" | "unzip" | "cpio" | "7z" | "pax" => unpacked(call, keys),
        "wget" | "curl" => fetched_by_name(call, keys),
        "ddrescue" | "dd_rescue" | "qemu-img" | "bmaptool" | "e2image" | "debugfs" => {
            if let Some(file) = imaged(call) {
                written(call, file, keys);
            }
        }
        _ if is_one_of(name, WRITERS) => {
            file_operands(args).for_each(|file| written(call, file, keys));
        }
        _ => {}
    }
    for (tools, short, long) in OPTIONS {
        if is_one_of(name, tools) {
            named_by_option(call, short, long, keys);
        }
    }
}

/// What a program for images of disks writes to: a file, or the disk itself.
fn imaged<'c>(call: &Call<'c>) -> Option<&'c Word> {
    let args = call.command.args();
    let mut operands = file_operands(args);
    match call.name() {
        // A list of what was read may follow.
        "ddrescue" | "dd_rescue" => operands.nth(1),
        "debugfs" => operands.last().filter(|_| has_letter(call.texts(), 'w')),
        "e2image" => operands.skip(1).last(),
        _ => {
            let verb = operands.next()?;
            operands
                .last()
                .filter(|_| is_one_of(&verb.text, "convert dd copy"))
        }
    }
}

fn written(call: &Call<'_>, file: &Word, keys: &mut Keys) {
    let by = [
        keys::COPY_TO_SYSTEM,
        keys::COPY_TO_SENSITIVE,
        keys::PROJECT_COPY,
        keys::PROJECT_COPY,
    ];
    overwritten(call, file, &by, keys);
}

fn named_by_option(call: &Call<'_>, short: &str, long: &str, keys: &mut Keys) {
    let args = call.command.args();
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        let value = if is_one_of(text, short) {
            args.get(at + 1).cloned()
        } else if let Some((option, value)) =
            text.split_once('=').filter(|_| text.starts_with("--"))
        {
            is_one_of(option, long).then(|| Word {
                text: value.to_owned(),
                ..word.clone()
            })
        } else if is_one_of(text, long) {
            args.get(at + 1).cloned()
        } else {
            // `-o/path`, `-sSLo path`
            let mut letters = short.split(' ').filter(|option| option.len() == 2);
            letters.find_map(|option| {
                let letter = option.chars().nth(1)?;
                let cluster = text
                    .strip_prefix('-')
                    .filter(|rest| !rest.starts_with('-'))?;
                let (before, rest) = cluster.split_once(letter)?;
                if !before.chars().all(|c| c.is_ascii_alphabetic()) {
                    return None;
                }
                if rest.is_empty() {
                    return args.get(at + 1).cloned();
                }
                rest.contains('/').then(|| Word {
                    text: rest.to_owned(),
                    ..word.clone()
                })
            })
        };
        if let Some(file) = &value {
            written(call, file, keys);
        }
    }
}

/// Downloads that keep the name they have there, into the current directory or another.
fn fetched_by_name(call: &Call<'_>, keys: &mut Keys) {
    let args = call.command.args();
    let value = |short: &str, long: &str| {
        args.iter().enumerate().find_map(|(at, word)| {
            let text = word.text.as_str();
            if text == short || text == long {
                return args.get(at + 1).map(|word| word.text.clone());
            }
            let joined = text
                .strip_prefix(long)
                .and_then(|rest| rest.strip_prefix('='));
            joined
                .or_else(|| text.strip_prefix(short))
                .map(str::to_owned)
        })
    };
    let texts = call.texts();
    let (directory, named) = if call.name() == "wget" {
        (value("-P", "--directory-prefix"), true)
    } else {
        let remote_name =
            has_letter(texts, 'O') || texts.iter().any(|text| text.starts_with("--remote-name"));
        (value("--output-dir", "--output-dir"), remote_name)
    };
    if let Some(directory) = &directory {
        written(call, &Word::constant(directory.as_str()), keys);
    }
    for url in texts.iter().filter(|text| named && text.contains("://")) {
        let name = basename(url.split(['?', '#']).next().unwrap_or_default());
        let file = match &directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_owned(),
        };
        // A project's own settings may be fetched.
        if directory.is_some() || call.command.cwd.is_some() {
            written(call, &Word::constant(file), keys);
        }
    }
}

/// Archives unpacked over the system, or where credentials are.
fn unpacked(call: &Call<'_>, keys: &mut Keys) {
    let args = call.command.args();
    let texts = call.texts();
    let (option, long, unpacks) = match call.name() {
        "unzip" => ("-d", "--directory", !has_letter(texts, 'l')),
        "7z" => (
            "-o",
            "-o",
            texts.first().is_some_and(|verb| matches!(*verb, "x" | "e")),
        ),
        "cpio" => ("-D", "--directory", has_letter(texts, 'i')),
        "pax" => ("-d", "-d", has_letter(texts, 'r')),
        _ => {
            let first = texts
                .first()
                .is_some_and(|text| !text.starts_with("--") && text.contains('x'));
            let any = has_letter(texts, 'x')
                || texts
                    .iter()
                    .any(|text| matches!(*text, "--extract" | "--get"));
            ("-C", "--directory", first || any)
        }
    };
    if !unpacks {
        return;
    }
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        let value = if text == option
            || (long.len() > 2
                && text.starts_with("--")
                && is_long(text, long, 5)
                && !text.contains('='))
        {
            args.get(at + 1).cloned()
        } else {
            let joined = text
                .strip_prefix(long)
                .and_then(|rest| rest.strip_prefix('='));
            let joined =
                joined.or_else(|| text.strip_prefix(option).filter(|rest| !rest.is_empty()));
            joined.map(|value| Word {
                text: value.to_owned(),
                ..word.clone()
            })
        };
        let Some(directory) = value else { continue };
        if super::super::paths::is_system_directory(call.command, &directory, &call.paths.homes) {
            keys.push(keys::UNPACK_ROOT);
        }
        written(call, &directory, keys);
    }
    let cluster = |text: &&str| !text.starts_with('-') && text.contains('x') && text.contains('P');
    let absolute = has_letter(texts, 'P')
        || texts.first().is_some_and(cluster)
        || texts
            .iter()
            .any(|text| text.starts_with("--absolute-names"));
    if absolute && matches!(call.name(), "tar" | "bsdtar") {
        keys.push(keys::UNPACK_ROOT);
    }
}

/// Names of files in `print > "file"`.
fn printed_files(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in program.split('>').skip(1) {
        let part = part.trim_start_matches(['>', ' ']);
        if let Some(rest) = part.strip_prefix('"')
            && let Some((file, _)) = rest.split_once('"')
        {
            found.push(file.to_owned());
        }
    }
    found
}
