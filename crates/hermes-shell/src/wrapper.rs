//! Commands that run another command given by their own words: which words those are.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::model::{Reach, Via, Word, basename, is_long, is_one_of};

/// A command found in the words of another.
pub(crate) struct Carried {
    pub(crate) words: Vec<Word>,
    /// Variables it is given: `env NAME=VALUE command`.
    pub(crate) environment: Vec<(String, Word)>,
    pub(crate) via: Via,
    pub(crate) reach: Reach,
}

/// Commands that run the command behind their options: their names, their options that take a word, and
/// how many words stand between the options and the command.
type Wrapper = (&'static str, &'static str, usize);

/// Options of `sudo` that take a word.
pub const SUDO_VALUES: &str = "-u -g -h -p -C -r -t -T -U -D -R -a -c \
    --user --group --host --prompt --close-from --role --type --command-timeout --other-user --chdir --chroot";

/// Words the grammar leaves in front of a command are here too (`then`, `coproc`, `!`).
const WRAPPERS: &[Wrapper] = &[
    ("sudo", SUDO_VALUES, 0),
    ("doas", "-u -C -a", 0),
    ("pkexec", "--user", 0),
    ("runuser", "-u -g -G --user --group --supp-group", 0),
    ("gosu su-exec", "", 1),
    ("sg", "", 1),
    ("env genv", "-u -C --unset --chdir", 0),
    ("time gtime", "-f -o --format --output", 0),
    ("exec", "-a", 0),
    ("nice gnice", "-n --adjustment", 0),
    ("ionice", "-c -n -p --class --classdata", 0),
    ("timeout gtimeout", "-s -k --signal --kill-after", 1),
    ("stdbuf gstdbuf", "-i -o -e --input --output --error", 0),
    ("chrt", "-T -P -D", 1),
    ("taskset", "", 1),
    (
        "numactl",
        "-i -m -N -C -p --interleave --membind --cpunodebind --physcpubind",
        0,
    ),
    (
        "setpriv",
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile --landlock-access --landlock-rule",
        0,
    ),
    ("setarch", "-p", 1),
    (
        "linux32 linux64 i386 i486 i586 i686 x86_64 uname26 aarch64 arm64 ppc ppc64 s390 s390x",
        "-p",
        0,
    ),
    ("strace", "-e -o -p -s -u -E -P -a -S -I -O -b -X", 0),
    ("ltrace", "-e -o -p -s -u -a -F -l -n -x", 0),
    ("perf", "-e -o -F -C -p --event --output", 1),
    ("valgrind", "", 0),
    ("gdbserver rr", "", 1),
    (
        "unshare",
        "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --map-users --map-groups",
        0,
    ),
    ("nsenter", "-t -S -G --target --setuid --setgid", 0),
    (
        "systemd-run",
        "-u -p -E -t -H -M --unit --property --setenv --slice --description --working-directory --uid --gid --machine --on-active --on-calendar",
        0,
    ),
    ("systemd-inhibit", "--what --who --why --mode", 0),
    ("xvfb-run", "-e -f -n -p -s -w", 0),
    ("npx", "-p --package", 0),
    ("cpulimit", "-l -p -e --limit --pid --exe", 0),
    ("faketime", "-f", 1),
    ("sshpass", "-p -f -d -P", 0),
    ("entr", "", 0),
    (
        "watchexec",
        "-w -e -f -i -s -d --watch --exts --filter --ignore --signal --debounce",
        0,
    ),
    ("direnv", "", 2),
    ("dotenv", "-f -e --file", 0),
    ("firejail proot fakechroot", "-r -b -w -q -R", 0),
    ("bwrap", "", 0),
    ("ssh-agent dbus-launch aa-exec runcon", "-p -t -a", 0),
    ("nohup setsid", "", 0),
    ("command builtin prlimit fakeroot chronic ifne ts", "", 0),
    (
        "caffeinate unbuffer rlwrap eatmydata torsocks torify tsocks",
        "",
        0,
    ),
    (
        "proxychains proxychains4 dbus-run-session bunx uvx pipx",
        "",
        0,
    ),
    (
        "catchsegv doas.sh winpty wine nocache ccache sccache distcc",
        "",
        0,
    ),
    ("busybox toybox", "", 0),
    ("then do else elif if while until ! {", "", 0),
];

/// The same by each name.
static WRAPPER_BY_NAME: LazyLock<HashMap<&str, &Wrapper>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for wrapper in WRAPPERS {
        for name in wrapper.0.split(' ') {
            by_name.entry(name).or_insert(wrapper);
        }
    }
    by_name
});

/// `tool verb command…`
const RUNNERS: &[(&str, &str)] = &[
    (
        "uv poetry pipenv pdm hatch rye conda mamba micromamba doppler",
        "run",
    ),
    ("pnpm yarn", "exec dlx"),
    ("npm bundle asdf rbenv pyenv nodenv hermes", "exec"),
    ("mise", "exec x"),
    ("op infisical", "run"),
];

