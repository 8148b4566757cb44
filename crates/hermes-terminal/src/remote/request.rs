//! What a command's shell on the remote host is told.
//!
//! A line for the loop, a line with lengths for the shell, and then, one behind the other: functions
//! of the session, the command, what is to be set up before it, and perhaps what the command reads. Values of
//! variables are quoted, never interpreted; nothing here ever becomes an argument or a file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use hermes_proc::{Wake, agent_shell};

use super::hello::Hello;
use super::program::Dialect;
use crate::shell::ShellKind;
use crate::shell::quoting::quote;
use crate::shell::script::{aliases, bash_trap, posix_trap};
use crate::shell::{Overlay, ShellState, is_identifier};

/// Bash does not let anyone set these, and would say so at every command.
const READ_ONLY: &[&str] = &[
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// What the loop does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb<'a> {
    Run,
    Login,
    /// Starts a background process whose files begin with this path.
    Start(&'a str),
}

/// Where a command runs. A leading `~` is the home of the shell there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory<'a> {
    /// There or in the nearest directory above it that exists.
    Nearest(&'a Path),
    /// There or not at all.
    Exactly(&'a Path),
}

/// Words that mark the records about one command: those of the loop, and those of its shell.
pub(super) struct Nonces {
    pub(super) of_loop: String,
    pub(super) of_shell: String,
}

/// What marks the processes of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// The limit by which they are known; `None` should the dice fall on a number that is no mark.
    pub(super) limit: Option<u64>,
    /// They are an agent's.
    pub(super) of_agent: bool,
}

impl Marks {
    pub(super) fn new(of_agent: bool) -> Self {
        Self {
            limit: hermes_proc::limit_mark(&hermes_fs::random_hex(16)),
            of_agent,
        }
    }
}

/// A command to run on the host, and how long to wait for its end.
#[derive(Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) verb: Verb<'a>,
    pub(super) state: &'a ShellState,
    pub(super) directory: Directory<'a>,
    pub(super) command: &'a [u8],
    /// Whether errors go where the output goes; otherwise nobody sees them.
    pub(super) joins_errors: bool,
    pub(super) reports: bool,
    /// Standard input; nothing if empty.
    pub(super) input: &'a [u8],
    pub(super) limit: Duration,
    pub(super) interrupts: &'a [&'a Wake],
    /// Raised when Hermes is about to end, which leaves less time for a kill.
    pub(super) shutdown: Option<&'a Wake>,
    /// Whether a host that is gone is brought back.
    pub(super) revives: bool,
}

impl Execution<'_> {
    /// The bytes for a loop that greeted with `hello`.
    pub(super) fn bytes(&self, hello: &Hello, nonces: &Nonces, marks: Marks) -> Vec<u8> {
        let setup = self.setup(hello, &nonces.of_shell, marks);
        let mut command = self.command.to_owned();
        command.push(b'\n');
        let mut functions = Vec::new();
        if hello.kind == ShellKind::Bash {
            for definition in self.state.functions.values() {
                functions.extend_from_slice(definition);
                functions.push(b'\n');
            }
            // Nothing cannot be read.
            functions.push(b'\n');
        }
        let size = |section: &[u8]| match hello.kind {
            ShellKind::Bash => section.len(),
            ShellKind::Posix => memchr::memchr_iter(b'\n', section).count(),
        };
        let (verb, argument) = match self.verb {
            Verb::Run => ("run", ""),
            Verb::Login => ("login", ""),
            Verb::Start(files) => ("start", files),
        };
        let flags = match (!self.input.is_empty(), self.joins_errors) {
            (false, false) => "-",
            (false, true) => "e",
            (true, false) => "i",
            (true, true) => "ie",
        };
        let mut bytes = format!(
            "{verb} {} {argument}\n{} {} {} {flags}\n",
            nonces.of_loop,
            size(&functions),
            size(&command),
            size(&setup)
        )
        .into_bytes();
        bytes.extend_from_slice(&functions);
        bytes.extend_from_slice(&command);
        bytes.extend_from_slice(&setup);
        bytes
    }

    fn setup(&self, hello: &Hello, nonce: &str, marks: Marks) -> Vec<u8> {
        let dialect = Dialect::of(hello.kind);
        let changes = merged(&self.state.overlay);
        let mut text = Text {
            bytes: Vec::with_capacity(1024),
            dialect,
        };
        text.mark(marks.limit);
        text.variables(&changes);
        if marks.of_agent {
            // Behind the variables of the session, which may have taken it away.
            let builtin = dialect.builtin;
            text.add(&format!("{builtin}export {}=1\n", agent_shell::MARK));
        }
        text.directory(self.directory, nonce);
        text.old_directory(hello, &changes);
        if self.reports {
            let target = format!(">&{}", dialect.control);
            text.add(&match hello.kind {
                ShellKind::Bash => bash_trap(&target, nonce),
                ShellKind::Posix => posix_trap(&target, nonce),
            });
        }
        if hello.kind == ShellKind::Bash {
            aliases(&mut text.bytes, &self.state.aliases);
        }
        if let Verb::Start(files) = self.verb {
            text.files(files, nonce, &hello.umask);
            text.times();
        }
        text.started(nonce);
        if matches!(self.verb, Verb::Start(_)) {
            text.add(&format!("exec {}>&-\n", dialect.control));
        }
        text.bytes
    }
}

