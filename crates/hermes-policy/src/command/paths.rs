//! What kind of path a word names: protected directories, block devices, files that hold secrets
//! or settings.

use std::path::Path;

use super::known_homes::KnownHomes;
use crate::private_places::{Access, PrivatePlace, in_hermes_home, in_home, on_machine};
use hermes_shell::glob::{self, Case};
use hermes_shell::{Command, Word};

/// Directories whose loss is the loss of the machine.
const PROTECTED: &[&str] = &[
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib", "lib32", "lib64", "libx32",
    "dev", "proc", "sys", "Users", "System", "Library",
];

/// The path a word of a command names, absolute where the command's directory is known.
pub(super) fn located(command: &Command, word: &Word, homes: &KnownHomes) -> String {
    let text = word.text.as_str();
    let path = match &command.cwd {
        Some(cwd) if !text.starts_with(['/', '~']) => homes.canonical(&format!("{cwd}/{text}")),
        _ => homes.canonical(text),
    };
    // The root and the directory of a process are the machine's by another name.
    let Some(inside) = path.strip_prefix("/proc/") else {
        return path;
    };
    let mut parts = inside.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some("root"), rest) => homes.canonical(&format!("/{}", rest.unwrap_or_default())),
        (Some("self" | "thread-self"), Some("cwd"), rest) => {
            let cwd = command.cwd.as_deref().unwrap_or(".");
            homes.canonical(&format!("{cwd}/{}", rest.unwrap_or_default()))
        }
        _ => path,
    }
}

/// Whether deleting this word deletes the root, a protected directory or the home, or everything in
/// one of them.
pub(super) fn is_irreplaceable(command: &Command, word: &Word, homes: &KnownHomes) -> bool {
    let path = located(command, word, homes);
    let everything = |part: &str| {
        word.glob && part.contains('*') && part.trim_matches(['*', '.', '?']).is_empty()
    };
    if let Some(rest) = path.strip_prefix('/') {
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        return match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => true,
            (Some(first), None, _) => is_protected(first, word.glob) || everything(first),
            (Some(first), Some(second), None) => {
                (is_protected(first, word.glob) || everything(first)) && everything(second)
            }
            _ => false,
        };
    }
    path == "~"
        || path
            .strip_prefix("~/")
            .is_some_and(|rest| !rest.contains('/') && everything(rest))
}

/// Whether this is the root or a directory of the system, not the user's home.
pub(super) fn is_system_directory(command: &Command, word: &Word, homes: &KnownHomes) -> bool {
    let path = located(command, word, homes);
    let path = path
        .strip_prefix('/')
        .map(|rest| rest.trim_end_matches('/'));
    path.is_some_and(|name| name.is_empty() || name != "home" && is_protected(name, word.glob))
        || matches!(
            path,
            Some("usr/bin" | "usr/sbin" | "usr/lib" | "usr/local" | "usr/local/bin")
        )
}

fn is_protected(part: &str, is_glob: bool) -> bool {
    PROTECTED
        .iter()
        .any(|name| part == *name || (is_glob && glob::matches(part, name, Case::Sensitive)))
}

/// How names of disks begin.
const DISKS: &[&str] = &[
    "sd", "nvme", "hd", "mmcblk", "vd", "xvd", "dm-", "md", "mapper/", "disk", "block/", "loop",
    "zram", "nbd", "sr", "scd", "rbd", "bcache", "pmem", "dasd", "mtdblock", "cciss", "zd", "zvol",
    "rdisk", "drbd", "root", "ubiblock",
];

/// Disks that a pattern is tried on.
const SOME_DISKS: &[&str] = &[
    "sda",
    "sda1",
    "sdb",
    "vda",
    "vda1",
    "xvda",
    "hda",
    "nvme0n1",
    "nvme0n1p1",
    "mmcblk0",
    "dm-0",
    "md0",
    "loop0",
    "sr0",
];

