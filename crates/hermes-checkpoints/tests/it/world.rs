//! A home, a project, and the snapshots of a conversation in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hermes_checkpoints::{Boundaries, Checkpoints, Limits, Project, Snapshot, Store};
use hermes_config::Environment;
use hermes_proc::{EnvPlan, EnvPolicy, EnvRequest, SpawnClass};

pub(crate) struct World {
    _place: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) store: Store,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

pub(crate) const LIMITS: Limits = Limits {
    max_snapshots: 20,
    max_total_bytes: 500 << 20,
    max_file_bytes: 10 << 20,
};

impl World {
    pub(crate) fn new() -> Self {
        Self::with_variables(&[])
    }

    /// With more variables of whoever starts the program.
    pub(crate) fn with_variables(more: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (home, project) = (root.join("user/.hermes"), root.join("user/project"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        let store = Store::of_home(
            &home,
            plan(&root.join("user"), more),
            &Environment::from_pairs::<&str, &str>([]),
        );
        Self {
            _place: place,
            home,
            project,
            store,
            told: Arc::default(),
        }
    }

    pub(crate) fn checkpoints(&self, limits: Limits) -> Checkpoints {
        let told = Arc::clone(&self.told);
        let boundaries = Boundaries {
            homes: vec![self.home.parent().unwrap().to_owned()],
            hermes: vec![self.home.clone()],
        };
        let notify = move |message: &str, _: Option<&str>| {
            told.lock().unwrap().push(message.to_owned());
        };
        Checkpoints::new(
            self.store.clone(),
            limits,
            boundaries,
            None,
            Box::new(notify),
        )
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project.join(path)).unwrap()
    }

    pub(crate) fn snapshot(&self, checkpoints: &Checkpoints, reason: &str) {
        checkpoints.begin_step();
        checkpoints.before_change(&self.project.join("any"), reason);
    }

    pub(crate) fn list(&self) -> Vec<Snapshot> {
        let project = Project::of(&self.project);
        self.store.list(&project, 1000).unwrap()
    }

    /// The files of the newest snapshot.
    pub(crate) fn saved(&self) -> Vec<String> {
        let id = self.list().first().unwrap().id.clone();
        let store = self.home.join("checkpoints/store");
        let words = ["ls-tree", "-r", "--name-only", &id];
        let text = hermes_testkit::git(&store, &words);
        text.lines().map(str::to_owned).collect()
    }
}

/// The environment of a program that we run for our own ends.
fn plan(user_home: &Path, more: &[(&str, &str)]) -> EnvPlan {
    let mut base = vec![
        ("HOME".into(), user_home.as_os_str().to_owned()),
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
    ];
    for (name, value) in more {
        base.push(((*name).into(), (*value).into()));
    }
    let policy = EnvPolicy::default();
    let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy));
    // The plan of a helper knows where programs are; a test may know better.
    match more.iter().find(|(name, _)| *name == "PATH") {
        Some((_, path)) => plan.with("PATH", *path),
        None => plan,
    }
}

/// Nothing that could be packed, each time another 100,000 bytes.
pub(crate) fn noise(round: u32) -> Vec<u8> {
    let mut state = round + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..100_000).map(|_| next()).collect()
}