/// Shell text in the making.
struct Text {
    bytes: Vec<u8>,
    dialect: &'static Dialect,
}

impl Text {
    fn add(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn add_quoted(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&quote(bytes));
    }

    /// Marks this shell and all it starts. A shell that does not know the limit, and a host that does
    /// not let it be set, go without.
    fn mark(&mut self, mark: Option<u64>) {
        let Some(mark) = mark else {
            return;
        };
        let builtin = self.dialect.builtin;
        self.add(&format!(
            "{builtin}ulimit -x {mark} 2>/dev/null || {builtin}ulimit -w {mark} 2>/dev/null\n"
        ));
    }

    fn variables(&mut self, changes: &Changes<'_>) {
        let builtin = self.dialect.builtin;
        for (name, value) in changes {
            let Some(name) = name.to_str().filter(|name| is_settable(name)) else {
                continue;
            };
            match value {
                Some(value) => {
                    self.add(&format!("{builtin}export {name}="));
                    self.add_quoted(value.as_bytes());
                    self.add("\n");
                }
                None => self.add(&format!("{builtin}unset {name}\n")),
            }
        }
    }

    fn directory(&mut self, directory: Directory<'_>, nonce: &str) {
        let Dialect {
            builtin, control, ..
        } = self.dialect;
        match directory {
            Directory::Exactly(path) => {
                self.add(&format!("{builtin}cd -P -- "));
                self.path(path);
                self.add(&format!(
                    " || {{ {builtin}printf '\\0{nonce}\\0nodir\\0' >&{control}; {builtin}exit 126; }}\n"
                ));
            }
            Directory::Nearest(path) => {
                self.add("REPLY=");
                self.path(path);
                self.add(&format!(
                    "\nwhile ! {builtin}cd -P -- \"$REPLY\"; do case $REPLY in /) break;; \
                     /*/*) REPLY=${{REPLY%/*}};; *) REPLY=/;; esac; \
                     {builtin}set -- \"$1\" \"$2\" \"$3\" \"$4\" \"$5\" moved; done\n"
                ));
            }
        }
    }

    fn path(&mut self, path: &Path) {
        let bytes = path.as_os_str().as_bytes();
        match bytes.strip_prefix(b"~") {
            Some([]) => self.add("~"),
            Some([b'/', rest @ ..]) => {
                self.add("~/");
                self.add_quoted(rest);
            }
            _ => self.add_quoted(bytes),
        }
    }

    /// Going there was not the command's doing: what it finds as its former directory is the
    /// session's, or none.
    fn old_directory(&mut self, hello: &Hello, changes: &Changes<'_>) {
        let builtin = self.dialect.builtin;
        let name = OsStr::new("OLDPWD");
        let old = match changes.get(name) {
            Some(change) => *change,
            None => hello.exports.get(name).map(OsString::as_os_str),
        };
        match old {
            Some(old) => {
                self.add("OLDPWD=");
                self.add_quoted(old.as_bytes());
                self.add("\n");
            }
            None => self.add(&format!("{builtin}unset OLDPWD; {builtin}export OLDPWD\n")),
        }
    }

    /// Files of a background process are for its user alone.
    fn files(&mut self, files: &str, nonce: &str, umask: &str) {
        let Dialect {
            builtin, control, ..
        } = self.dialect;
        self.add(&format!(
            "{builtin}umask 077; {builtin}printf '' >{files}.log && {builtin}printf '%s\\n' \"$$\" >{files}.pid || \
             {{ {builtin}printf '\\0{nonce}\\0nofile\\0' >&{control}; {builtin}exit 125; }}\n\
             {builtin}umask {umask}; exec >>{files}.log\n"
        ));
    }

    /// Puts the start times of the launcher and of this shell behind the other arguments: numbers
    /// are given out again, times are not.
    fn times(&mut self) {
        let builtin = self.dialect.builtin;
        let others = r#""$1" "$2" "$3" "$4" "$5" "$6""#;
        self.add(&format!(
            "REPLY=; {builtin}read -r REPLY </proc/$5/stat; {builtin}set -- {others} ${{REPLY##*) }}\n\
             {builtin}set -- {others} \"${{26}}\"\n\
             REPLY=; {builtin}read -r REPLY </proc/$$/stat; {builtin}set -- {others} \"$7\" ${{REPLY##*) }}\n\
             {builtin}set -- {others} \"$7\" \"${{27}}\"\n"
        ));
    }

