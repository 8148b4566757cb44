//! Commands that run another command given by their own words: which words those are.

use super::model::{Reach, Via, Word, basename, is_one_of};

/// A command found in the words of another.
pub(super) struct Carried {
    pub(super) words: Vec<Word>,
    pub(super) via: Via,
    pub(super) reach: Reach,
}

/// Commands that run the command behind their options: their names, their options that take a word, and
/// how many words stand between the options and the command.
type Wrapper = (&'static str, &'static str, usize);

/// Options of `sudo` that take a word.
pub(crate) const SUDO_VALUES: &str = "-u -g -h -p -C -r -t -T -U -D -R -a -c \
    --user --group --host --prompt --close-from --role --type --command-timeout --other-user --chdir --chroot";

/// Words the grammar leaves in front of a command are here too (`then`, `coproc`, `!`).
const WRAPPERS: &[Wrapper] = &[
    ("sudo", SUDO_VALUES, 0),
    ("doas", "-u -C -a", 0),
    ("pkexec", "--user", 0),
    ("env", "-u -C --unset --chdir", 0),
    ("time gtime", "-f -o --format --output", 0),
    ("exec", "-a", 0),
    ("nice", "-n --adjustment", 0),
    ("ionice", "-c -n -p --class --classdata", 0),
    ("timeout gtimeout", "-s -k --signal --kill-after", 1),
    ("stdbuf", "-i -o -e --input --output --error", 0),
    ("chrt", "-T -P -D", 1),
    ("taskset", "", 1),
    ("strace", "-e -o -p -s -u -E -P -a", 0),
    ("ltrace", "-e -o -p -s -u", 0),
    ("unshare", "-S -G -R -w", 0),
    ("nsenter", "-t -S -G", 0),
    ("systemd-run", "-u -p -E -t --unit --property --setenv", 0),
    ("xvfb-run", "-e -f -n -p -s -w", 0),
    ("npx", "-p --package", 0),
    (
        "command builtin nohup setsid setpriv prlimit fakeroot",
        "",
        0,
    ),
    ("caffeinate unbuffer rlwrap eatmydata torsocks", "", 0),
    ("proxychains proxychains4 dbus-run-session bunx", "", 0),
    ("busybox toybox", "", 0),
    ("then do else elif if while until ! {", "", 0),
];

/// `tool verb command…`
const RUNNERS: &[(&str, &str)] = &[
    ("uv poetry pipenv pdm hatch rye", "run"),
    ("pnpm yarn", "exec dlx"),
    ("npm bundle", "exec"),
    ("mise", "exec x"),
];

/// Commands carried by the words of this one.
pub(super) fn carried(words: &[Word]) -> Vec<Carried> {
    let Some((first, args)) = words.split_first() else {
        return Vec::new();
    };
    let name = basename(&first.text);
    let wrapper = WRAPPERS.iter().find(|(names, ..)| is_one_of(name, names));
    if let Some((_, with_value, positional)) = wrapper {
        return wrapped(name, behind_options(args, with_value, *positional), args);
    }
    let one = |words: &[Word], via, reach| {
        vec![Carried {
            words: words.to_vec(),
            via,
            reach,
        }]
    };
    match name {
        "coproc" => {
            let group = args.iter().position(|word| word.text == "{");
            let rest = args.get(group.map_or(0, |at| at + 1)..).unwrap_or_default();
            one(rest, Via::Wrapper, Reach::Direct)
        }
        "xargs" | "gxargs" => one(
            behind_options(args, XARGS_VALUES, 0),
            Via::Xargs,
            Reach::Payload,
        ),
        "parallel" => one(
            behind_options(args, "-j -n -N -a --jobs --max-args", 0),
            Via::Xargs,
            Reach::Payload,
        ),
        "find" | "gfind" => find_exec(args),
        "fd" | "fdfind" => fd_exec(args),
        "chroot" => one(behind_options(args, "", 1), Via::Wrapper, Reach::Container),
        "docker" | "podman" | "nerdctl" | "kubectl" => in_container(args),
        "flock" => {
            let rest = behind_options(args, "-w -E --wait --timeout", 1);
            match rest.first() {
                Some(word) if word.text.starts_with('-') => Vec::new(),
                _ => one(rest, Via::Wrapper, Reach::Payload),
            }
        }
        _ => runner(name, args),
    }
}

