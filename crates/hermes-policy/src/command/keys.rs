//! The names of what is detected. They are stored verbatim in `command_allowlist`, by this program
//! and by the reference, so each string here is part of a file format.

/// One kind of danger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// Which row of the table it is in; approving one key of a row covers the others that the same
    /// command met behind it.
    pub group: Group,
    pub text: &'static str,
}

/// Rows of the table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Group {
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
            pub(crate) const $name: Key = Key { group: Group::$group, text: $text };
        )*
        /// Every key with a fixed string, in the order of the table.
        #[cfg(test)]
        pub(crate) const ALL: &[Key] = &[$($name),*];
    };
}

keys! {
    DELETE_IN_ROOT, Delete, "delete in root path";
    RECURSIVE_DELETE, Delete, "recursive delete";
    RECURSIVE_DELETE_LONG, Delete, "recursive delete (long flag)";
    XARGS_RM, Delete, "xargs with rm";
    FIND_EXEC_RM, Delete, "find -exec/-execdir rm";
    FIND_DELETE, Delete, "find -delete";
    DELETE_SENSITIVE, Delete, "delete credentials, shell start-up files or files of Hermes";
    SHRED, Delete, "overwrite and delete files (shred)";
    MOVE_ROOT, Delete, "move a system or home directory";
    SYNC_DELETE, Delete, "rsync --delete into a system or home directory";
    ROOT_MODE, Permissions, "recursive permission or owner change on a system or home directory";
    SETUID, Permissions, "setuid/setgid or capability bits";
    WORLD_WRITABLE, Permissions, "world/other-writable permissions";
    WORLD_WRITABLE_LONG, Permissions, "recursive world/other-writable (long flag)";
    CHOWN_ROOT, Permissions, "recursive chown to root";
    CHOWN_ROOT_LONG, Permissions, "recursive chown to root (long flag)";
    FORMAT, Disk, "format filesystem";
    DISK_COPY, Disk, "disk copy";
    BLOCK_DEVICE, Disk, "write to block device";
    PARTITIONS, Disk, "change partitions, volumes or swap";
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
    UNPACK_ROOT, System, "unpack an archive over a system directory";
    POWER, System, "suspend the machine or change its runlevel";
    ACCOUNTS, System, "change accounts, passwords or sudo rights";
    SCHEDULE, System, "schedule commands for later (cron/at)";
    NETWORK, System, "change firewall or network settings";
    MOUNTS, System, "mount or unmount filesystems";
    KERNEL, System, "load kernel modules or change kernel settings";
    PACKAGES, System, "remove system packages";
    KILL_USER, Processes, "kill processes of a user";
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
    UNRESOLVED, Code, "command only known when it runs";
    EVAL_UNKNOWN, Code, "evaluate text only known when it runs";
    PIPE_UNKNOWN, Code, "pipe text only known when it runs to shell";
    PROCESS_UNKNOWN, Code, "run the output of a command as a script";
    DOWNLOAD_RUN, Code, "run a file that was just downloaded";
    REVERSE_SHELL, Code, "shell connected to the network";
    TEMP_BUILD, Code, "run build scripts of a temporary directory";
    PACKAGE_SOURCE, Code, "install a package from a path or URL (runs its scripts)";
    LOADED_CODE, Code, "variable that makes programs load code (LD_PRELOAD, BASH_ENV, …)";
    SEARCH_PATH, Code, "search path with a temporary or relative directory";
    SHADOWED, Code, "replace what a command name means (hash -p, enable -f)";
    HIDDEN_COMMAND, Code, "destructive command in the arguments of another program";
    CLIENT_SHELL, Code, "shell command of a database client";
    SSH_KEY, OwnFiles, "install an SSH key on another machine";
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
    GIT_STASH, Git, "git stash drop/clear (destroys stashed changes)";
    GIT_DISCARD, Git, "git checkout/restore of everything (destroys uncommitted changes)";
    GIT_HISTORY, Git, "delete or rewrite git refs and history";
    GIT_PUSH_DELETE, Git, "git push that deletes remote branches";
    GIT_SETTING, Git, "git setting that runs a command";
    HERMES_AGENT, Hermes, "start another agent or change its settings";
    GATEWAY_STOP, Hermes, "stop/restart hermes gateway (kills running agents)";
    HERMES_UPDATE, Hermes, "hermes update (restarts gateway, kills running agents)";
    GATEWAY_OUTSIDE, Hermes,
        "start gateway outside systemd (use 'systemctl --user restart hermes-gateway')";
    LAUNCHD, Hermes, "stop/restart hermes launchd service (kills running agents)";
    DOCKER, Containers, "docker restart/stop/kill (container lifecycle)";
    DOCKER_COMPOSE, Containers, "docker compose restart/stop/kill/down (container lifecycle)";
    DOCKER_PRUNE, Containers, "delete containers, images or volumes";
    DOCKER_HOST, Containers, "container with access to the host";
    CLOUD, Containers, "delete cloud or cluster resources";
    SUDO_FLAG, Sudo, "sudo with privilege flag (stdin/askpass/shell/list)";
    SUDO_COMBINED, Sudo, "sudo with combined-flag privilege escalation";
    WINDOWS_CMD, Windows, "Windows cmd destructive delete";
    WINDOWS_POWERSHELL, Windows, "Windows PowerShell destructive delete";
    POWERSHELL_ENCODED, Windows, "PowerShell encoded command execution";
    EXECUTE_CODE, Other, "execute_code";
    TOO_COMPLEX, Other, "command too complex to analyse";
}

