//! What a sandbox should be, from settings and surroundings.
//!
//! The one place that decides it: every tool that may be the first to need a sandbox asks for the
//! same plan. Looks at files, asks the engine nothing and changes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hermes_policy::ProtectedHomes;

use super::auto_mounts::{AutoMountFacts, AutoMounts};
use super::error::{DockerError, Result};
use super::extra_args::ExtraArgs;
use super::host_paths::HostPaths;
use super::identity::SandboxIdentity;
use super::labels;
use super::mounts::{Mount, MountOrigin, PathMap};
use super::settings::{DockerSettings, InitMode, Isolation};
use super::volumes::{VolumeContext, Volumes};
use super::workdir::{CONTAINER_HOME, WORKSPACE, Workdir, WorkdirFacts};

/// The task whose sandbox nearly all conversations share.
pub const SHARED_TASK: &str = "default";

/// Where files that belong to a card are in its container.
const ATTACHMENTS: &str = "/root/.hermes/kanban/attachments";

/// What the settings do not tell.
#[derive(Debug, Clone)]
pub struct HostFacts {
    pub hermes_home: PathBuf,
    /// `default`, the name of the profile, or `custom`.
    pub profile: String,
    pub user_home: PathBuf,
    /// Directories that are never mounted as a whole, besides those two.
    pub protected: ProtectedHomes,
    pub start_directory: Option<PathBuf>,
    pub is_container: bool,
    /// `/`, or what stands for it in tests.
    pub file_system_root: PathBuf,
}

impl HostFacts {
    /// Directories that are never mounted as a whole.
    pub(crate) fn protected_homes(&self) -> ProtectedHomes {
        let mut homes = self.protected.clone();
        homes.account_homes.push(self.user_home.clone());
        homes.hermes_homes.push(self.hermes_home.clone());
        homes
    }
}

/// What one sandbox is asked to be.
#[derive(Debug, Clone, Default)]
pub struct SandboxRequest {
    pub task: String,
    /// The directory of the host that the work is about, bound at `/workspace` whatever the
    /// settings
    /// say. Such a sandbox goes with this process: nobody comes back to the directory of a card.
    pub workspace: Option<PathBuf>,
    /// The directory with files that belong to the card, mounted to be read.
    pub attachments: Option<PathBuf>,
}

impl SandboxRequest {
    /// The sandbox of a task, as the settings have it.
    pub fn of(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            ..Self::default()
        }
    }

    /// The sandbox that a session uses: each its own where the settings say so.
    pub fn of_session(session: &str, isolation: Isolation) -> Self {
        match isolation {
            Isolation::Session => Self::of(format!("session-{session}")),
            Isolation::Shared => Self::of(SHARED_TASK),
        }
    }
}

/// Most of what a container may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Cores; none if not above zero.
    pub cpus: f64,
    /// Megabytes of memory; none if not above zero.
    pub memory_mb: i64,
    /// Processes and threads; none if not above zero.
    pub pids: i64,
}

/// What a sandbox should be.
#[derive(Debug, Clone)]
pub struct SandboxPlan {
    pub identity: SandboxIdentity,
    pub image: String,
    /// Where commands start, in the container.
    pub directory: String,
    /// User and group of its processes, if not the image's.
    pub user: Option<(u32, u32)>,
    /// Memory disks for home and workspace, where those do not last.
    pub writable_tmpfs: Vec<String>,
    /// Everything mounted, in the order of the arguments.
    pub mounts: Vec<Mount>,
    /// What the settings want mounted though it is missing now.
    pub missing: Vec<Mount>,
    pub env: BTreeMap<String, String>,
    pub extra_args: Vec<String>,
    pub network: bool,
    /// Whether what Hermes mounts by itself is wanted.
    pub auto_mounts: bool,
    pub limits: Limits,
    /// Megabytes of disk; none if not above zero.
    pub disk_mb: i64,
    pub init: InitMode,
    /// Whether later processes share it.
    pub is_shared: bool,
    /// The host's directory of this sandbox.
    pub sandbox_directory: PathBuf,
    /// Where the engine sees the sandboxes of this home.
    pub engine_sandbox_dir: Option<PathBuf>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
}

