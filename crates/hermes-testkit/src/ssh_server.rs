//! A real SSH server on a loopback port, with a client that knows nothing of the user's own keys.
//!
//! Everything it uses lies in a temporary directory: keys, settings, known hosts, and the home of the
//! programs that run there.

use std::ffi::OsString;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Long enough for a busy machine.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Between the arguments of a recorded call, and behind it.
const ARGUMENT_END: char = '\0';
const CALL_END: char = '\u{1e}';

/// A server for the user who runs the test; stopped with all it started when dropped.
#[derive(Debug)]
pub struct SshServer {
    directory: TempDir,
    user: String,
    port: u16,
    server: Option<Child>,
}

impl SshServer {
    /// Starts a server that lets [`SshServer::key`] in.
    pub fn start() -> Self {
        if rustix::process::geteuid().is_root() {
            // Where the server locks itself in while nobody has logged in yet.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let mut server = Self {
            directory: TempDir::with_prefix("hermes-ssh-test-").unwrap(),
            user: String::from_utf8(user).unwrap().trim().to_owned(),
            port: 0,
            server: None,
        };
        server.prepare();
        // Between our look for a free port and the server's start another test may take it.
        for _ in 0..10 {
            server.port = free_port();
            if server.launch() {
                return server;
            }
        }
        panic!("no server: {:?}", server.log());
    }

    /// Where it listens.
    pub fn host(&self) -> &'static str {
        "127.0.0.1"
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who may log in.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The private key that opens the door.
    pub fn key(&self) -> PathBuf {
        self.path("key")
    }

    /// HOME of the programs that run there.
    pub fn remote_home(&self) -> PathBuf {
        self.path("remote")
    }

    /// A value for `PATH` with an `ssh` and an `scp` that write no file of the user's. The key is not
    /// theirs by themselves: it has to be named.
    pub fn path_value(&self) -> OsString {
        let client = self.path("client");
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let parts = std::iter::once(client).chain(std::env::split_paths(&usual));
        std::env::join_paths(parts).unwrap()
    }

    /// Puts a script before all programs of this name there.
    pub fn put_remote_program(&self, name: &str, script: &str) {
        put_script(&self.path("remote-bin").join(name), script);
    }

    /// Takes such a script away.
    pub fn remove_remote_program(&self, name: &str) {
        std::fs::remove_file(self.path("remote-bin").join(name)).unwrap();
    }

