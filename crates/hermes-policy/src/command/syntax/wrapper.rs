//! Commands that run another command given by their own words: which words those are.

use super::model::{Reach, Via, Word, basename, is_long, is_one_of};

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
        let rest = behind_options(args, with_value, *positional);
        return one(wrapped(name, args, rest), Via::Wrapper, Reach::Direct);
    }
    let with_input = |words| one(words, Via::Xargs, Reach::Payload);
    match name {
        "coproc" => {
            let group = args.iter().position(|word| word.text == "{");
            let rest = args.get(group.map_or(0, |at| at + 1)..).unwrap_or_default();
            one(rest, Via::Wrapper, Reach::Direct)
        }
        "xargs" | "gxargs" => with_input(behind_options(args, XARGS_VALUES, 0)),
        "parallel" => with_input(behind_options(args, "-j -n -N -a --jobs --max-args", 0)),
        "find" | "gfind" => find_exec(args),
        "fd" | "fdfind" => one(fd_exec(args), Via::FindExec, Reach::Payload),
        "chroot" => one(behind_options(args, "", 1), Via::Wrapper, Reach::Container),
        "docker" | "podman" | "nerdctl" | "kubectl" => {
            one(in_container(args), Via::Wrapper, Reach::Container)
        }
        "flock" => {
            let rest = behind_options(args, "-w -E --wait --timeout", 1);
            // An option there is `-c`, whose text is followed as such.
            let is_command = |word: &Word| !word.text.starts_with('-');
            let rest = if rest.first().is_some_and(is_command) {
                rest
            } else {
                &[]
            };
            one(rest, Via::Wrapper, Reach::Payload)
        }
        _ => one(runner(name, args), Via::Wrapper, Reach::Direct),
    }
}

fn one(words: &[Word], via: Via, reach: Reach) -> Vec<Carried> {
    let words = words.to_vec();
    vec![Carried { words, via, reach }]
}

const XARGS_VALUES: &str = "-I -n -L -P -s -d -a -E --max-args --max-lines --max-procs --max-chars --delimiter --arg-file --replace";

fn runner<'w>(name: &str, args: &'w [Word]) -> &'w [Word] {
    let verbs = RUNNERS.iter().find(|(names, _)| is_one_of(name, names));
    let verb = args.iter().position(|word| !word.text.starts_with('-'));
    let (Some((_, verbs)), Some(at)) = (verbs, verb) else {
        return &[];
    };
    match args.get(at..) {
        Some([verb, rest @ ..]) if is_one_of(&verb.text, verbs) => {
            behind_options(rest, "--with --python -p --group --extra --env-file", 0)
        }
        _ => &[],
    }
}

fn wrapped<'w>(name: &str, args: &[Word], mut rest: &'w [Word]) -> &'w [Word] {
    let mut options = args
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|text| text.starts_with('-'));
    let runs_nothing = match name {
        // `command -v name` only asks where it is.
        "command" => options.any(|option| option.contains(['v', 'V'])),
        "sudo" => options.any(|option| option == "-e" || is_long(option, "--edit", 3)),
        _ => false,
    };
    if runs_nothing {
        return &[];
    }
    if matches!(name, "sudo" | "env" | "doas") {
        while let Some((first, more)) = rest.split_first() {
            if !is_assignment(&first.text) {
                break;
            }
            rest = more;
        }
    }
    rest
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
        // The last letter of a cluster may take the next word: `sudo -nu root`. A long option may
        // be shortened: `sudo --us root`.
        let takes_next = |option: &str| {
            option == text
                || (text.len() > 2 && text.starts_with("--") && option.starts_with(text))
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
        let words = rest.get(..end).unwrap_or_default();
        found.extend(one(words, Via::FindExec, Reach::Payload));
        at += end;
    }
    found
}

fn fd_exec(args: &[Word]) -> &[Word] {
    let is_exec = |word: &Word| is_one_of(&word.text, "-x -X --exec --exec-batch");
    let at = args.iter().position(is_exec);
    at.and_then(|at| args.get(at + 1..)).unwrap_or_default()
}

/// `docker exec NAME cmd`, `docker compose exec SERVICE cmd`, `docker run IMAGE cmd`,
/// `kubectl exec POD -- cmd`.
fn in_container(args: &[Word]) -> &[Word] {
    let verb = args
        .iter()
        .take(8)
        .position(|word| matches!(word.text.as_str(), "exec" | "run"));
    let Some(at) = verb else { return &[] };
    let rest = args.get(at + 1..).unwrap_or_default();
    let with_value = "-e -u -w -v -p -n -c --env --user --workdir --volume --publish --name --network --namespace --container --entrypoint --mount --env-file --platform --memory --cpus -m -l --label";
    let words = behind_options(rest, with_value, 1);
    match words.split_first() {
        Some((dashes, more)) if dashes.text == "--" => more,
        _ => words,
    }
}
