//! How the process of a worker is started: program, variables, limits, and what it cannot see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_proc::sandbox::{KernelSupport, Network, Sandbox, SandboxPlan};
use hermes_proc::{ChildSpec, Group, ResourceLimits, Streams};

use super::shim;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::search_path;
use crate::launch::Serviceable;
use crate::settings::{AddonSettings, Variables};

const OPEN_FILES: u64 = 512;
const FILE_SIZE: u64 = 1 << 30;
const NICENESS: u8 = 5;

/// Directories of one worker.
pub(super) struct WorkerDirectories {
    /// For files that are too large for messages.
    pub(super) io: PathBuf,
    temporary: PathBuf,
    /// `HOME` of the process.
    home: PathBuf,
}

impl WorkerDirectories {
    /// Makes the directories of a feature.
    pub(super) fn make(settings: &AddonSettings, feature: &str) -> Result<Self> {
        let cache = settings.places.home.join("cache/addons");
        let io = cache.join(feature);
        let directories = Self {
            temporary: io.join("tmp"),
            home: io.join("home"),
            io,
        };
        for path in [&directories.temporary, &directories.home] {
            hermes_fs::create_dir_all(path, 0o700).map_err(|error| {
                AddonError::new(Code::Broken, error.to_string())
                    .hint("check the owner and the mode of the directory")
            })?;
        }
        Ok(directories)
    }
}

/// The process of a worker, ready to be started.
pub(super) fn spec(
    settings: &AddonSettings,
    feature: &str,
    ready: &Serviceable,
    directories: &WorkerDirectories,
) -> Result<ChildSpec> {
    let (adapter, _) = shim::adapter(feature).ok_or_else(|| no_worker(feature))?;
    let shim = shim::provide(&ready.store)?;
    let program = &ready.interpreter.path;
    let mut args: Vec<OsString> = ["-I", "-S", "-B", "-u", "-X", "utf8"]
        .map(Into::into)
        .into();
    args.push(shim.join(shim::MAIN).into());
    args.extend(["--site".into(), ready.site().into()]);
    args.extend(["--adapter".into(), adapter.trim_end_matches(".py").into()]);
    let memory = settings.worker.memory_bytes;
    Ok(ChildSpec {
        cwd: Some(directories.io.clone()),
        streams: Streams::Pipes { input: true },
        group: Group::Session,
        ends_with_thread: true,
        sandbox: sandbox(settings, &shim, ready, directories),
        limits: ResourceLimits {
            address_space: Some(memory),
            open_files: Some(OPEN_FILES),
            file_size: Some(FILE_SIZE),
            core_file: Some(0),
            niceness: NICENESS,
        },
        ..ChildSpec::new(program, args, variables(settings, program, directories))
    })
}

/// A feature whose packages only scripts use.
pub(super) fn no_worker(feature: &str) -> AddonError {
    let reason = "no tool of this version of Hermes uses it; scripts can";
    AddonError::new(Code::Unsupported, reason)
        .hint(format!("run: hermes addons python {feature} SCRIPT"))
}

fn variables(
    settings: &AddonSettings,
    program: &Path,
    directories: &WorkerDirectories,
) -> Variables {
    let own: [(&str, OsString); 5] = [
        ("PATH", search_path(program)),
        ("LANG", "C.UTF-8".into()),
        ("TMPDIR", directories.temporary.clone().into()),
        ("HOME", directories.home.clone().into()),
        // By which everything that the worker starts is found.
        ("HERMES_EXEC_ID", hermes_fs::random_hex(16).into()),
    ];
    let own = own.map(|(name, value)| (OsString::from(name), value));
    let zone = settings.zone.iter().map(|zone| ("TZ".into(), zone.clone()));
    own.into_iter()
        .chain(settings.network.iter().cloned())
        .chain(zone)
        .collect()
}

/// Landlock where the kernel has it: nothing can be written but the worker's own directories, and
/// nothing of the user's home and of the home of Hermes can be read but what the worker is made of.
fn sandbox(
    settings: &AddonSettings,
    shim: &Path,
    ready: &Serviceable,
    directories: &WorkerDirectories,
) -> Option<Arc<Sandbox>> {
    if !settings.worker.sandbox {
        return None;
    }
    let program = hermes_fs::resolved(&ready.interpreter.path);
    // `bin/python` of an installation whose library lies beside `bin`.
    let prefix = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
    let kept: Vec<PathBuf> = [
        &prefix(&program).unwrap_or_default(),
        &prefix(&ready.interpreter.path).unwrap_or_default(),
        shim,
        &ready.site(),
        &directories.io,
    ]
    .into_iter()
    .filter(|path| !path.as_os_str().is_empty())
    .map(hermes_fs::resolved)
    .collect();
    let homes = [&settings.places.home, &settings.places.user_home];
    let mut hidden = Vec::new();
    for home in homes {
        let home = hermes_fs::resolved(home);
        // An account without a home of its own: the system must stay in sight.
        if home.parent().is_some() {
            hide(&home, &kept, &mut hidden);
        }
    }
    hidden.sort();
    hidden.dedup();
    let plan = SandboxPlan {
        writable: vec![hermes_fs::resolved(&directories.io)],
        hidden,
        network: Network::On,
        ..SandboxPlan::default()
    };
    let support = KernelSupport {
        namespaces: false,
        ..KernelSupport::ALL
    };
    match Sandbox::prepare(plan, support) {
        Ok(sandbox) => Some(Arc::new(sandbox)),
        Err(error) => {
            tracing::info!(%error, "a worker runs without a sandbox");
            None
        }
    }
}

/// Notes everything in a directory that is not on the way to something that is kept.
fn hide(directory: &Path, kept: &[PathBuf], hidden: &mut Vec<PathBuf>) {
    if kept.iter().any(|path| directory.starts_with(path)) {
        return;
    }
    if !kept.iter().any(|path| path.starts_with(directory)) {
        hidden.push(directory.to_owned());
        return;
    }
    for entry in hermes_fs::read_dir(directory).unwrap_or_default() {
        // What a link leads to is hidden where it lies, if at all.
        if entry.kind != hermes_fs::Kind::Symlink {
            hide(&entry.path, kept, hidden);
        }
    }
}