impl SandboxPlan {
    /// Works out the plan.
    pub fn new(
        settings: &DockerSettings,
        request: &SandboxRequest,
        facts: &HostFacts,
        host_paths: &HostPaths,
    ) -> Result<Self> {
        refuse_contradictions(settings)?;
        let engine_is_here = host_paths.is_same();
        let start = facts.start_directory.as_deref();
        let protected = facts.protected_homes();
        let mut volumes = Volumes::read(
            &settings.volumes,
            VolumeContext {
                user_home: &facts.user_home,
                directory: start.unwrap_or(&facts.hermes_home),
                engine_is_here,
            },
        )?;
        if request.workspace.is_some() {
            volumes.leave_out_homes(&protected);
        }
        let workdir = Workdir::resolve(WorkdirFacts {
            setting: &settings.cwd,
            mount_current: settings.mount_cwd,
            process_directory: start,
            user_home: &facts.user_home,
            protected: &protected,
            workspace: request.workspace.as_deref(),
            workspace_is_taken: volumes.has_target(WORKSPACE),
        })?;
        let task_label = labels::sanitize(&request.task);
        let sandbox_directory = settings.sandbox_of(&task_label);
        let mut builder = Builder {
            host_paths,
            mounts: Vec::new(),
            warnings: settings.warnings.clone(),
        };
        let has_workspace = workdir.bind.is_some() || volumes.has_target(WORKSPACE);
        builder.warnings.extend(volumes.warnings);
        builder.warnings.extend(workdir.warnings);
        if settings.container_persistent {
            builder.add(Mount::generated(
                &sandbox_directory.join("home"),
                CONTAINER_HOME,
                MountOrigin::Writable,
            ));
            if !has_workspace {
                builder.add(Mount::generated(
                    &sandbox_directory.join("workspace"),
                    WORKSPACE,
                    MountOrigin::Writable,
                ));
            }
        }
        let bound = workdir.bind.as_ref().map(|directory| {
            let mount = Mount::generated(directory, WORKSPACE, MountOrigin::CurrentDirectory);
            builder.add(mount).then(|| builder.last_source())
        });
        builder.mounts.extend(volumes.mounted);
        if let Some(directory) = request.attachments.as_deref().filter(|path| path.is_dir()) {
            builder.add(Mount::generated(directory, ATTACHMENTS, MountOrigin::Cache));
        }
        if settings.auto_mounts {
            builder.add_automatic(settings, facts);
        }
        let bound = bound.flatten().map(PathBuf::from);
        let user = settings.run_as_host_user.then(|| {
            let uid = rustix::process::getuid().as_raw();
            (uid, rustix::process::getgid().as_raw())
        });
        let mut env = settings.env.clone();
        if user.is_some() {
            // A uid without an entry in the image's password file would get `/`.
            env.entry("HOME".to_owned())
                .or_insert_with(|| CONTAINER_HOME.to_owned());
        }
        let goes = request.workspace.is_some() && bound.is_some();
        Ok(Self {
            identity: SandboxIdentity {
                task: request.task.clone(),
                profile: facts.profile.clone(),
                home_key: labels::home_key(&facts.hermes_home),
                bound_directory: bound,
            },
            image: settings.image.clone(),
            directory: workdir.directory,
            user,
            writable_tmpfs: writable_tmpfs(settings, user, has_workspace),
            mounts: builder.mounts,
            missing: volumes.missing,
            env,
            extra_args: settings.extra_args.clone(),
            network: settings.network,
            auto_mounts: settings.auto_mounts,
            limits: Limits {
                cpus: settings.cpus,
                memory_mb: settings.memory_mb,
                pids: settings.pids_limit,
            },
            disk_mb: settings.disk_mb,
            init: settings.init,
            is_shared: settings.persist_across_processes && !goes,
            engine_sandbox_dir: host_paths.translate(&settings.sandbox_dir.join("docker")),
            sandbox_directory,
            warnings: builder.warnings,
        })
    }

    /// Where files are on both sides.
    pub fn path_map(&self) -> PathMap {
        PathMap::of(&self.mounts)
    }

    /// The directory of the host at `/workspace`, as we see it.
    pub(crate) fn bound_directory(&self) -> Option<&Path> {
        let bound = |mount: &&Mount| mount.origin == MountOrigin::CurrentDirectory;
        let mount = self.mounts.iter().find(bound)?;
        Some(Path::new(&mount.source))
    }

    /// The user's arguments.
    pub fn extra(&self) -> ExtraArgs<'_> {
        ExtraArgs(&self.extra_args)
    }
}

fn refuse_contradictions(settings: &DockerSettings) -> Result<()> {
    if !settings.network && ExtraArgs(&settings.extra_args).sets_network() {
        return Err(DockerError::Settings {
            message:
                "terminal.docker_network is false, but terminal.docker_extra_args sets a network"
                    .to_owned(),
            hint: "remove --network from docker_extra_args, or set docker_network to true"
                .to_owned(),
        });
    }
    Ok(())
}

fn writable_tmpfs(
    settings: &DockerSettings,
    user: Option<(u32, u32)>,
    has_workspace: bool,
) -> Vec<String> {
    if settings.container_persistent {
        return Vec::new();
    }
    let owner = user.map_or_else(String::new, |(uid, gid)| {
        format!(",uid={uid},gid={gid},mode=0755")
    });
    let mut disks = Vec::new();
    if !has_workspace {
        disks.push(format!("{WORKSPACE}:rw,exec,size=10g{owner}"));
    }
    disks.push(format!("/home:rw,exec,size=1g{owner}"));
    disks.push(format!("{CONTAINER_HOME}:rw,exec,size=1g{owner}"));
    disks
}

struct Builder<'a> {
    host_paths: &'a HostPaths,
    mounts: Vec<Mount>,
    warnings: Vec<String>,
}

impl Builder<'_> {
    /// Adds a mount of ours where the engine has its source; says whether it has.
    fn add(&mut self, mut mount: Mount) -> bool {
        let Some(there) = self.host_paths.translate(Path::new(&mount.source)) else {
            self.warnings.push(format!(
                "{} is not mounted: Hermes runs in a container and does not know the path on the \
                 host; add it to terminal.docker_host_path_map",
                mount.source
            ));
            return false;
        };
        let there = there.display().to_string();
        mount.engine_source = (there != mount.source).then_some(there);
        self.mounts.push(mount);
        true
    }

    fn last_source(&self) -> String {
        let last = self.mounts.last();
        last.map_or_else(String::new, |mount| mount.engine_source().to_owned())
    }

    fn add_automatic(&mut self, settings: &DockerSettings, facts: &HostFacts) {
        let found = AutoMounts::collect(AutoMountFacts {
            home: &facts.hermes_home,
            user_home: &facts.user_home,
            credential_files: &settings.credential_files,
            external_skill_dirs: &settings.external_skill_dirs,
        });
        self.warnings.extend(found.warnings);
        for mount in found.mounts {
            // What the user mounts at the same path is what the user wants there.
            if !self.mounts.iter().any(|known| known.target == mount.target) {
                self.add(mount);
            }
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