const XARGS_VALUES: &str = "-I -n -L -P -s -d -a -E --max-args --max-lines --max-procs --max-chars --delimiter --arg-file --replace";

fn runner(name: &str, args: &[Word]) -> Vec<Carried> {
    let Some((_, verbs)) = RUNNERS.iter().find(|(names, _)| is_one_of(name, names)) else {
        return Vec::new();
    };
    let verb = args.iter().position(|word| !word.text.starts_with('-'));
    let is_known = |at: &usize| {
        args.get(*at)
            .is_some_and(|word| is_one_of(&word.text, verbs))
    };
    let Some(at) = verb.filter(is_known) else {
        return Vec::new();
    };
    let rest = args.get(at + 1..).unwrap_or_default();
    let with_value = "--with --python -p --group --extra --env-file";
    vec![Carried {
        words: behind_options(rest, with_value, 0).to_vec(),
        via: Via::Wrapper,
        reach: Reach::Direct,
    }]
}

fn wrapped(name: &str, mut rest: &[Word], args: &[Word]) -> Vec<Carried> {
    let mut options = args
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|text| text.starts_with('-'));
    let runs_nothing = match name {
        // `command -v name` only asks where it is.
        "command" => options.any(|option| option.contains(['v', 'V'])),
        "sudo" => options.any(|option| matches!(option, "-e" | "--edit")),
        _ => false,
    };
    if runs_nothing {
        return Vec::new();
    }
    if matches!(name, "sudo" | "env" | "doas") {
        while let Some((first, more)) = rest.split_first() {
            if !is_assignment(&first.text) {
                break;
            }
            rest = more;
        }
    }
    // Applets of busybox are found, its own options are not commands.
    if rest.is_empty() {
        return Vec::new();
    }
    vec![Carried {
        words: rest.to_vec(),
        via: Via::Wrapper,
        reach: Reach::Direct,
    }]
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// What is left behind options, their values and `positional` further words. `with_value` names the
/// options that take the next word.
pub(crate) fn behind_options<'w>(
    args: &'w [Word],
    with_value: &str,
    positional: usize,
) -> &'w [Word] {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        at += 1;
        // The last letter of a cluster may take the next word: `sudo -nu root`.
        let takes_next = |option: &str| {
            option == text
                || (option.len() == 2
                    && text.len() <= 4
                    && !text.starts_with("--")
                    && text.chars().last() == option.chars().last())
        };
        at += usize::from(with_value.split(' ').any(takes_next));
    }
    args.get(at + positional..).unwrap_or_default()
}

fn find_exec(args: &[Word]) -> Vec<Carried> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let rest = args.get(at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+"))
            .unwrap_or(rest.len());
        found.push(Carried {
            words: rest.get(..end).unwrap_or_default().to_vec(),
            via: Via::FindExec,
            reach: Reach::Payload,
        });
        at += end;
    }
    found
}

fn fd_exec(args: &[Word]) -> Vec<Carried> {
    let at = args
        .iter()
        .position(|word| matches!(&*word.text, "-x" | "-X" | "--exec" | "--exec-batch"));
    at.map(|at| Carried {
        words: args.get(at + 1..).unwrap_or_default().to_vec(),
        via: Via::FindExec,
        reach: Reach::Payload,
    })
    .into_iter()
    .collect()
}

/// `docker exec NAME cmd`, `docker compose exec SERVICE cmd`, `docker run IMAGE cmd`,
/// `kubectl exec POD -- cmd`.
fn in_container(args: &[Word]) -> Vec<Carried> {
    let verb = args
        .iter()
        .take(8)
        .position(|word| matches!(word.text.as_str(), "exec" | "run"));
    let Some(at) = verb else { return Vec::new() };
    let rest = args.get(at + 1..).unwrap_or_default();
    let with_value = "-e -u -w -v -p -n -c --env --user --workdir --volume --publish --name --network --namespace --container --entrypoint --mount --env-file --platform --memory --cpus -m -l --label";
    let words = behind_options(rest, with_value, 1);
    let words = match words.split_first() {
        Some((dashes, more)) if dashes.text == "--" => more,
        _ => words,
    };
    vec![Carried {
        words: words.to_vec(),
        via: Via::Wrapper,
        reach: Reach::Container,
    }]
}