/// Commands carried by the words of this one.
pub(crate) fn carried(words: &[Word]) -> Vec<Carried> {
    let Some((first, args)) = words.split_first() else {
        return Vec::new();
    };
    let name = basename(&first.text);
    if let Some((_, with_value, positional)) = WRAPPER_BY_NAME.get(name) {
        let rest = behind_options(args, with_value, *positional);
        return wrapped(name, args, rest);
    }
    // The loader runs the program it is given.
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so") {
        let rest = behind_options(args, "--library-path --preload --audit --argv0", 0);
        return one(rest, Via::Wrapper, Reach::Direct);
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
        // Another root is another machine, unless it is this one.
        "chroot" => {
            let rest = behind_options(args, "", 0);
            let own = rest
                .first()
                .is_some_and(|root| root.text.trim_matches(['/', '.']).is_empty());
            let reach = if own { Reach::Direct } else { Reach::Container };
            one(rest.get(1..).unwrap_or_default(), Via::Wrapper, reach)
        }
        "start-stop-daemon" => one(&daemon(args), Via::Wrapper, Reach::Direct),
        "gdb" | "lldb" => {
            let at = args
                .iter()
                .position(|word| matches!(word.text.as_str(), "--args" | "-args" | "--"));
            let rest = at.and_then(|at| args.get(at + 1..)).unwrap_or_default();
            one(rest, Via::Wrapper, Reach::Direct)
        }
        // Terminals and their multiplexers: `xterm -e cmd`, `screen -dm cmd`, `tmux new -d cmd`.
        "xterm" | "gnome-terminal" | "konsole" | "alacritty" | "kitty" | "urxvt" | "st" => {
            let at = args
                .iter()
                .position(|word| matches!(word.text.as_str(), "-e" | "-x" | "--"));
            let rest = at.and_then(|at| args.get(at + 1..)).unwrap_or_default();
            one(rest, Via::Wrapper, Reach::Direct)
        }
        "screen" => one(
            behind_options(args, "-S -c -e -h -p -s -t -T", 0),
            Via::Wrapper,
            Reach::Direct,
        ),
        // `ip netns exec NAME cmd`, `lxc exec NAME -- cmd`
        "ip" | "lxc" | "incus" => {
            let at = args.iter().position(|word| word.text == "exec");
            let rest = at.and_then(|at| args.get(at + 2..)).unwrap_or_default();
            let reach = if name == "ip" {
                Reach::Direct
            } else {
                Reach::Container
            };
            one(behind_options(rest, "", 0), Via::Wrapper, reach)
        }
        "cmake" => match args {
            [option, verb, rest @ ..] if option.text == "-E" => {
                let verb = match verb.text.as_str() {
                    "remove_directory" | "remove" => Word::constant("rm"),
                    _ => verb.clone(),
                };
                let words: Vec<Word> = std::iter::once(verb).chain(rest.iter().cloned()).collect();
                one(&words, Via::Wrapper, Reach::Direct)
            }
            _ => Vec::new(),
        },
        // `git bisect run cmd`
        "git" => {
            let at = args.windows(2).position(
                |pair| matches!(pair, [verb, run] if verb.text == "bisect" && run.text == "run"),
            );
            let rest = at.and_then(|at| args.get(at + 2..)).unwrap_or_default();
            one(rest, Via::Wrapper, Reach::Direct)
        }
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
    if words.is_empty() {
        return Vec::new();
    }
    vec![Carried {
        words: words.to_vec(),
        environment: Vec::new(),
        via,
        reach,
    }]
}

/// `start-stop-daemon --start --exec PROGRAM -- WORDS`
fn daemon(args: &[Word]) -> Vec<Word> {
    let mut words = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            words.extend(args.iter().skip(at + 1).cloned());
            break;
        }
        let named = matches!(text, "-x" | "-a")
            || is_long(text, "--exec", 3)
            || is_long(text, "--startas", 6);
        if named {
            words.clear();
            match text.split_once('=') {
                Some((_, program)) => words.push(Word::constant(program)),
                None => words.extend(args.get(at + 1).cloned()),
            }
        }
    }
    words
}

/// What `xargs` puts its input in the place of, if it does not add it at the end.
pub(crate) fn placeholder(args: &[Word]) -> Option<String> {
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "-I" {
            return Some(args.get(at + 1)?.text.clone());
        }
        if let Some(joined) = text.strip_prefix("-I") {
            return Some(joined.to_owned());
        }
        if text == "-i" || is_long(text, "--replace", 5) {
            let value = text.split_once('=').map_or("{}", |(_, value)| value);
            return Some(value.to_owned());
        }
        if !text.starts_with('-') {
            break;
        }
    }
    // `parallel` has one without being told.
    args.iter()
        .any(|word| word.text == "{}")
        .then(|| "{}".to_owned())
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

fn wrapped(name: &str, args: &[Word], mut rest: &[Word]) -> Vec<Carried> {
    let mut options = args
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|text| text.starts_with('-'));
    let runs_nothing = match name {
        // `command -v name` only asks where it is.
        "command" => options.any(|option| option.contains(['v', 'V'])),
        "sudo" => options.any(|option| option == "-e" || is_long(option, "--edit", 3)),
        // Text for a shell, which is followed as such.
        "sg" | "entr" | "runuser" => {
            options.any(|option| matches!(option, "-c" | "-s" | "-l" | "-"))
        }
        _ => false,
    };
    if runs_nothing {
        return Vec::new();
    }
    let mut environment = Vec::new();
    if matches!(name, "sudo" | "env" | "genv" | "doas") {
        while let Some((first, more)) = rest.split_first() {
            let Some((variable, value)) = first
                .text
                .split_once('=')
                .filter(|_| is_assignment(&first.text))
            else {
                break;
            };
            let value = Word {
                text: value.to_owned(),
                ..first.clone()
            };
            environment.push((variable.to_owned(), value));
            rest = more;
        }
    }
    vec![Carried {
        words: rest.to_vec(),
        environment,
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
pub fn behind_options<'w>(args: &'w [Word], with_value: &str, positional: usize) -> &'w [Word] {
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
