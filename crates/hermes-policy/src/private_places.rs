//! The one list of private places: files and directories that hold keys, credentials, settings of the
//! machine or state of Hermes, and which kinds of access each is refused.
//!
//! Only names and rules. Callers resolve links first and say which home a path is relative to.

use std::path::Path;

use Extent::{Copies, Tree};
use PrivatePlace::{
    Credentials, HermesInstructions, HermesRules, HermesSecrets, HermesState, PlatformDirectory,
    ShellStartup, System,
};

/// What a path holds that makes it private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivatePlace {
    /// Keys and credentials of the user.
    Credentials,
    /// A start-up file of the user's shell: what it says runs later, and it often exports keys.
    ShellStartup,
    /// Credentials of Hermes itself. They open every account the user gave to it.
    HermesSecrets,
    /// Settings, sessions and databases of Hermes, which only Hermes and the user change.
    HermesState,
    /// What decides what Hermes runs and as whom, and what it started.
    HermesRules,
    /// What Hermes is told to be and to run later; file tools may help to write it.
    HermesInstructions,
    System,
    /// A directory that macOS reaches through a link of the root directory.
    PlatformDirectory,
    /// The socket of a container engine: who can write to it is root.
    EngineSocket,
    /// A device: a disk, or something that has no end to read to.
    Device,
    /// Environment, memory or open files of a process, as the kernel shows them.
    ProcessInternals,
    /// A switch of the running kernel, which looks like a file.
    Kernel,
}

/// What somebody wants to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A file tool changes it.
    Write,
    /// A shell command changes it: not refused, but a person is asked first.
    WriteByCommand,
    /// A file tool shows it to the model.
    Read,
    /// An `@` reference puts it into a message.
    Attach,
    /// It goes along to a container or another machine.
    Carry,
    /// A sandboxed command, which nobody watches, reads it.
    Sandbox,
}

impl PrivatePlace {
    /// Whether this kind of access is refused.
    pub(crate) fn refuses(self, access: Access) -> bool {
        use Access::{Attach, Carry, Read, Sandbox, Write, WriteByCommand};
        match self {
            Self::Credentials | Self::HermesSecrets => true,
            Self::ShellStartup => matches!(access, Write | WriteByCommand | Attach),
            Self::HermesState => matches!(access, Write | WriteByCommand | Carry | Sandbox),
            Self::System | Self::Kernel | Self::HermesRules => {
                matches!(access, Write | WriteByCommand)
            }
            Self::EngineSocket => matches!(access, Write | WriteByCommand | Sandbox),
            // Temporary files live in the directories of macOS as well.
            Self::PlatformDirectory | Self::HermesInstructions => access == WriteByCommand,
            Self::Device | Self::ProcessInternals => matches!(access, Read | Attach | Write),
        }
    }

    /// What it is, for messages: continues "it …".
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Credentials => "contains keys or credentials",
            Self::ShellStartup => "is a start-up file of the user's shell",
            Self::HermesSecrets => "contains credentials of Hermes",
            Self::HermesState | Self::HermesRules | Self::HermesInstructions => {
                "may be changed only by Hermes and the user"
            }
            Self::System | Self::PlatformDirectory => "is part of the system's settings",
            Self::EngineSocket => "is the socket of a container engine",
            Self::Device => "is a device, not a file",
            Self::ProcessInternals => "exposes the inside of a process",
            Self::Kernel => "is a switch of the running kernel",
        }
    }
}

/// What an entry of the list covers besides the path itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Tree,
    /// Copies beside it, as editors, upgrades and SQLite leave them: `.env.bak`, `state.db-wal`.
    Copies,
}

