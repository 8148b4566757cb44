//! The names of what is detected. They are stored verbatim in `command_allowlist`, by this program
//! and by the reference, so each string here is part of a file format.

/// One kind of danger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// Which row of the table it is in; approving one key of a row covers the others that the same
    /// command met behind it.
    pub group: Group,
    /// The string.
    pub text: &'static str,
}

/// Rows of the table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Group {
    Delete,
    Permissions,
    Disk,
    Sql,
    System,
    Processes,
    Code,
    OwnFiles,
    Git,
    Hermes,
    Containers,
    Sudo,
    Windows,
    Other,
}

macro_rules! keys {
    ($($name:ident, $group:ident, $text:literal;)*) => {
        $(
            #[doc = concat!("`", $text, "`")]
            pub(super) const $name: Key = Key { group: Group::$group, text: $text };
        )*
        /// Every key with a fixed string, in the order of the table.
        pub(super) const ALL: &[Key] = &[$($name),*];
    };
}

keys! {
    DELETE_IN_ROOT, Delete, "delete in root path";
    RECURSIVE_DELETE, Delete, "recursive delete";
    RECURSIVE_DELETE_LONG, Delete, "recursive delete (long flag)";
    XARGS_RM, Delete, "xargs with rm";
    FIND_EXEC_RM, Delete, "find -exec/-execdir rm";
    FIND_DELETE, Delete, "find -delete";
    WORLD_WRITABLE, Permissions, "world/other-writable permissions";
    WORLD_WRITABLE_LONG, Permissions, "recursive world/other-writable (long flag)";
    CHOWN_ROOT, Permissions, "recursive chown to root";
    CHOWN_ROOT_LONG, Permissions, "recursive chown to root (long flag)";
    FORMAT, Disk, "format filesystem";
    DISK_COPY, Disk, "disk copy";
    BLOCK_DEVICE, Disk, "write to block device";
    SQL_DROP, Sql, "SQL DROP";
    SQL_DELETE, Sql, "SQL DELETE without WHERE";
    SQL_TRUNCATE, Sql, "SQL TRUNCATE";
    SYSTEM_CONFIG, System, "overwrite system config";
    SYSTEM_SERVICE, System, "stop/restart system service";
    COPY_TO_SYSTEM, System, "copy/move file into system config path";
    EDIT_SYSTEM, System, "in-place edit of system config";
    EDIT_SYSTEM_LONG, System, "in-place edit of system config (long flag)";
    SYSTEM_TEE, System, "overwrite system file via tee";
    SYSTEM_REDIRECT, System, "overwrite system file via redirection";
    KILL_ALL, Processes, "kill all processes";
    FORCE_KILL, Processes, "force kill processes";
    KILLALL_KILL, Processes, "force kill processes (killall -KILL)";
    KILLALL_S_KILL, Processes, "force kill processes (killall -s KILL)";
    KILLALL_REGEX, Processes, "kill processes by regex (killall -r)";
    FORK_BOMB, Processes, "fork bomb";
    KILL_HERMES, Processes, "kill hermes/gateway process (self-termination)";
    KILL_PGREP, Processes, "kill process via pgrep expansion (self-termination)";
    KILL_PGREP_BACKTICK, Processes,
        "kill process via backtick pgrep expansion (self-termination)";
    KILL_PIDOF, Processes, "kill process via pgrep/pidof expansion (self-termination)";
    KILL_PIDOF_BACKTICK, Processes,
        "kill process via backtick pgrep/pidof expansion (self-termination)";
    SHELL_C, Code, "shell command via -c/-lc flag";
    SCRIPT_E, Code, "script execution via -e/-c flag";
    SCRIPT_HEREDOC, Code, "script execution via heredoc";
    SHELL_HEREDOC, Code, "shell execution via heredoc";
    REMOTE_PIPE, Code, "pipe remote content to shell";
    REMOTE_PROCESS, Code, "execute remote script via process substitution";
    REMOTE_SUBSTITUTION, Code, "execute remote content via command substitution";
    DECODED_PIPE, Code, "pipe decoded content to shell (possible command obfuscation)";
    XXD_PIPE, Code, "pipe xxd-decoded content to shell (possible command obfuscation)";
    TR_PIPE, Code, "pipe tr-transformed output to shell (possible command obfuscation)";
    OPENSSL_PIPE, Code,
        "pipe openssl-decoded content to shell (possible command obfuscation)";
    CHMOD_RUN, Code, "chmod +x followed by immediate execution";
    PROJECT_TEE, OwnFiles, "overwrite project env/config via tee";
    PROJECT_REDIRECT, OwnFiles, "overwrite project env/config via redirection";
    PROJECT_COPY, OwnFiles, "overwrite project env/config file";
    COPY_TO_SENSITIVE, OwnFiles, "copy/move file into sensitive credential/SSH/shell-rc path";
    EDIT_SENSITIVE, OwnFiles, "in-place edit of sensitive credential/SSH/shell-rc path";
    EDIT_SENSITIVE_LONG, OwnFiles,
        "in-place edit of sensitive credential/SSH/shell-rc path (long flag)";
    EDIT_SENSITIVE_PERL, OwnFiles,
        "in-place edit of sensitive credential/SSH/shell-rc path (perl/ruby)";
    EDIT_HERMES, OwnFiles, "in-place edit of Hermes config/env";
    EDIT_HERMES_LONG, OwnFiles, "in-place edit of Hermes config/env (long flag)";
    EDIT_HERMES_PERL, OwnFiles, "in-place edit of Hermes config/env (perl/ruby)";
    GIT_RESET, Git, "git reset --hard (destroys uncommitted changes)";
    GIT_FORCE_PUSH, Git, "git force push (rewrites remote history)";
    GIT_FORCE_PUSH_SHORT, Git, "git force push short flag (rewrites remote history)";
    GIT_CLEAN, Git, "git clean with force (deletes untracked files)";
    GIT_BRANCH_D, Git, "git branch force delete";
    GIT_BRANCH_LONG, Git, "git branch force delete (long flags)";
    GIT_BRANCH_FORCE_FIRST, Git, "git branch force delete (long flags, force-first)";
    GATEWAY_STOP, Hermes, "stop/restart hermes gateway (kills running agents)";
    HERMES_UPDATE, Hermes, "hermes update (restarts gateway, kills running agents)";
    GATEWAY_OUTSIDE, Hermes,
        "start gateway outside systemd (use 'systemctl --user restart hermes-gateway')";
    LAUNCHD, Hermes, "stop/restart hermes launchd service (kills running agents)";
    DOCKER, Containers, "docker restart/stop/kill (container lifecycle)";
    DOCKER_COMPOSE, Containers, "docker compose restart/stop/kill/down (container lifecycle)";
    SUDO_FLAG, Sudo, "sudo with privilege flag (stdin/askpass/shell/list)";
    SUDO_COMBINED, Sudo, "sudo with combined-flag privilege escalation";
    WINDOWS_CMD, Windows, "Windows cmd destructive delete";
    WINDOWS_POWERSHELL, Windows, "Windows PowerShell destructive delete";
    POWERSHELL_ENCODED, Windows, "PowerShell encoded command execution";
    EXECUTE_CODE, Other, "execute_code";
    TOO_COMPLEX, Other, "command too complex to analyse";
}