    /// Arguments of every call of the client so far.
    pub fn client_calls(&self) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        let calls = text.split_terminator(CALL_END);
        calls
            .map(|call| {
                let arguments = call.split_terminator(ARGUMENT_END);
                arguments.map(str::to_owned).collect()
            })
            .collect()
    }

    /// How often someone has logged in: once for each connection, however many programs it carries.
    pub fn logins(&self) -> usize {
        let log = self.log();
        let accepted = log.iter().filter(|line| line.starts_with("Accepted "));
        accepted.count()
    }

    /// Stops the other end of every connection there is, as if the network had changed under them.
    /// New ones can be made.
    pub fn freeze_connections(&self) {
        self.signal_connections(Signal::STOP);
    }

    /// Lets them go on.
    pub fn thaw_connections(&self) {
        self.signal_connections(Signal::CONT);
    }

    fn signal_connections(&self, signal: Signal) {
        let listener = self.server.as_ref().unwrap().id();
        for pid in tree_of(listener).into_iter().skip(1) {
            send(pid, signal);
        }
    }

    /// Ends the server at once, with all connections and all programs that run there.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        for pid in tree_of(server.id()) {
            send(pid, Signal::KILL);
        }
        server.wait().unwrap();
    }

    /// Starts it again, on the same port.
    pub fn start_again(&mut self) {
        assert!(self.launch(), "no server: {:?}", self.log());
    }

    /// Gives the stopped server another key, as if it were another machine.
    pub fn change_host_key(&mut self) {
        assert!(self.server.is_none(), "stop it first");
        std::fs::remove_file(self.path("host-key")).unwrap();
        make_key(&self.path("host-key"));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn prepare(&self) {
        for name in ["remote", "remote-bin", "client"] {
            std::fs::create_dir(self.path(name)).unwrap();
        }
        make_key(&self.path("host-key"));
        make_key(&self.key());
        let here = self.directory.path().display();
        let server = format!(
            "ListenAddress 127.0.0.1\n\
             HostKey {here}/host-key\n\
             AuthorizedKeysFile {here}/key.pub\n\
             StrictModes no\n\
             PermitRootLogin yes\n\
             UsePAM no\n\
             UseDNS no\n\
             PasswordAuthentication no\n\
             KbdInteractiveAuthentication no\n\
             MaxStartups 100\n\
             MaxSessions 100\n\
             PrintMotd no\n\
             PidFile none\n\
             SetEnv HOME={here}/remote PATH={here}/remote-bin:/usr/local/bin:/usr/bin:/bin\n"
        );
        std::fs::write(self.path("server-settings"), server).unwrap();
        let client = format!(
            "UserKnownHostsFile {here}/known-hosts\n\
             GlobalKnownHostsFile /dev/null\n\
             IdentitiesOnly yes\n\
             IdentityFile /dev/null\n"
        );
        std::fs::write(self.path("client-settings"), client).unwrap();
        for name in ["ssh", "scp"] {
            let real = find(name);
            let script = format!(
                "#!/bin/sh\n\
                 {{ printf '%s\\0' \"$@\"; printf '\\036'; }} >> {here}/calls\n\
                 exec {} -F {here}/client-settings \"$@\"\n",
                real.display()
            );
            put_script(&self.path("client").join(name), &script);
        }
    }

    /// Says whether the server listens.
    fn launch(&mut self) -> bool {
        let before = self.log().len();
        let mut child = Command::new(find("sshd"))
            .args(["-D", "-f"])
            .arg(self.path("server-settings"))
            .arg("-E")
            .arg(self.path("log"))
            .args(["-p", &self.port.to_string()])
            .env_clear()
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + EVENT_TIMEOUT;
        loop {
            let is_up = |line: &String| line.starts_with("Server listening");
            if self.log().iter().skip(before).any(is_up) {
                self.server = Some(child);
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < deadline, "no server: {:?}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the server has said. It writes before it goes on.
    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn make_key(path: &Path) {
    let status = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .status()
        .unwrap();
    assert!(status.success(), "ssh-keygen: {status}");
}

/// A program of the system; the server must be named by its full path.
fn find(name: &str) -> PathBuf {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&usual)
        .chain(sbin)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is not installed"))
}

/// Writes a script that can be executed.
pub(crate) fn put_script(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// A process and all below it. Connections are sessions of their own, so they are found by parents.
fn tree_of(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut seen = 0;
    while let Some(&parent) = tree.get(seen) {
        tree.extend(children_of(parent));
        seen += 1;
    }
    tree
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    // Gone already is as good.
    let _: Result<(), _> = kill_process(pid, signal);
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    // The name before it is in brackets and may hold anything.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_run_there_with_a_home_of_their_own() {
        let mut server = SshServer::start();
        let login = |server: &SshServer| {
            Command::new("ssh")
                .env("PATH", server.path_value())
                .args([
                    "-o",
                    "BatchMode=yes",
                    "-o",
                    "StrictHostKeyChecking=accept-new",
                ])
                .args(["-p", &server.port().to_string(), "-i"])
                .arg(server.key())
                .arg(format!("{}@{}", server.user(), server.host()))
                .arg("greet; echo $HOME")
                .output()
                .unwrap()
        };
        server.put_remote_program("greet", "#!/bin/sh\necho hello\n");
        let output = login(&server);
        let shown = String::from_utf8(output.stdout).unwrap();
        let expected = format!("hello\n{}\n", server.remote_home().display());
        assert_eq!(
            shown,
            expected,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(server.logins(), 1);
        assert_eq!(server.client_calls().len(), 1);
        assert!(server.client_calls()[0].contains(&"greet; echo $HOME".to_owned()));

        server.stop();
        assert_eq!(login(&server).status.code(), Some(255));
        server.change_host_key();
        server.start_again();
        let refused = login(&server);
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(words.contains("HAS CHANGED"), "{words}");
    }
}