/// In front of the tool and its option.
pub(crate) const TOOL_OPTION: &str = "arbitrary program execution via ";

/// Other strings under which the same danger was approved: names that old versions derived from
/// their patterns, names of other versions, and names of broader rules that met first there.
const ALIASES: &[(&str, Key)] = &[
    (r"rm\s+(-[^\s]*\s+)*/", DELETE_IN_ROOT),
    (r"rm\s+-[^\s]*r", RECURSIVE_DELETE),
    (r"rm\s+-[^\s]*r", RECURSIVE_DELETE_LONG),
    (r"rm\s+--recursive", RECURSIVE_DELETE_LONG),
    (RECURSIVE_DELETE.text, RECURSIVE_DELETE_LONG),
    (r"xargs\s+.*", XARGS_RM),
    ("find", FIND_EXEC_RM),
    ("find", FIND_DELETE),
    (
        r"chmod\s+(-[^\s]*\s+)*(777|666|o\+[rwx]*w|a\+[rwx]*w)",
        WORLD_WRITABLE,
    ),
    (r"chmod\s+--recursive", WORLD_WRITABLE_LONG),
    (WORLD_WRITABLE.text, WORLD_WRITABLE_LONG),
    (r"chown\s+(-[^\s]*)?R\s+root", CHOWN_ROOT),
    (r"chown\s+--recursive", CHOWN_ROOT_LONG),
    (CHOWN_ROOT.text, CHOWN_ROOT_LONG),
    ("mkfs", FORMAT),
    (r"dd\s+.*if=", DISK_COPY),
    (r">\s*/dev/sd", BLOCK_DEVICE),
    (r"DROP\s+(TABLE|DATABASE)", SQL_DROP),
    (r"DELETE\s+FROM", SQL_DELETE),
    (r"TRUNCATE\s+(TABLE)?\s*\w", SQL_TRUNCATE),
    (r">\s*/etc/", SYSTEM_CONFIG),
    (r"systemctl\s+(stop|disable|mask)", SYSTEM_SERVICE),
    (
        r"systemctl\s+(-[^\s]+\s+)*(stop|restart|disable|mask)",
        SYSTEM_SERVICE,
    ),
    (r"kill\s+-9\s+-1", KILL_ALL),
    (r"pkill\s+-9", FORCE_KILL),
    (r"(bash|sh|zsh|ksh)\s+-[^\s]*c(\s+|$)", SHELL_C),
    (r"(python[23]?|perl|ruby|node)\s+-[ec]\s+", SCRIPT_E),
    (r"(python[23]?|perl|ruby|node)\s+<<", SCRIPT_HEREDOC),
    ("(curl|wget)", REMOTE_PIPE),
    (
        r"(bash|sh|zsh|ksh)\s+<\s*<?\s*\(\s*(curl|wget)",
        REMOTE_PROCESS,
    ),
    ("tee", SYSTEM_TEE),
    ("tee", PROJECT_TEE),
    ("(cp|mv|install)", COPY_TO_SYSTEM),
    ("(cp|mv|install)", PROJECT_COPY),
    ("copy/move file into /etc/", COPY_TO_SYSTEM),
    (r"sed\s+-[^\s]*i.*\s/etc/", EDIT_SYSTEM),
    (r"sed\s+--in-place", EDIT_SYSTEM_LONG),
    (EDIT_SYSTEM.text, EDIT_SYSTEM_LONG),
    (EDIT_SENSITIVE.text, EDIT_SENSITIVE_LONG),
    (EDIT_HERMES.text, EDIT_HERMES_LONG),
    (r"git\s+reset\s+--hard", GIT_RESET),
    (r"git\s+push", GIT_FORCE_PUSH),
    (r"git\s+push", GIT_FORCE_PUSH_SHORT),
    (r"git\s+clean\s+-[^\s]*f", GIT_CLEAN),
    (r"git\s+branch\s+-D", GIT_BRANCH_D),
    (r"chmod\s+\+x", CHMOD_RUN),
    (r"hermes\s+gateway\s+(stop|restart)", GATEWAY_STOP),
    (r"hermes\s+update", HERMES_UPDATE),
    ("(pkill|killall)", KILL_HERMES),
    ("kill", KILL_PGREP),
    ("kill", KILL_PGREP_BACKTICK),
    (KILL_PGREP.text, KILL_PIDOF),
    (KILL_PIDOF.text, KILL_PGREP),
    (KILL_PGREP_BACKTICK.text, KILL_PIDOF_BACKTICK),
    (KILL_PIDOF_BACKTICK.text, KILL_PGREP_BACKTICK),
];

/// Whether an entry of the allowlist approves a key.
pub(crate) fn covers(entry: &str, key: &str) -> bool {
    entry == key
        || ALIASES
            .iter()
            .any(|(alias, covered)| *alias == entry && covered.text == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_strings_are_unique() {
        let mut texts: Vec<&str> = ALL.iter().map(|key| key.text).collect();
        texts.sort_unstable();
        let before = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), before);
    }

    #[test]
    fn old_strings_still_approve() {
        assert!(covers(r"rm\s+-[^\s]*r", "recursive delete"));
        assert!(covers("recursive delete", "recursive delete (long flag)"));
        assert!(!covers("recursive delete (long flag)", "recursive delete"));
        assert!(!covers("find", "recursive delete"));
    }
}
