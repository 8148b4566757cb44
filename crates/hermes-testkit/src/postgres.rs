//! A real PostgreSQL server with encryption and passwords, and databases on it.
//!
//! All tests of a run share one, which ends a while after the last of them. A test that stops or kills a
//! server has one of its own.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::eventually;

/// Role that owns everything.
const ADMIN: &str = "boards";
/// Its password.
const PASSWORD: &str = "correct-horse:battery\\staple";
/// The account of Debian's package; a server does not run as root.
const ACCOUNT: &str = "postgres";

/// Ends the server once nobody has held the lock of its users for a while.
const KEEPER: &str = r#"
dir=$1; shift
"$@" >"$dir/log" 2>&1 </dev/null &
server=$!
echo $server >"$dir/pid"
while kill -0 $server 2>/dev/null; do
  sleep 10
  if flock --nonblock --exclusive "$dir/users" true; then
    rm -f "$dir/port"
    kill -INT $server
    wait $server
    rm -rf "$dir"
    exit
  fi
done
"#;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    /// Everything that is its own.
    dir: PathBuf,
    port: u16,
    /// Held as long as the server is needed.
    #[expect(dead_code, reason = "released when dropped")]
    user: File,
    /// The directory of a server that belongs to one test.
    own: Option<tempfile::TempDir>,
    /// From where it is reached besides this machine.
    network: Option<String>,
}

/// A database of one test, removed at its end.
#[derive(Debug)]
pub struct PgDatabase {
    pub name: String,
    port: u16,
    dir: PathBuf,
    is_shared: bool,
}

/// Programs of the server; Debian puts them into no directory of `PATH`.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").map(|entries| {
        let found = entries
            .flatten()
            .map(|entry| entry.path().join("bin").join(name));
        found.filter(|path| path.exists()).max()
    });
    versions
        .ok()
        .flatten()
        .unwrap_or_else(|| PathBuf::from(name))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A command as the account that the server runs as.
fn as_account(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid",
        ACCOUNT,
        "--regid",
        ACCOUNT,
        "--clear-groups",
        "--",
    ]);
    command.arg(program);
    command
}

fn must(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn shared_lock(path: &Path) -> File {
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    file
}

impl Postgres {
    /// The server of all tests, started by the first of them.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| {
            // One per user and build, so that two checkouts do not end each other's.
            let program = std::env::current_exe().unwrap();
            let place = program.parent().unwrap().metadata().unwrap();
            let uid = rustix::process::geteuid().as_raw();
            let name = format!("hermes-postgres-{uid}-{}", place.ino());
            let base = std::env::temp_dir();
            let start = base.join(format!("{name}.lock"));
            let dir = base.join(name);
            let starting = File::options().create(true).append(true).open(&start);
            let starting = starting.unwrap();
            rustix::fs::flock(&starting, rustix::fs::FlockOperation::LockExclusive).unwrap();
            if dir.join("port").exists() {
                let user = shared_lock(&dir.join("users"));
                // It may be on its way out, or have been killed.
                if is_alive(&dir) {
                    let port = read_text(&dir.join("port")).parse().unwrap();
                    return Self {
                        dir,
                        port,
                        user,
                        own: None,
                        network: None,
                    };
                }
            }
            drop(std::fs::remove_dir_all(&dir));
            std::fs::create_dir_all(&dir).unwrap();
            Self::start(dir, None, None)
        })
    }

    /// A server for one test, which may stop it.
    pub fn own() -> Self {
        Self::own_reached_from(None)
    }

    /// The same, which hosts of a network reach as well, in the form 10.1.0.0/16.
    pub fn own_for_network(network: &str) -> Self {
        Self::own_reached_from(Some(network.to_owned()))
    }

    fn own_reached_from(network: Option<String>) -> Self {
        let own = tempfile::tempdir().unwrap();
        let dir = own.path().join("server");
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(own.path(), Permissions::from_mode(0o755)).unwrap();
        Self::start(dir, Some(own), network)
    }

    fn start(dir: PathBuf, own: Option<tempfile::TempDir>, network: Option<String>) -> Self {
        let user = shared_lock(&dir.join("users"));
        std::fs::write(dir.join("password"), PASSWORD).unwrap();
        certificates(&dir);
        if is_root() {
            must(Command::new("chown").arg("-R").arg(ACCOUNT).arg(&dir));
        }
        std::fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        let data = dir.join("data");
        must(
            as_account(&program("initdb"))
                .current_dir("/")
                .args(["--username", ADMIN, "--encoding=UTF8", "--locale=C.UTF-8"])
                .args(["--auth=scram-sha-256", "--no-sync", "--no-instructions"])
                .arg("--pwfile")
                .arg(dir.join("password"))
                .arg("--pgdata")
                .arg(&data),
        );
        // Encrypted and with a password, or not at all.
        let mut admitted = "hostssl all all 127.0.0.1/32 scram-sha-256\n\
                            hostssl replication all 127.0.0.1/32 scram-sha-256\n"
            .to_owned();
        if let Some(network) = &network {
            admitted.push_str(&format!("hostssl all all {network} scram-sha-256\n"));
        }
        let rules = dir.join("pg_hba.conf");
        std::fs::write(&rules, admitted).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let postgres = Self {
            dir,
            port,
            user,
            own,
            network,
        };
        postgres.run();
        std::fs::write(postgres.dir.join("port"), port.to_string()).unwrap();
        postgres
    }

    /// Starts the program; returns once it answers.
    pub fn run(&self) {
        let dir = &self.dir;
        let setting = |name: &str, value: &dyn std::fmt::Display| format!("{name}={value}");
        let settings = [
            setting("port", &self.port),
            setting("listen_addresses", &self.listened()),
            setting("unix_socket_directories", &""),
            setting("hba_file", &dir.join("pg_hba.conf").display()),
            setting("ssl", &"on"),
            setting("ssl_cert_file", &dir.join("server.crt").display()),
            setting("ssl_key_file", &dir.join("server.key").display()),
            setting("max_connections", &"400"),
            setting("fsync", &"off"),
        ];
        let account = as_account(&program("postgres"));
        let mut keeper = Command::new("setsid");
        keeper.args(["sh", "-c", KEEPER, "keeper"]).arg(dir);
        keeper.arg(account.get_program()).args(account.get_args());
        keeper.arg("-D").arg(dir.join("data"));
        for setting in settings {
            keeper.args(["-c", &setting]);
        }
        keeper.current_dir("/");
        keeper
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[expect(
            clippy::zombie_processes,
            reason = "it outlives the test that starts it"
        )]
        keeper.spawn().unwrap();
        eventually("the server answers", || {
            let asked = self.psql("postgres", "SELECT 1").output().unwrap();
            asked.status.success()
        });
    }

    fn listened(&self) -> &'static str {
        match self.network {
            Some(_) => "0.0.0.0",
            None => "127.0.0.1",
        }
    }

    /// Ends the server as a crash would, with all that it started; returns when it is gone.
    pub fn kill(&self) {
        self.end("QUIT");
    }

    /// Ends the server as an administrator would.
    pub fn stop(&self) {
        self.end("INT");
    }

    fn end(&self, signal: &str) {
        let pid = read_text(&self.dir.join("pid"));
        must(Command::new("kill").args([&format!("-{signal}"), &pid]));
        let process = PathBuf::from("/proc").join(&pid);
        eventually("the server is gone", || !process.exists());
    }

    /// The certificate of the authority that the server's own is signed by.
    pub fn authority(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// A new database.
    pub fn database(&self) -> PgDatabase {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        must(&mut self.psql("postgres", &format!("CREATE DATABASE {name}")));
        PgDatabase {
            name,
            port: self.port,
            dir: self.dir.clone(),
            is_shared: self.own.is_none(),
        }
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        psql(&self.dir, self.port, database, sql)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The shared one is never dropped.
        if self.own.is_some() {
            let pid = std::fs::read_to_string(self.dir.join("pid")).unwrap_or_default();
            let mut kill = Command::new("kill");
            drop(
                kill.args(["-QUIT", pid.trim()])
                    .stderr(Stdio::null())
                    .status(),
            );
            let process = PathBuf::from("/proc").join(pid.trim());
            eventually("the server is gone", || !process.exists());
        }
    }
}

