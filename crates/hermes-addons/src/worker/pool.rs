//! The workers of a process: started by the first call of their feature, used by all.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::{Wake, wait_for_any};
use hermes_secret::{Redactor, SecretString};
use serde_json::{Map, Value, json};

use super::WorkerRow;
use super::calls::{Calls, ended_early};
use super::history::{History, MayStart};
use super::log::WorkerLog;
use super::message;
use super::plan::{WorkerDirectories, no_worker, spec};
use super::process::{Start, Worker};
use super::shim;
use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::node_package::NodePackage;

/// For the message with settings and keys.
const CONFIGURE: Duration = Duration::from_secs(5);
/// From taking a call back to ending its worker.
const CANCEL: Duration = Duration::from_secs(2);

/// What workers need of the program around them.
pub trait WorkerHost: Send + Sync {
    /// A secret of the user's, by name. Asked only for names that the catalog has for the feature.
    fn secret(&self, name: &str) -> Option<SecretString>;

    /// Masks secrets in what workers print.
    fn redactor(&self) -> Arc<Redactor>;

    /// The settings of a feature.
    fn settings(&self, feature: &str) -> Map<String, Value>;
}

/// One call of an add-on.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub feature: &'a str,
    /// What the add-on is to be, and what it is to do as that.
    pub role: &'a str,
    pub operation: &'a str,
    pub arguments: &'a Value,
}

/// The workers of a process. Dropped, it ends them.
#[derive(Default)]
pub struct Workers {
    slots: Mutex<HashMap<(PathBuf, String), Arc<Slot>>>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}

/// The place of a feature's worker.
#[derive(Default)]
struct Slot {
    worker: Mutex<Option<Arc<Worker>>>,
    calls: Calls,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// Calls an installed add-on and waits for its answer, or for the interrupt.
    pub fn call(
        &self,
        addons: &Addons,
        host: &dyn WorkerHost,
        call: &Invocation<'_>,
        interrupt: &Wake,
    ) -> Result<Value> {
        let of_feature = |error: AddonError| error.of(call.feature);
        addons.with_worker(call.feature)?;
        let deadline = Instant::now() + addons.settings.worker.call_timeout;
        let slot = self.slot(addons, call.feature);
        let turn = slot.calls.enter(deadline, interrupt).map_err(of_feature)?;
        let attempt = || {
            let worker = slot.worker(addons, host, call.feature, false, interrupt)?;
            let params = json!({"role": call.role, "op": call.operation, "args": call.arguments});
            request(&worker, "hermes/invoke", &params, deadline, interrupt)
        };
        let is_idempotent = Addons::feature(call.feature)?
            .addon()
            .is_some_and(|addon| addon.idempotent);
        let mut answer = attempt();
        if is_idempotent && matches!(&answer, Err(error) if error.code == Code::AddonCrashed) {
            answer = attempt();
        }
        drop(turn);
        answer.map_err(of_feature)
    }

    fn slot(&self, addons: &Addons, feature: &str) -> Arc<Slot> {
        let key = (addons.settings.places.home.clone(), feature.to_owned());
        Arc::clone(lock(&self.slots).entry(key).or_default())
    }

    /// The worker of a feature, started if there is none; one that is resident stays.
    pub(super) fn running(
        &self,
        addons: &Addons,
        host: &dyn WorkerHost,
        feature: &str,
        interrupt: &Wake,
    ) -> Result<Arc<Worker>> {
        let slot = self.slot(addons, feature);
        slot.worker(addons, host, feature, true, interrupt)
    }

    /// Whether a worker of the feature is there.
    pub(crate) fn is_running(&self, addons: &Addons, feature: &str) -> bool {
        let key = (addons.settings.places.home.clone(), feature.to_owned());
        let slot = lock(&self.slots).get(&key).cloned();
        slot.is_some_and(|slot| {
            let worker = lock(&slot.worker);
            worker.as_ref().is_some_and(|worker| worker.is_alive())
        })
    }