    fn started(&mut self, nonce: &str) {
        let Dialect {
            builtin, control, ..
        } = self.dialect;
        self.add(&format!(
            "{builtin}printf '\\0{nonce}\\0start\\0%s\\0%s\\0%s\\0%s\\0%s\\0%s\\0' \
             \"$$\" \"$8\" \"$5\" \"$7\" \"$6\" \"$PWD\" >&{control}\n"
        ));
    }
}

type Changes<'a> = BTreeMap<&'a OsStr, Option<&'a OsStr>>;

fn merged(overlay: &Overlay) -> Changes<'_> {
    let changes = overlay.login.iter().chain(&overlay.session);
    changes
        .map(|(name, value)| (name.as_os_str(), value.as_deref()))
        .collect()
}

fn is_settable(name: &str) -> bool {
    is_identifier(OsStr::new(name)) && !READ_ONLY.contains(&name)
}

/// The exported variables a command begins with.
pub(super) fn variables_of(hello: &Hello, overlay: &Overlay) -> Vec<(OsString, OsString)> {
    let mut variables = hello.exports.clone();
    for (name, value) in merged(overlay) {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn hello(kind: ShellKind) -> Hello {
        Hello {
            kind,
            version: "5.2".into(),
            pid: 2,
            umask: "0022".into(),
            exports: [("A".into(), "1".into()), ("B".into(), "1".into())].into(),
        }
    }

    fn request(state: &ShellState) -> Execution<'_> {
        Execution {
            verb: Verb::Run,
            state,
            directory: Directory::Exactly(Path::new("~/it's")),
            command: b"echo a\necho b",
            joins_errors: true,
            reports: true,
            input: b"",
            limit: Duration::ZERO,
            interrupts: &[],
            shutdown: None,
            revives: false,
        }
    }

    #[test]
    fn sections_have_the_lengths_the_head_says() {
        let mut state = ShellState::new("/".into());
        state.apply(crate::shell::StateDelta {
            variables: [
                ("V".into(), Some("it's\n\u{e9}".into())),
                ("UID".into(), Some("5".into())),
                ("odd-name".into(), Some("5".into())),
                ("B".into(), None),
            ]
            .into(),
            functions: [(b"f".to_vec(), Some(b"f () \n{ \n    :\n}".to_vec()))].into(),
            ..crate::shell::StateDelta::default()
        });
        for kind in [ShellKind::Bash, ShellKind::Posix] {
            let nonces = Nonces {
                of_loop: "nL".to_owned(),
                of_shell: "nC".to_owned(),
            };
            let bytes = request(&state).bytes(&hello(kind), &nonces, Marks::default());
            let text = String::from_utf8(bytes.clone()).unwrap();
            let mut lines = text.lines();
            assert_eq!(lines.next(), Some("run nL "));
            let head: Vec<&str> = lines.next().unwrap().split(' ').collect();
            assert_eq!(head[3], "e");
            let sizes: Vec<usize> = head[..3].iter().map(|size| size.parse().unwrap()).collect();
            let head_length = text
                .split('\n')
                .take(2)
                .map(|line| line.len() + 1)
                .sum::<usize>();
            let rest = text.split_at(head_length).1;
            let setup = match kind {
                ShellKind::Bash => {
                    assert_eq!(rest.len(), sizes.iter().sum::<usize>());
                    let after_functions = rest.split_at(sizes[0]).1;
                    assert!(after_functions.starts_with("echo a\necho b\n"));
                    after_functions.split_at(sizes[1]).1
                }
                ShellKind::Posix => {
                    assert_eq!(rest.lines().count(), sizes.iter().sum::<usize>());
                    rest
                }
            };
            assert!(setup.contains("export V='it'\\''s\n\u{e9}'\n"), "{setup}");
            assert!(setup.contains("cd -P -- ~/'it'\\''s' ||"), "{setup}");
            assert!(setup.contains("unset B\n"));
            assert!(!setup.contains("UID") && !setup.contains("odd-name"));
        }
    }

    #[test]
    fn variables_are_those_of_the_place_with_the_sessions_changes() {
        let overlay = Overlay {
            login: [
                ("A".into(), Some("2".into())),
                ("C".into(), Some("3".into())),
            ]
            .into(),
            session: [("C".into(), None), ("B".into(), None)].into(),
        };
        let variables = variables_of(&hello(ShellKind::Bash), &overlay);
        assert_eq!(variables, [("A".into(), "2".into())]);
    }
}
