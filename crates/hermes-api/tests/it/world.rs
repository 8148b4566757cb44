//! A home with a scripted model and a server for it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hermes_api::{ApiHost, ApiServer, ApiSettings};
use hermes_config::Environment;
use hermes_home::{SystemFacts, select};
use hermes_proc::Wake;
use hermes_runtime::{Context, Program};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Connection, Reply, request};

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";
const BEARER: &str = "Bearer 0123456789abcdef0123456789abcdef";

/// The process around the server.
pub(crate) struct TestHost {
    context: Mutex<Arc<Context>>,
    pub(crate) is_draining: AtomicBool,
    pub(crate) active: AtomicUsize,
}

impl ApiHost for TestHost {
    fn context(&self) -> Arc<Context> {
        Arc::clone(&self.context.lock().unwrap())
    }

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    fn set_active(&self, turns: usize) {
        self.active.store(turns, Ordering::SeqCst);
    }
}

struct RunningServer {
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl RunningServer {
    fn end(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// A home, its server, and a client of it.
pub(crate) struct World {
    server: RunningServer,
    pub(crate) host: Arc<TestHost>,
    directory: TempDir,
}

impl World {
    /// A server whose model plays this script.
    pub(crate) fn playing(script: &str) -> Self {
        Self::with(script, "", &[])
    }

    /// The same, with more settings and variables.
    pub(crate) fn with(script: &str, settings: &str, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join(".hermes");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(directory.path().join("work")).unwrap();
        std::fs::write(home.join("script.yaml"), script).unwrap();
        let config = format!("model: {{provider: replay, script: script.yaml}}\n{settings}\n");
        std::fs::write(home.join("config.yaml"), config).unwrap();
        let context = Arc::new(context(directory.path(), variables));
        let host = Arc::new(TestHost {
            context: Mutex::new(context),
            is_draining: AtomicBool::new(false),
            active: AtomicUsize::new(0),
        });
        Self {
            server: start(&host),
            host,
            directory,
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join(".hermes")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Ends the server and starts another one in the same home.
    pub(crate) fn restart(&mut self) {
        self.server.end();
        self.server = start(&self.host);
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Sends exactly this.
    pub(crate) fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut connection = self.connect();
        connection.write(&request(method, path, headers, body));
        connection.read()
    }

    /// Sends a request with the key.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut all = vec![("Authorization", BEARER)];
        all.extend_from_slice(headers);
        self.raw(method, path, &all, body)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, &[], body)
    }

    pub(crate) fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.send("POST", path, headers, body.to_string().as_bytes())
    }

    /// A connection that has sent a request with the key.
    pub(crate) fn begin(&self, method: &str, path: &str, body: &Value) -> Connection {
        let mut connection = self.connect();
        let headers = [("Authorization", BEARER)];
        connection.write(&request(
            method,
            path,
            &headers,
            body.to_string().as_bytes(),
        ));
        connection
    }

    pub(crate) fn active(&self) -> usize {
        self.host.active.load(Ordering::SeqCst)
    }
}

fn context(user_home: &Path, more: &[(&str, &str)]) -> Context {
    let shown = |path: &Path| path.display().to_string();
    let home = shown(&user_home.join(".hermes"));
    let user = shown(user_home);
    let mut variables = vec![
        ("HOME", user.as_str()),
        ("HERMES_HOME", home.as_str()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("API_SERVER_KEY", KEY),
    ];
    variables.extend_from_slice(more);
    let env = Environment::from_pairs(variables);
    let system = SystemFacts::of_process();
    let selection = select(&[], &env, &system).unwrap();
    let context = Context::new(&env, system, &selection, Program::named("hermes"));
    context.in_directory(&user_home.join("work"))
}

/// The settings of a host's profile, for a port that is free.
pub(crate) fn settings(host: &TestHost) -> ApiSettings {
    let mut settings = ApiSettings::resolve(&host.context()).unwrap().unwrap();
    settings.port = 0;
    settings
}

fn start(host: &Arc<TestHost>) -> RunningServer {
    let server = ApiServer::bind(settings(host), host.clone()).unwrap();
    let address = server.address().unwrap();
    let stop = Arc::new(Wake::new().unwrap());
    let stopping = Arc::clone(&stop);
    let thread = std::thread::spawn(move || server.run(&stopping).unwrap());
    RunningServer {
        stop,
        thread: Some(thread),
        address,
    }
}