    /// Ends all workers.
    pub fn close(&self) {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).drain().map(|(_, slot)| slot).collect();
        for slot in slots {
            if let Some(worker) = lock(&slot.worker).take() {
                worker.stop();
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Slot {
    /// The worker, started if there is none. One that `stays` is not ended for want of calls, if the
    /// catalog calls it resident.
    fn worker(
        &self,
        addons: &Addons,
        host: &dyn WorkerHost,
        feature: &str,
        stays: bool,
        interrupt: &Wake,
    ) -> Result<Arc<Worker>> {
        let mut place = lock(&self.worker);
        if let Some(worker) = place.as_ref().filter(|worker| worker.is_alive()) {
            return Ok(Arc::clone(worker));
        }
        *place = None;
        let history = History::of(&addons.settings.places.home, feature);
        let begun = Instant::now();
        let limit = addons.settings.worker.call_timeout;
        loop {
            match history.may_start(addons.settings.worker.max_restarts) {
                MayStart::Now => break,
                MayStart::After(pause) if begun.elapsed() + pause < limit => {
                    if interrupt.wait(pause) {
                        return Err(ended_early(interrupt));
                    }
                }
                MayStart::After(pause) => {
                    let reason = format!(
                        "its worker has crashed; it is started again in {} s",
                        pause.as_secs() + 1
                    );
                    return Err(AddonError::new(Code::AddonCrashed, reason));
                }
                MayStart::Never(why) => {
                    let reason = format!("its worker has crashed too often, the last time: {why}");
                    return Err(AddonError::new(Code::AddonCrashed, reason).hint(format!(
                        "to try again, run: hermes addons restart {feature}"
                    )));
                }
            }
        }
        let worker = Arc::new(start(addons, host, feature, history, stays, interrupt)?);
        *place = Some(Arc::clone(&worker));
        Ok(worker)
    }
}

/// Starts a worker and tells it what it needs to know.
fn start(
    addons: &Addons,
    host: &dyn WorkerHost,
    feature: &str,
    history: History,
    stays: bool,
    interrupt: &Wake,
) -> Result<Worker> {
    let settings = &addons.settings;
    let mut ready = addons.serviceable(feature)?;
    let directories = WorkerDirectories::make(settings, feature)?;
    let spec = spec(settings, feature, &ready, &directories)?;
    let addon = Addons::feature(feature)?.addon();
    let names = addon.map(|addon| addon.secrets);
    let is_resident = stays && addon.is_some_and(|addon| addon.resident);
    let mut redactor = host.redactor();
    let mut secrets: BTreeMap<&str, SecretString> = BTreeMap::new();
    for name in names.unwrap_or_default() {
        if let Some(value) = host.secret(name) {
            redactor = Arc::new(redactor.that_knows(&value));
            secrets.insert(name, value);
        }
    }
    let worker = Worker::start(Start {
        feature: feature.to_owned(),
        spec,
        log: WorkerLog::open(&settings.places.home, feature, redactor),
        history,
        lease: ready.lease.take(),
        idle: (!is_resident).then_some(settings.worker.idle),
    })?;
    let deadline = Instant::now() + settings.worker.start_timeout;
    let ask = |method: &str, params: &Value, deadline: Instant| {
        request(&worker, method, params, deadline, interrupt)
    };
    let greeted = ask("initialize", &message::initialize(), deadline)?;
    if !message::is_spoken(&greeted) {
        let reason = "its worker does not speak the protocol of this version of Hermes";
        let error = AddonError::new(Code::ProtocolError, reason);
        worker.kill(error.clone());
        return Err(error);
    }
    let exposed: Map<String, Value> = secrets
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.expose().into()))
        .collect();
    let configuration = json!({
        "feature": feature,
        "settings": host.settings(feature),
        "secrets": exposed,
        "io_dir": directories.io,
    });
    ask(
        "hermes/configure",
        &configuration,
        Instant::now() + CONFIGURE,
    )?;
    Ok(worker)
}

/// Asks a worker and waits. One that does not answer in time is asked to leave it, then ended.
fn request(
    worker: &Worker,
    method: &str,
    params: &Value,
    deadline: Instant,
    interrupt: &Wake,
) -> Result<Value> {
    let (number, reply) = worker.send(method, params)?;
    let left = deadline.saturating_duration_since(Instant::now());
    if wait_for_any(&[&reply.is_there, interrupt], left) == Some(0) {
        return reply.take().unwrap_or_else(|| Err(ended_early(interrupt)));
    }
    let error = ended_early(interrupt);
    if error.code == Code::Cancelled {
        worker.cancel(number);
        return Err(error);
    }
    worker.cancel(number);
    if !reply.is_there.wait(CANCEL) {
        worker.kill(error.clone());
    }
    Err(error)
}

impl Addons {
    /// What the workers of a feature are doing, in whatever process.
    pub(crate) fn worker_row(&self, feature: &str) -> WorkerRow {
        let history = History::of(&self.settings.places.home, feature);
        history.row(self.settings.worker.max_restarts)
    }

    /// Ends the workers of a feature, in whatever process, and forgets that they crashed; returns how
    /// many there were. The next call starts one.
    pub fn restart(&self, name: &str) -> Result<usize> {
        let feature = self.with_worker(name)?;
        Ok(self.end_workers(feature))
    }

    /// Ends the workers of a feature, if it has any, and forgets that they crashed.
    pub(crate) fn end_workers(&self, feature: &str) -> usize {
        History::of(&self.settings.places.home, feature).reset()
    }

    /// Forgets crashes of an environment that is not in service any more.
    pub(crate) fn forget_crashes(&self, feature: &str) {
        History::of(&self.settings.places.home, feature).forget();
    }

    /// The name of a feature that has workers, in this build.
    pub fn with_worker(&self, name: &str) -> Result<&'static str> {
        if NodePackage::is_meant(name) {
            let reason = "it has no worker: a package of npm runs as an MCP server";
            return Err(AddonError::new(Code::Unsupported, reason)
                .hint("`hermes mcp list` shows servers; what they print is in logs/mcp-stderr.log")
                .of(&hermes_text::shown(name, 80)));
        }
        let feature = Self::feature(name)?;
        let refused = match (feature.addon(), shim::adapter(feature.name)) {
            (Some(_), Some(_)) => return Ok(feature.name),
            (Some(_), None) => no_worker(feature.name),
            (None, _) => {
                let reason = "it is not an add-on, and has no worker";
                AddonError::new(Code::Unsupported, reason)
            }
        };
        Err(refused.of(feature.name))
    }
}