impl PgDatabase {
    /// Its address, checked as strictly as can be.
    pub fn url(&self) -> String {
        self.url_as(ADMIN)
    }

    /// The same for another role.
    pub fn url_as(&self, role: &str) -> String {
        format!(
            "postgres://{role}@127.0.0.1:{}/{}?sslmode=verify-full&sslrootcert={}",
            self.port,
            self.name,
            self.dir.join("ca.crt").display()
        )
    }

    /// The port of its server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The password of its role.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Runs statements; gives what they print.
    pub fn sql(&self, sql: &str) -> String {
        must(&mut psql(&self.dir, self.port, &self.name, sql))
    }
}

impl Drop for PgDatabase {
    fn drop(&mut self) {
        if self.is_shared {
            let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            drop(psql(&self.dir, self.port, "postgres", &sql).output());
        }
    }
}

fn psql(dir: &Path, port: u16, database: &str, sql: &str) -> Command {
    let mut command = Command::new(program("psql"));
    command
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-U",
            ADMIN,
            "-d",
            database,
            "-c",
            sql,
        ])
        .env("HOME", dir)
        .env("PGPASSWORD", PASSWORD)
        .env("PGSSLMODE", "verify-full")
        .env("PGSSLROOTCERT", dir.join("ca.crt"));
    command
}

/// An authority, and a certificate of the server that it has signed.
fn certificates(dir: &Path) {
    let openssl = |args: &[&str]| must(Command::new("openssl").args(args).current_dir(dir));
    let curve = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let mut authority = vec!["req", "-x509", "-days", "2", "-subj", "/CN=Test authority"];
    authority.extend(curve);
    openssl(&[&authority[..], &["-keyout", "ca.key", "-out", "ca.crt"]].concat());
    let mut request = vec!["req", "-subj", "/CN=db.test"];
    request.extend(curve);
    openssl(
        &[
            &request[..],
            &["-keyout", "server.key", "-out", "server.csr"],
        ]
        .concat(),
    );
    std::fs::write(dir.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    openssl(&[
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        "server.csr",
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "names",
        "-out",
        "server.crt",
    ]);
    let key = Permissions::from_mode(0o600);
    std::fs::set_permissions(dir.join("server.key"), key).unwrap();
}

fn is_alive(dir: &Path) -> bool {
    let pid = std::fs::read_to_string(dir.join("pid")).unwrap_or_default();
    let pid = pid.trim();
    !pid.is_empty() && PathBuf::from("/proc").join(pid).exists()
}

fn read_text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}
