//! What differs between bash and other shells.

use crate::shell::ShellKind;

/// How a kind of shell is written to.
#[derive(Debug, Clone, Copy)]
pub(in crate::remote) struct Dialect {
    /// The descriptor on which the shell speaks to us. Bash knows large numbers, which no command
    /// uses by itself; other shells know one digit.
    pub(in crate::remote) control: &'static str,
    /// The descriptor from which a command's shell reads what it has to do.
    pub(in crate::remote) requests: &'static str,
    /// What stands before a builtin, so that no function of the session is taken for it.
    pub(in crate::remote) builtin: &'static str,
    /// How a shell starts another one.
    pub(super) shell: &'static str,
    /// Its name as `$0`.
    pub(super) name: &'static str,
    /// Options of a shell that reads no start-up file.
    pub(super) plain: &'static str,
    /// Reads the line of a request into `REPLY`.
    pub(super) read_request: &'static str,
    /// Prints the exported variables.
    pub(super) exports: &'static str,
    /// Prints the version.
    pub(super) version: &'static str,
    /// Sets `_h_x` to the text of `$_h_d/stat`. A program may have a line feed in its name.
    pub(super) read_stat: &'static str,
}

const BASH: Dialect = Dialect {
    control: "103",
    requests: "105",
    builtin: "builtin ",
    shell: "\"$BASH\"",
    name: "bash",
    plain: "--noprofile --norc",
    read_request: "read -r -u 105 REPLY",
    exports: "declare -px",
    version: "\"$BASH_VERSION\"",
    read_stat: "_h_x=; read -r -N 4096 _h_x <\"$_h_d/stat\"",
};

const POSIX: Dialect = Dialect {
    control: "9",
    requests: "8",
    builtin: "",
    shell: "sh",
    name: "sh",
    plain: "",
    read_request: "read -r REPLY <&8",
    exports: "export -p",
    version: "''",
    read_stat: "_h_x=; while IFS= read -r _h_y; do _h_x=\"$_h_x $_h_y\"; done <\"$_h_d/stat\"",
};

impl Dialect {
    pub(in crate::remote) fn of(kind: ShellKind) -> &'static Self {
        match kind {
            ShellKind::Bash => &BASH,
            ShellKind::Posix => &POSIX,
        }
    }

    /// Fills the placeholders of a template.
    pub(super) fn fill(&self, template: &str) -> String {
        template
            .replace("@control@", self.control)
            .replace("@requests@", self.requests)
            .replace("@shell@", self.shell)
            .replace("@name@", self.name)
            .replace("@plain@", self.plain)
            .replace("@exports@", self.exports)
            .replace("@read_request@", self.read_request)
            .replace("@version@", self.version)
            .replace("@read_stat@", self.read_stat)
    }
}
