//! Whether a command line may overwrite or remove files, so that a snapshot is due before it.
//!
//! A false alarm costs a look over the directory, a miss costs the way back: what cannot be read
//! counts as destructive.

use hermes_shell::{Analysis, Command};

/// Programs that overwrite, move or remove what is there.
const PROGRAMS: [&str; 15] = [
    "rm", "rmdir", "unlink", "cp", "install", "mv", "ln", "truncate", "dd", "shred", "tee",
    "rsync", "patch", "tar", "unzip",
];
/// Commands of git that change files of the work tree.
const GIT: [&str; 13] = [
    "reset",
    "clean",
    "checkout",
    "restore",
    "switch",
    "stash",
    "rebase",
    "merge",
    "pull",
    "revert",
    "cherry-pick",
    "apply",
    "rm",
];
/// Files that nothing is lost in.
const SINKS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Whether a command line may overwrite or remove files.
pub fn is_destructive(line: &str) -> bool {
    let analysis = Analysis::of(line);
    let script = &analysis.script;
    analysis.too_long
        || script.unread
        || script.commands.iter().any(|command| {
            is_destructive_command(command) || command.redirects.iter().any(overwrites)
        })
}

fn is_destructive_command(command: &Command) -> bool {
    let name = command.name();
    match name {
        "sed" | "perl" | "ruby" => command.texts().any(edits_in_place),
        "git" => command.texts().any(|word| GIT.contains(&word)),
        "find" => command.texts().any(|word| word == "-delete"),
        _ => PROGRAMS.contains(&name),
    }
}

/// Whether an option makes an editor of streams change its files: `-i`, `-i.bak`, `-pi`, `--in-place`.
fn edits_in_place(word: &str) -> bool {
    match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-in-place"),
        Some(short) => short
            .split(|letter: char| !letter.is_ascii_alphabetic())
            .next()
            .is_some_and(|letters| letters.contains('i')),
        None => false,
    }
}

fn overwrites(redirect: &hermes_shell::Redirect) -> bool {
    let target = redirect.target.text.as_str();
    let is_descriptor = target
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    redirect.writes && !is_descriptor && !SINKS.contains(&target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reference_finds_destructive_is_found() {
        for line in [
            "rm -rf build",
            "rmdir x",
            "cp a b",
            "install -m 755 a b",
            "mv a b",
            "sed -i s/a/b/ x",
            "sed -i.bak s/a/b/ x",
            "sed --in-place=.bak s/a/b/ x",
            "truncate -s 0 x",
            "dd if=/dev/zero of=x",
            "shred x",
            "git reset --hard",
            "git -C sub clean -fd",
            "git checkout -- .",
            "echo x > file",
            "cd src && rm x",
            "make || rm x",
            "true; mv a b",
            "sudo rm x",
            "find . -name '*.o' | xargs rm",
            "find . -delete",
            "bash -c 'rm x'",
            "echo `rm x`",
            "perl -pi -e s/a/b/ x",
            "sort x | tee x",
        ] {
            assert!(is_destructive(line), "{line}");
        }
    }

    #[test]
    fn reading_and_discarded_output_are_not() {
        for line in [
            "",
            "ls -la",
            "cat x 2>/dev/null",
            "make >/dev/null 2>&1",
            "git status",
            "git log -n 3",
            "sed -n 3p x",
            "grep -r 'rm ' src",
            "echo rm x",
            "cargo test",
        ] {
            assert!(!is_destructive(line), "{line}");
        }
    }
}
