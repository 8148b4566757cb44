//! A sandbox that is ready for many children.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use seccompiler::BpfProgram;

use super::enforcement::{Enforcement, KernelSupport};
use super::filters::{filters, reported};
use super::landlock_rules::{ruleset, version};
use super::loopback::serve;
use super::namespaces::Namespaces;
use super::plan::{SHARED_MEMORY, SandboxPlan};
use super::readable::Readable;

/// A plan as the kernel enforces it. Preparing one takes a few milliseconds; starting a child with it
/// costs almost nothing more than starting it without.
#[derive(Debug)]
pub struct Sandbox {
    plan: SandboxPlan,
    pub(super) namespaces: Option<Namespaces>,
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) filters: Vec<BpfProgram>,
    /// The filter whose calls are reported to us.
    pub(super) reported: Option<BpfProgram>,
    enforcement: Enforcement,
    readable: Readable,
    hidden: Vec<(PathBuf, Option<Identity>)>,
}

/// Device and inode.
type Identity = (u64, u64);

/// Why commands cannot be confined here.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing keeps a command from writing where it likes.
    #[error(
        "this kernel cannot confine commands: it has no Landlock, and no mount namespace can \
             be had ({reason})"
    )]
    Unsupported { reason: String },
    #[error("could not prepare the sandbox: {0}")]
    Failed(#[from] io::Error),
}

impl Sandbox {
    /// Prepares a plan with what this kernel has. Something that it lacks is a gap of the
    /// enforcement; an error if commands could not be confined at all.
    pub fn prepare(plan: SandboxPlan, support: KernelSupport) -> Result<Self, SandboxError> {
        let landlock = version().min(support.landlock);
        let namespaces = if support.namespaces {
            Namespaces::build(&plan).map_err(|error| error.to_string())
        } else {
            Err("this kernel is simulated to have none".to_owned())
        };
        let without = namespaces.as_ref().err().cloned();
        let enforcement = Enforcement::new(landlock, without.as_deref());
        if let Some(reason) = without {
            if landlock == 0 {
                return Err(SandboxError::Unsupported { reason });
            }
            let mut rules = plan.clone();
            rules.writable = by_entry(&plan);
            // Without memory of its own it uses the machine's.
            rules.writable.push(SHARED_MEMORY.into());
            return Self::finish(rules, plan, None, landlock, enforcement);
        }
        let rules = plan.clone();
        Self::finish(plan, rules, namespaces.ok(), landlock, enforcement)
    }

    fn finish(
        rules: SandboxPlan,
        plan: SandboxPlan,
        namespaces: Option<Namespaces>,
        landlock: u32,
        enforcement: Enforcement,
    ) -> Result<Self, SandboxError> {
        let own: &[OwnedFd] = namespaces
            .as_ref()
            .map_or(&[], |namespaces| &namespaces.own_directories);
        let (readable, ruleset) = if landlock > 0 {
            // Devices are allowed one by one: a disk holds what is hidden.
            let devices = std::path::Path::new("/dev");
            let hidden = rules.hidden.iter().map(PathBuf::as_path);
            let readable = Readable::except(hidden.chain([devices]));
            let ruleset = ruleset(&rules, &readable, own, landlock)?;
            (readable, ruleset)
        } else {
            (Readable::default(), None)
        };
        let hidden = plan
            .hidden
            .iter()
            .chain(&plan.sockets)
            .chain(&plan.writable);
        Ok(Self {
            hidden: hidden.map(|path| (path.clone(), identity(path))).collect(),
            filters: filters(plan.network)?,
            reported: reported(plan.network),
            plan,
            namespaces,
            ruleset,
            enforcement,
            readable,
        })
    }

    /// What was planned.
    pub fn plan(&self) -> &SandboxPlan {
        &self.plan
    }

    /// What of it is enforced.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// Whether a child reports calls, and needs somebody to hear it.
    pub(crate) fn reports(&self) -> bool {
        self.reported.is_some()
    }

    /// Makes the calls of a child that reports them, until it and all it started have ended.
    pub(crate) fn serve(listener: OwnedFd) -> io::Result<()> {
        serve(listener)
    }

    /// Whether the paths of the plan are those it was prepared with. A file that was replaced since
    /// is not hidden any more; one that came into being cannot be read yet.
    pub fn is_current(&self) -> bool {
        self.hidden
            .iter()
            .all(|(path, then)| identity(path) == *then)
            && self.readable.is_current()
    }
}

/// What may be written where only Landlock sees to it, which cannot except anything: a directory that
/// holds protected entries is allowed entry by entry, unless it belongs to a writable one.
fn by_entry(plan: &SandboxPlan) -> Vec<PathBuf> {
    let mut writable = Vec::new();
    for path in &plan.writable {
        if !plan.pinned.contains(path) {
            writable.push(path.clone());
            continue;
        }
        for entry in hermes_fs::read_dir(path).unwrap_or_default() {
            let holds = |kept: &PathBuf| kept.starts_with(&entry.path);
            if !plan.protected.iter().any(holds) {
                writable.push(entry.path);
            }
        }
    }
    writable
}

fn identity(path: &std::path::Path) -> Option<Identity> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}
