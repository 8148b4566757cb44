//! The Landlock domain of a sandbox: who may be written, read and signalled.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::plan::DEVICES;
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

/// Rules that were allowed to stay although what they are about may be gone.
const MOST_LEFTOVERS: usize = 512;

/// Who may be read and written, by what lies at a path rather than by the path.
#[derive(Debug)]
pub(super) struct Rules {
    ruleset: RulesetCreated,
    handled: BitFlags<AccessFs>,
    /// Device and inode of each that something is allowed on.
    allowed: HashSet<(u64, u64)>,
}

impl Rules {
    /// The rules for these paths. `opened` are directories that only the mount namespace of the
    /// sandbox has.
    pub(super) fn of(
        writable: &[PathBuf],
        readable: &Readable,
        opened: &[OwnedFd],
        version: u32,
    ) -> io::Result<Self> {
        let abi = ABI::from(i32::try_from(version.min(7)).unwrap_or(7));
        let all = AccessFs::from_read(abi) | AccessFs::from_write(abi);
        // Names are no secret, and a directory that may not be listed breaks the most innocent
        // program.
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
        let mut rules = Self {
            ruleset: ruleset.create().map_err(io::Error::other)?,
            handled,
            allowed: HashSet::new(),
        };
        for path in readable.paths() {
            rules.allow_reading(path)?;
        }
        // Devices cannot be made, whatever may be written.
        let write = handled & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
        for path in writable {
            rules.allow(path, write)?;
        }
        for device in DEVICES {
            let use_it = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});
            rules.allow(Path::new(device), use_it & handled)?;
        }
        for directory in opened {
            rules.allow_opened(directory, write)?;
        }
        Ok(rules)
    }

    /// The same rules and more to read, for children to come.
    pub(super) fn with(&self, readable: &[&Path]) -> io::Result<Self> {
        let mut rules = self.try_clone()?;
        for path in readable {
            rules.allow_reading(path)?;
        }
        Ok(rules)
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            ruleset: self.ruleset.try_clone()?,
            handled: self.handled,
            allowed: self.allowed.clone(),
        })
    }

    /// A descriptor that a child restricts itself with.
    pub(super) fn descriptor(&self) -> io::Result<Option<OwnedFd>> {
        Ok(self.ruleset.try_clone()?.into())
    }

    /// Whether something is allowed on what lies at a path, under whichever name it was found.
    pub(super) fn allow_file(&self, identity: (u64, u64)) -> bool {
        self.allowed.contains(&identity)
    }

    /// Whether many of the rules are about what is gone, which they keep on the disk, given how many
    /// are needed for reading.
    pub(super) fn has_leftovers(&self, needed: usize) -> bool {
        self.allowed.len() > needed + MOST_LEFTOVERS
    }

    fn allow_reading(&mut self, path: &Path) -> io::Result<()> {
        let read = make_bitflags!(AccessFs::{ReadFile | Execute}) & self.handled;
        self.allow(path, read)
    }

    /// Allows this below a path. One that is gone, or that we cannot look at, needs no rule.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(opened) => self.allow_opened(&opened, access),
            Err(_) => Ok(()),
        }
    }

    fn allow_opened(&mut self, opened: &OwnedFd, access: BitFlags<AccessFs>) -> io::Result<()> {
        let stat = rustix::fs::fstat(opened)?;
        let access = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            access
        } else {
            access & AccessFs::from_file(ABI::V7) & self.handled
        };
        if access.is_empty() {
            return Ok(());
        }
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(opened, access))
            .map_err(io::Error::other)?;
        self.allowed.insert((stat.st_dev, stat.st_ino));
        Ok(())
    }
}