/// How names of devices begin that are no disks.
const NO_DISKS: &[&str] = &[
    "null",
    "zero",
    "full",
    "random",
    "urandom",
    "tty",
    "console",
    "ptmx",
    "pts",
    "std",
    "fd/",
    "shm",
    "tcp/",
    "udp/",
    "mqueue",
    "hugepages",
    "net/",
    "snd",
    "dri",
    "input",
    "kvm",
    "fuse",
    "rtc",
    "log",
    "video",
    "nvidia",
    "kfd",
    "lp",
    "ttyS",
    "cu.",
    "dsp",
    "midi",
    "i2c",
    "spi",
    "gpio",
    "hidraw",
    "media",
    "usb",
    "bus",
    "char",
    "vhost",
    "vfio",
    "watchdog",
    "uinput",
    "uhid",
    "loop-control",
    "mapper/control",
    "kmsg",
    "vcs",
    "dtrace",
    "autofs",
];

/// Whether this is a disk or a part of one.
pub(super) fn is_block_device(command: &Command, word: &Word, homes: &KnownHomes) -> bool {
    device(command, word, homes).is_some_and(|device| {
        let is_pattern = word.glob || glob::is_glob(&device);
        let met = |name: &&str| glob::matches(&device, name, Case::Sensitive);
        !is_no_disk(&device)
            && (DISKS.iter().any(|kind| device.starts_with(kind))
                || (is_pattern && SOME_DISKS.iter().any(met)))
    })
}

/// Whether this may be a disk: a device that is not known to be something else.
pub(super) fn may_be_block_device(command: &Command, word: &Word, homes: &KnownHomes) -> bool {
    device(command, word, homes).is_some_and(|device| !is_no_disk(&device) && device != "fd")
}

fn is_no_disk(device: &str) -> bool {
    NO_DISKS.iter().any(|kind| device.starts_with(kind))
}

fn device(command: &Command, word: &Word, homes: &KnownHomes) -> Option<String> {
    if !word.text.contains("dev")
        && command
            .cwd
            .as_deref()
            .is_none_or(|cwd| !cwd.contains("dev"))
    {
        return None;
    }
    let path = located(command, word, homes);
    path.strip_prefix("/dev/").map(str::to_owned)
}

/// Whether writing here restarts the machine.
pub(super) fn is_restart_switch(command: &Command, word: &Word, homes: &KnownHomes) -> bool {
    word.text.contains("sysrq") && located(command, word, homes) == "/proc/sysrq-trigger"
}

/// Whether a path lies in a directory that everybody writes to.
pub(super) fn is_in_temporary_directory(path: &str) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"]
        .iter()
        .any(|directory| {
            path.strip_prefix(directory)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// What overwriting a path would hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sensitive {
    System,
    /// Keys, credentials and shell start-up files of the user.
    User,
    /// Credentials, settings and state of Hermes.
    Hermes,
    /// `.env` files and `config.yaml` of a project.
    Project,
}

/// What overwriting the path that a word names would hurt, if anything.
pub(super) fn sensitivity(command: &Command, word: &Word, homes: &KnownHomes) -> Option<Sensitive> {
    let path = located(command, word, homes);
    let place = if let Some(in_hermes) = path.strip_prefix("~/.hermes/") {
        in_hermes_home(Path::new(in_hermes))
    } else if let Some(below_home) = path.strip_prefix("~/") {
        in_home(Path::new(below_home))
    } else {
        on_machine(Path::new(&path))
    };
    match place.filter(|place| place.refuses(Access::WriteByCommand)) {
        Some(PrivatePlace::Credentials | PrivatePlace::ShellStartup) => {
            return Some(Sensitive::User);
        }
        Some(
            PrivatePlace::HermesSecrets
            | PrivatePlace::HermesState
            | PrivatePlace::HermesRules
            | PrivatePlace::HermesInstructions,
        ) => {
            return Some(Sensitive::Hermes);
        }
        Some(_) => return Some(Sensitive::System),
        None => {}
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let project = name == ".env" || name.starts_with(".env.") || name == "config.yaml";
    project.then_some(Sensitive::Project)
}