/// In front of the tool and its option.
pub(super) const TOOL_OPTION: &str = "arbitrary program execution via ";

/// Other strings under which the same danger was approved: names that old versions derived from
/// their patterns, names of other versions, and names of broader rules that met first there.
const ALIASES: &[(&str, &[&str])] = &[
    (r"rm\s+(-[^\s]*\s+)*/", &["delete in root path"]),
    (
        r"rm\s+-[^\s]*r",
        &["recursive delete", "recursive delete (long flag)"],
    ),
    (r"rm\s+--recursive", &["recursive delete (long flag)"]),
    ("recursive delete", &["recursive delete (long flag)"]),
    (r"xargs\s+.*", &["xargs with rm"]),
    ("find", &["find -exec/-execdir rm", "find -delete"]),
    (
        r"chmod\s+(-[^\s]*\s+)*(777|666|o\+[rwx]*w|a\+[rwx]*w)",
        &["world/other-writable permissions"],
    ),
    (
        r"chmod\s+--recursive",
        &["recursive world/other-writable (long flag)"],
    ),
    (
        "world/other-writable permissions",
        &["recursive world/other-writable (long flag)"],
    ),
    (r"chown\s+(-[^\s]*)?R\s+root", &["recursive chown to root"]),
    (
        r"chown\s+--recursive",
        &["recursive chown to root (long flag)"],
    ),
    (
        "recursive chown to root",
        &["recursive chown to root (long flag)"],
    ),
    ("mkfs", &["format filesystem"]),
    (r"dd\s+.*if=", &["disk copy"]),
    (r">\s*/dev/sd", &["write to block device"]),
    (r"DROP\s+(TABLE|DATABASE)", &["SQL DROP"]),
    (r"DELETE\s+FROM", &["SQL DELETE without WHERE"]),
    (r"TRUNCATE\s+(TABLE)?\s*\w", &["SQL TRUNCATE"]),
    (r">\s*/etc/", &["overwrite system config"]),
    (
        r"systemctl\s+(stop|disable|mask)",
        &["stop/restart system service"],
    ),
    (
        r"systemctl\s+(-[^\s]+\s+)*(stop|restart|disable|mask)",
        &["stop/restart system service"],
    ),
    (r"kill\s+-9\s+-1", &["kill all processes"]),
    (r"pkill\s+-9", &["force kill processes"]),
    (
        r"(bash|sh|zsh|ksh)\s+-[^\s]*c(\s+|$)",
        &["shell command via -c/-lc flag"],
    ),
    (
        r"(python[23]?|perl|ruby|node)\s+-[ec]\s+",
        &["script execution via -e/-c flag"],
    ),
    (
        r"(python[23]?|perl|ruby|node)\s+<<",
        &["script execution via heredoc"],
    ),
    ("(curl|wget)", &["pipe remote content to shell"]),
    (
        r"(bash|sh|zsh|ksh)\s+<\s*<?\s*\(\s*(curl|wget)",
        &["execute remote script via process substitution"],
    ),
    (
        "tee",
        &[
            "overwrite system file via tee",
            "overwrite project env/config via tee",
        ],
    ),
    (
        "(cp|mv|install)",
        &[
            "copy/move file into system config path",
            "overwrite project env/config file",
        ],
    ),
    (
        "copy/move file into /etc/",
        &["copy/move file into system config path"],
    ),
    (
        r"sed\s+-[^\s]*i.*\s/etc/",
        &["in-place edit of system config"],
    ),
    (
        r"sed\s+--in-place",
        &["in-place edit of system config (long flag)"],
    ),
    (
        "in-place edit of system config",
        &["in-place edit of system config (long flag)"],
    ),
    (
        "in-place edit of sensitive credential/SSH/shell-rc path",
        &["in-place edit of sensitive credential/SSH/shell-rc path (long flag)"],
    ),
    (
        "in-place edit of Hermes config/env",
        &["in-place edit of Hermes config/env (long flag)"],
    ),
    (
        r"git\s+reset\s+--hard",
        &["git reset --hard (destroys uncommitted changes)"],
    ),
    (
        r"git\s+push",
        &[
            "git force push (rewrites remote history)",
            "git force push short flag (rewrites remote history)",
        ],
    ),
    (
        r"git\s+clean\s+-[^\s]*f",
        &["git clean with force (deletes untracked files)"],
    ),
    (r"git\s+branch\s+-D", &["git branch force delete"]),
    (
        r"chmod\s+\+x",
        &["chmod +x followed by immediate execution"],
    ),
    (
        r"hermes\s+gateway\s+(stop|restart)",
        &["stop/restart hermes gateway (kills running agents)"],
    ),
    (
        r"hermes\s+update",
        &["hermes update (restarts gateway, kills running agents)"],
    ),
    (
        "(pkill|killall)",
        &["kill hermes/gateway process (self-termination)"],
    ),
    (
        "kill",
        &[
            "kill process via pgrep expansion (self-termination)",
            "kill process via backtick pgrep expansion (self-termination)",
        ],
    ),
    (
        "kill process via pgrep expansion (self-termination)",
        &["kill process via pgrep/pidof expansion (self-termination)"],
    ),
    (
        "kill process via pgrep/pidof expansion (self-termination)",
        &["kill process via pgrep expansion (self-termination)"],
    ),
    (
        "kill process via backtick pgrep expansion (self-termination)",
        &["kill process via backtick pgrep/pidof expansion (self-termination)"],
    ),
    (
        "kill process via backtick pgrep/pidof expansion (self-termination)",
        &["kill process via backtick pgrep expansion (self-termination)"],
    ),
];

/// Whether an entry of the allowlist approves a key.
pub(super) fn covers(entry: &str, key: &str) -> bool {
    entry == key
        || ALIASES
            .iter()
            .any(|(alias, keys)| *alias == entry && keys.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unique_and_aliases_name_real_keys() {
        let mut texts: Vec<&str> = ALL.iter().map(|key| key.text).collect();
        texts.sort_unstable();
        let before = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), before);
        for (alias, keys) in ALIASES {
            for key in *keys {
                assert!(texts.contains(key), "{alias} stands for the unknown {key}");
            }
        }
    }

    #[test]
    fn old_names_still_approve() {
        assert!(covers(r"rm\s+-[^\s]*r", "recursive delete"));
        assert!(covers("recursive delete", "recursive delete (long flag)"));
        assert!(!covers("recursive delete (long flag)", "recursive delete"));
        assert!(!covers("find", "recursive delete"));
    }
}