/// Entries of one kind: where they are, with blanks between, what they cover, what they hold.
type Entries = (&'static str, Extent, PrivatePlace);

/// Relative to the home directory of an account.
const IN_HOME: &[Entries] = &[
    (
        ".ssh .aws .gnupg .kube .docker .azure .config/gh .config/gcloud",
        Tree,
        Credentials,
    ),
    (
        ".netrc .pgpass .npmrc .pypirc .git-credentials",
        Copies,
        Credentials,
    ),
    (
        ".bashrc .bash_profile .bash_login .profile .zshrc .zprofile .zshenv .zlogin .kshrc .cshrc \
         .tcshrc",
        Copies,
        ShellStartup,
    ),
    (".config/fish", Tree, ShellStartup),
];

/// Relative to a Hermes home: the root's or a profile's.
const IN_HERMES_HOME: &[Entries] = &[
    (
        ".env .anthropic_oauth.json auth.json auth.lock auth/google_oauth.json \
         webhook_subscriptions.json cache/bws_cache cache/op_cache mem0.json supermemory.json \
         hindsight/config.json",
        Copies,
        HermesSecrets,
    ),
    ("mcp-tokens pairing", Tree, HermesSecrets),
    ("config.yaml config.yml state.db", Copies, HermesState),
    ("sessions", Tree, HermesState),
    (
        "kanban.db processes.json active_profile distribution.yaml gateway.lock gateway_state.json \
         shell-hooks-allowlist.json",
        Copies,
        HermesRules,
    ),
    ("hooks", Tree, HermesRules),
    ("SOUL.md", Copies, HermesInstructions),
    ("plugins cron", Tree, HermesInstructions),
];

/// Absolute; of two entries for one path the first counts.
const ON_MACHINE: &[Entries] = &[
    ("/etc /boot /usr/lib/systemd /private/etc", Tree, System),
    (
        "/private/var/folders /private/var/tmp /private/tmp /private/home",
        Tree,
        PlatformDirectory,
    ),
    ("/private/var", Tree, System),
];

/// Below `/proc`.
const PROCESS_FILES: &[&str] = &[
    "environ", "mem", "auxv", "maps", "smaps", "pagemap", "kcore",
];

/// The private place that a path relative to the home of an account belongs to.
pub(crate) fn in_home(relative: &Path) -> Option<PrivatePlace> {
    find(IN_HOME, relative)
}

/// The private place that a path relative to a Hermes home belongs to; profiles below it count.
pub(crate) fn in_hermes_home(relative: &Path) -> Option<PrivatePlace> {
    let mut parts = relative.components();
    let is_profile = parts
        .next()
        .is_some_and(|part| part.as_os_str() == "profiles")
        && parts.next().is_some();
    let inner = if is_profile {
        parts.as_path()
    } else {
        relative
    };
    find(IN_HERMES_HOME, inner).or_else(|| {
        // The home directory that commands of a profile may be given.
        let in_child_home = in_home(inner.strip_prefix("home").ok()?);
        in_child_home.filter(|found| *found == Credentials)
    })
}

/// The private place that an absolute path belongs to on any machine.
pub(crate) fn on_machine(path: &Path) -> Option<PrivatePlace> {
    if path.file_name().is_some_and(|name| name == "docker.sock") {
        return Some(PrivatePlace::EngineSocket);
    }
    if path.starts_with("/dev") {
        return (!path.starts_with("/dev/shm")).then_some(PrivatePlace::Device);
    }
    if let Ok(inside) = path.strip_prefix("/proc") {
        let last = inside.file_name().and_then(|name| name.to_str());
        let is_internal = last.is_some_and(|last| PROCESS_FILES.contains(&last))
            || inside.components().any(|part| part.as_os_str() == "fd");
        return Some(if is_internal {
            PrivatePlace::ProcessInternals
        } else {
            PrivatePlace::Kernel
        });
    }
    if path.starts_with("/sys") {
        return Some(PrivatePlace::Kernel);
    }
    find(ON_MACHINE, path)
}

/// The private place of a home that any part of a path is named after, wherever that part stands: a
/// project's own `.npmrc` holds keys as well.
pub(crate) fn named_anywhere(path: &Path) -> Option<PrivatePlace> {
    suffixes(path).find_map(in_home)
}

/// Whether a file of a Hermes home, named relative to it, must not go along to a container or
/// another
/// machine: the stores of the home itself and of its profiles. A file that a skill keeps under the
/// same
/// name is the skill's, and may be declared.
pub fn refuses_carrying(relative: &Path) -> bool {
    in_hermes_home(relative).is_some_and(|found| found.refuses(Access::Carry))
}

/// The path without its first parts, from all of it to its last part.
fn suffixes(path: &Path) -> impl Iterator<Item = &Path> {
    let mut rest = path.components();
    std::iter::from_fn(move || {
        let suffix = rest.as_path();
        rest.next().map(|_| suffix)
    })
}

/// The entries of a home, for callers that follow links at the entries themselves.
pub(crate) fn entries_of_home() -> impl Iterator<Item = (&'static str, PrivatePlace)> {
    single_entries(IN_HOME).map(|(path, _, place)| (path, place))
}

/// The entries of a Hermes home, likewise.
pub(crate) fn entries_of_hermes_home() -> impl Iterator<Item = (&'static str, PrivatePlace)> {
    single_entries(IN_HERMES_HOME).map(|(path, _, place)| (path, place))
}

fn single_entries(
    entries: &'static [Entries],
) -> impl Iterator<Item = (&'static str, Extent, PrivatePlace)> {
    let split = |&(paths, extent, place): &'static Entries| {
        paths.split(' ').map(move |path| (path, extent, place))
    };
    entries.iter().flat_map(split)
}

fn find(entries: &'static [Entries], path: &Path) -> Option<PrivatePlace> {
    let text = path.to_string_lossy();
    let found = single_entries(entries).find(|(entry, extent, _)| {
        let parts = text.split_at_checked(entry.len());
        parts.is_some_and(|(head, rest)| {
            // Names that differ in case only are one file on many disks.
            head.eq_ignore_ascii_case(entry)
                && (rest.is_empty()
                    || rest.starts_with('/')
                    || (*extent == Copies && rest.starts_with(['.', '~', '-'])))
        })
    });
    found.map(|(_, _, place)| place)
}

#[cfg(test)]
#[path = "private_places_tests.rs"]
mod tests;
