//! The Landlock domain of a sandbox: who may be written, read and signalled.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::plan::{DEVICES, SandboxPlan};
use super::readable::Readable;

/// The version of Landlock that this kernel has; 0 for none.
#[expect(
    unsafe_code,
    reason = "the crate does not tell the version of the kernel"
)]
pub(super) fn version() -> u32 {
    /// `LANDLOCK_CREATE_RULESET_VERSION`
    const VERSION: libc::c_uint = 1;
    // SAFETY: asks for a number; with this flag the kernel takes no address.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// The rules of a plan, as a descriptor that a child restricts itself with. `opened` are directories
/// that only the mount namespace of the sandbox has.
pub(super) fn ruleset(
    plan: &SandboxPlan,
    readable: &Readable,
    opened: &[OwnedFd],
    version: u32,
) -> io::Result<Option<OwnedFd>> {
    let abi = ABI::from(i32::try_from(version.min(7)).unwrap_or(7));
    let all = AccessFs::from_read(abi) | AccessFs::from_write(abi);
    // Names are no secret, and a directory that may not be listed breaks the most innocent program.
    let handled = all & !AccessFs::ReadDir;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled)
        .map_err(io::Error::other)?;
    let ruleset = if version >= 6 {
        let scopes = make_bitflags!(Scope::{AbstractUnixSocket | Signal});
        ruleset.scope(scopes).map_err(io::Error::other)?
    } else {
        ruleset
    };
    let mut rules = Rules {
        ruleset: ruleset.create().map_err(io::Error::other)?,
        handled,
    };
    let read = make_bitflags!(AccessFs::{ReadFile | Execute}) & handled;
    // Devices cannot be made, whatever may be written.
    let write = handled & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    for path in &readable.paths {
        rules.allow(path, read)?;
    }
    for path in plan.writable.iter().map(Path::new) {
        rules.allow(path, write)?;
    }
    for device in DEVICES {
        let use_it = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});
        rules.allow(Path::new(device), use_it & handled)?;
    }
    for directory in opened {
        rules.allow_opened(directory, write)?;
    }
    Ok(Option::<OwnedFd>::from(rules.ruleset))
}

struct Rules {
    ruleset: RulesetCreated,
    handled: BitFlags<AccessFs>,
}

impl Rules {
    /// Allows this below a path. One that is gone, or that we cannot look at, needs no rule.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(opened) => self.allow_opened(&opened, access),
            Err(_) => Ok(()),
        }
    }

    fn allow_opened(&mut self, opened: &OwnedFd, access: BitFlags<AccessFs>) -> io::Result<()> {
        let mode = rustix::fs::fstat(opened)?.st_mode;
        let access = if FileType::from_raw_mode(mode) == FileType::Directory {
            access
        } else {
            access & AccessFs::from_file(ABI::V7) & self.handled
        };
        if access.is_empty() {
            return Ok(());
        }
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(opened, access))
            .map(drop)
            .map_err(io::Error::other)
    }
}
