//! A sandbox that is ready for many children.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seccompiler::BpfProgram;

use super::enforcement::{Enforcement, KernelSupport};
use super::filters::{filters, reported};
use super::landlock_rules::{Rules, version};
use super::loopback::serve;
use super::namespaces::Namespaces;
use super::plan::{SHARED_MEMORY, SandboxPlan};
use super::readable::Readable;

/// Devices are allowed one by one: a disk holds what is hidden.
const DEVICES: &str = "/dev";

/// A plan as the kernel enforces it. Preparing one takes a few milliseconds; starting a child with it
/// costs almost nothing more than starting it without.
#[derive(Debug)]
pub struct Sandbox {
    plan: SandboxPlan,
    pub(super) confinement: Arc<Confinement>,
    enforcement: Enforcement,
    readable: Readable,
    /// Who else may be read or written, where the kernel has Landlock.
    rules: Option<Rules>,
    /// Sockets and writable paths as they were mounted.
    fixed: Arc<Paths>,
    /// Hidden paths as they were covered.
    covered: Arc<Paths>,
    /// Hidden paths as they were when this was made.
    hidden: Paths,
}

/// What lay at paths.
type Paths = Vec<(PathBuf, Option<Found>)>;

/// What a child does to itself.
#[derive(Debug)]
pub(super) struct Confinement {
    pub(super) namespaces: Option<Arc<Namespaces>>,
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) filters: Arc<Filters>,
}

