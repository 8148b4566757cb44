//! Containers that run with the ids of a user without rights, as that user.
//!
//! The user reaches the engine through a socket of the test's, as one of the group `docker` would.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use hermes_testkit::{ProgramCall, RealEngine};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::place::Place;

const ENGINE: &str = "/var/run/docker.sock";

/// A door to the engine that everybody may use.
fn open_door(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).unwrap();
    std::thread::spawn(move || {
        for visitor in listener.incoming().map_while(Result::ok) {
            let engine = UnixStream::connect(ENGINE).unwrap();
            let (back, forth) = (visitor.try_clone().unwrap(), engine.try_clone().unwrap());
            std::thread::spawn(move || carry(visitor, forth));
            std::thread::spawn(move || carry(engine, back));
        }
    });
}

/// Carries bytes until there are no more, and says so to the other side.
fn carry(mut from: UnixStream, mut to: UnixStream) {
    let mut chunk = [0; 8 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..count]).is_err() {
            break;
        }
    }
    // Closed by the other side already is as good.
    drop(to.shutdown(Shutdown::Write));
}

struct User {
    place: Place,
    door: PathBuf,
}

impl User {
    fn with(settings: serde_json::Value) -> Self {
        let place = Place::with(RealEngine::Docker, settings);
        let door = place.home.outside("engine.sock");
        open_door(&door);
        place.home.give_to_nobody();
        Self { place, door }
    }

    fn hermes(&self, args: &[&str]) -> ProgramCall {
        let door = format!("unix://{}", self.door.display());
        self.place.hermes(args).env("DOCKER_HOST", door).as_nobody()
    }
}

/// Who nobody is, or who runs the tests if they do not run as root.
fn ids() -> (u32, u32) {
    let me = rustix::process::geteuid();
    if me.is_root() {
        (65534, 65534)
    } else {
        (me.as_raw(), rustix::process::getegid().as_raw())
    }
}

#[test]
fn processes_have_the_users_ids_and_files_are_the_users() {
    // check 2
    let user = User::with(json!({"docker_run_as_host_user": true}));
    let command = "id -u; id -g; echo $HOME; touch /workspace/made /root/made /tmp/made; \
        grep CapEff /proc/self/status";
    let outcome = user.hermes(&["exec", "--", command]).run();
    let (uid, gid) = ids();
    let expected = format!("{uid}\n{gid}\n/root\nCapEff:\t0000000000000000\n");
    outcome.succeeds().prints(&expected);
    for name in ["workspace/made", "home/made"] {
        let meta = std::fs::metadata(user.place.sandbox(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (uid, gid), "{name}");
    }
    let id = user.place.only_id();
    let look = |template: &str| user.place.look(&id, template);
    assert_eq!(look("{{.Config.User}}"), format!("{uid}:{gid}"));
    let added = look("{{json .HostConfig.CapAdd}}");
    assert!(
        !added.contains("SETUID") && !added.contains("SETGID"),
        "{added}"
    );
    assert!(added.contains("FOWNER"), "{added}");
}

#[test]
fn without_directories_of_the_host_the_user_can_still_write() {
    // check 2
    let settings = json!({"docker_run_as_host_user": true, "container_persistent": false});
    let user = User::with(settings);
    let command = "for d in /workspace /home /root /tmp; do touch $d/x && stat -c %u $d/x; done";
    let outcome = user.hermes(&["exec", "--", command]).run();
    let (uid, _) = ids();
    outcome.succeeds().prints(&format!("{uid}\n").repeat(4));
}

#[test]
fn files_of_the_containers_root_can_be_purged_by_the_user() {
    let user = User::with(json!({}));
    let command = "mkdir /root/deep; touch /root/deep/file; chmod 700 /root/deep; id -u";
    user.hermes(&["exec", "--", command])
        .run()
        .succeeds()
        .prints("0\n");
    let purge = user.hermes(&["sandbox", "rm", "--purge", "--yes"]).run();
    purge.succeeds();
    assert!(!user.place.sandbox("").exists(), "{purge}");
    assert_eq!(user.place.ids(), [] as [&str; 0]);
}

#[test]
fn a_user_who_may_not_use_the_engine_is_told() {
    let user = User::with(json!({}));
    if !rustix::process::geteuid().is_root() {
        // An ordinary user who runs these tests may use it.
        return;
    }
    let outcome = user
        .hermes(&["exec", "--", "touch here"])
        .without_env("DOCKER_HOST")
        .run();
    outcome.exits(3).prints("");
    outcome
        .says_part("permission denied")
        .says_part("group `docker`");
}
