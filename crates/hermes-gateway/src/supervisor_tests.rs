use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};

use hermes_config::Environment;
use hermes_home::{SystemFacts, select};
use hermes_runtime::{Context, Program};

use super::*;
use crate::service::ServiceError;

/// Fails in another way each time.
struct Clumsy {
    runs: Arc<AtomicU32>,
    begun: Sender<u32>,
}

impl HostedService for Clumsy {
    fn name(&self) -> &'static str {
        "clumsy"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        self.begun.send(run).unwrap();
        match run {
            0 => Err("no luck".into()),
            1 => panic!("on purpose"),
            _ => {
                host.serving();
                host.set_active(2);
                while !host.pause(Duration::from_mins(1)) {}
                Ok(())
            }
        }
    }
}

/// Does not hear that it has to end.
struct Deaf;

impl HostedService for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        host.serving();
        std::thread::sleep(Duration::from_hours(1));
        Ok(())
    }
}

fn live(home: &std::path::Path) -> Arc<LiveContext> {
    let env = Environment::from_pairs([("HERMES_HOME", home), ("HOME", home)]);
    let system = SystemFacts::of_process();
    let selection = select(&[], &env, &system).unwrap();
    let context = Context::new(&env, system, &selection, Program::named("hermes"));
    Arc::new(LiveContext::new(context))
}

#[test]
fn a_service_that_fails_or_panics_is_started_again_and_ends_when_asked() {
    let home = tempfile::tempdir().unwrap();
    let live = live(home.path());
    let health = Arc::new(HealthBoard::new().unwrap());
    let mut supervisor = Supervisor::new(Arc::clone(&health));
    let (begun, runs) = channel();
    let clumsy = Clumsy {
        runs: Arc::default(),
        begun,
    };
    supervisor.start(Box::new(clumsy), &live).unwrap();
    for expected in 0..3 {
        let run = runs.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(run, expected);
    }
    while health.active() != 2 {
        health.changed().wait(Duration::from_secs(30));
        health.changed().clear();
    }
    let state = &health.to_json()["clumsy"];
    assert_eq!(
        (&state["state"], &state["restarts"]),
        (&"running".into(), &2.into())
    );
    assert!(
        supervisor
            .stop(Duration::from_secs(30), &|| false)
            .is_empty()
    );
    assert_eq!(health.to_json()["clumsy"]["state"], "stopped");
}

#[test]
fn a_service_that_does_not_end_is_named_and_left_behind() {
    let home = tempfile::tempdir().unwrap();
    let live = live(home.path());
    let health = Arc::new(HealthBoard::new().unwrap());
    let mut supervisor = Supervisor::new(Arc::clone(&health));
    supervisor.start(Box::new(Deaf), &live).unwrap();
    supervisor.wait_until_begun(Duration::from_secs(30));
    assert_eq!(health.to_json()["deaf"]["state"], "running");
    assert_eq!(
        supervisor.stop(Duration::from_millis(100), &|| false),
        ["deaf"]
    );
}

#[test]
fn a_file_that_breaks_leaves_the_settings_as_they_were() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.yaml");
    let write = |text: &str| hermes_fs::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
    write("terminal: {timeout: 7}\n");
    let live = live(home.path());
    let timeout = || live.get().config().int("terminal.timeout");
    assert_eq!(timeout(), Some(7));
    write("terminal: {timeout: 8}\n");
    assert_eq!(timeout(), Some(7));
    live.reload();
    assert_eq!(timeout(), Some(8));
    for broken in ["terminal: {timeout: 9\n", "- a\n"] {
        write(broken);
        live.reload();
        assert_eq!(timeout(), Some(8), "{broken}");
    }
    write("terminal: {timeout: 10}\n");
    live.reload();
    assert_eq!(timeout(), Some(10));
}

#[test]
fn a_service_that_does_not_end_is_not_waited_for_when_it_is_urgent() {
    let home = tempfile::tempdir().unwrap();
    let live = live(home.path());
    let mut supervisor = Supervisor::new(Arc::new(HealthBoard::new().unwrap()));
    supervisor.start(Box::new(Deaf), &live).unwrap();
    supervisor.wait_until_begun(Duration::from_secs(30));
    let begun = std::time::Instant::now();
    assert_eq!(supervisor.stop(Duration::from_mins(1), &|| true), ["deaf"]);
    assert!(begun.elapsed() < Duration::from_secs(30));
}