#[derive(Debug)]
pub(super) struct Filters {
    pub(super) installed: Vec<BpfProgram>,
    /// The filter whose calls are reported to us.
    pub(super) reported: Option<BpfProgram>,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    /// Device and inode.
    identity: (u64, u64),
    is_file: bool,
}

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
        let fixed = found_at(plan.sockets.iter().chain(&plan.writable));
        let hidden = found_at(&plan.hidden);
        let namespaces = if support.namespaces {
            Namespaces::build(&plan).map_err(|error| error.to_string())
        } else {
            Err("this kernel is simulated to have none".to_owned())
        };
        let without = namespaces.as_ref().err().cloned();
        let enforcement = Enforcement::new(landlock, without.as_deref());
        let writable = match without {
            Some(reason) if landlock == 0 => return Err(SandboxError::Unsupported { reason }),
            Some(_) => {
                let mut writable = by_entry(&plan);
                // Without memory of its own it uses the machine's.
                writable.push(SHARED_MEMORY.into());
                writable
            }
            None => plan.writable.clone(),
        };
        let namespaces = namespaces.ok().map(Arc::new);
        let own: &[OwnedFd] = namespaces
            .as_ref()
            .map_or(&[], |namespaces| &namespaces.own_directories);
        let (readable, rules) = if landlock > 0 {
            let readable = Readable::except(not_readable(&plan));
            let rules = Rules::of(&writable, &readable, own, landlock)?;
            (readable, Some(rules))
        } else {
            (Readable::default(), None)
        };
        Ok(Self {
            confinement: Arc::new(Confinement {
                namespaces,
                ruleset: rules.as_ref().map(Rules::descriptor).transpose()?.flatten(),
                filters: Arc::new(Filters {
                    installed: filters(plan.network)?,
                    reported: reported(plan.network),
                }),
            }),
            plan,
            enforcement,
            readable,
            rules,
            fixed: Arc::new(fixed),
            covered: Arc::new(hidden.clone()),
            hidden,
        })
    }

    /// A sandbox for a plan that says the same again, or nearly so, made of this one: what has come
    /// into being since can be read, unless it is hidden. `None` if it has to be prepared anew.
    pub fn renewed(&self, plan: &SandboxPlan) -> io::Result<Option<Self>> {
        let hidden = found_at(&plan.hidden);
        let Some(rules) = self.rules.as_ref().filter(|_| self.enforces(plan, &hidden)) else {
            return Ok(None);
        };
        let readable = self.readable.renewed(not_readable(plan));
        let new = readable.beyond(&self.readable);
        if rules.has_leftovers(readable.paths().count() + new.len()) {
            return Ok(None);
        }
        let (rules, confinement) = if new.is_empty() {
            (rules.try_clone()?, Arc::clone(&self.confinement))
        } else {
            let rules = rules.with(&new)?;
            let confinement = Confinement {
                namespaces: self.confinement.namespaces.clone(),
                ruleset: rules.descriptor()?,
                filters: Arc::clone(&self.confinement.filters),
            };
            (rules, Arc::new(confinement))
        };
        Ok(Some(Self {
            plan: plan.clone(),
            confinement,
            enforcement: self.enforcement.clone(),
            readable,
            rules: Some(rules),
            fixed: Arc::clone(&self.fixed),
            covered: Arc::clone(&self.covered),
            hidden,
        }))
    }

    /// Whether the mounts are those of this plan, and what they do not hide cannot be read anyway.
    fn enforces(&self, plan: &SandboxPlan, hidden: &Paths) -> bool {
        let earlier = &self.plan;
        let is_same = earlier.writable == plan.writable
            && earlier.protected == plan.protected
            && earlier.pinned == plan.pinned
            && earlier.sockets == plan.sockets
            && earlier.network == plan.network;
        is_same
            && are_as_then(&self.fixed)
            && hidden.iter().all(|(path, now)| self.hides(path, *now))
            // What is not hidden any more has gone.
            && earlier
                .hidden
                .iter()
                .all(|path| plan.hidden.contains(path) || found(path).is_none())
    }

    /// Whether a path is covered, or is a file that no rule allows. Landlock does not keep anybody
    /// from a socket, so a directory, where one may be, has to be covered.
    fn hides(&self, path: &Path, now: Option<Found>) -> bool {
        let Some(now) = now else {
            return true;
        };
        let is_covered = self
            .covered
            .iter()
            .any(|(known, then)| known == path && *then == Some(now));
        let is_allowed = || {
            self.readable.allows(path)
                || self.plan.writable.iter().any(|open| path.starts_with(open))
                || self
                    .rules
                    .as_ref()
                    .is_none_or(|rules| rules.allow_file(now.identity))
        };
        is_covered || (now.is_file && !is_allowed())
    }

    /// What was planned.
    pub fn plan(&self) -> &SandboxPlan {
        &self.plan
    }

    /// What of it is enforced.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// Whether a child of the other is confined just as one of this.
    pub fn confines_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.confinement, &other.confinement)
    }

    /// Whether a child reports calls, and needs somebody to hear it.
    pub(crate) fn reports(&self) -> bool {
        self.confinement.filters.reported.is_some()
    }

    /// Makes the calls of a child that reports them, until it and all it started have ended.
    pub(crate) fn serve(listener: OwnedFd) -> io::Result<()> {
        serve(listener)
    }

    /// Whether the paths of the plan are those it was prepared with. A file that was replaced since
    /// is not covered any more; one that came into being cannot be read yet.
    pub fn is_current(&self) -> bool {
        are_as_then(&self.fixed) && are_as_then(&self.hidden) && self.readable.is_current()
    }
}

/// What a plan forbids to read, and what is allowed one by one.
fn not_readable(plan: &SandboxPlan) -> impl Iterator<Item = &Path> + Clone {
    let hidden = plan.hidden.iter().map(PathBuf::as_path);
    hidden.chain([Path::new(DEVICES)])
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

fn found_at<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Paths {
    let found = paths.into_iter().map(|path| (path.clone(), found(path)));
    found.collect()
}

fn are_as_then(paths: &Paths) -> bool {
    paths.iter().all(|(path, then)| found(path) == *then)
}

fn found(path: &Path) -> Option<Found> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some(Found {
        identity: (stat.st_dev, stat.st_ino),
        is_file: rustix::fs::FileType::from_raw_mode(stat.st_mode)
            == rustix::fs::FileType::RegularFile,
    })
}
