use std::os::unix::net::UnixListener;

use super::*;

/// The files of an image in a directory, with a home that is ours.
fn image() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    hermes_fs::create_dir_all(&root.path().join("etc"), 0o755).unwrap();
    let own = hermes_fs::metadata(root.path()).unwrap();
    let passwd = format!(
        "root:x:0:0::/root:/bin/sh\nhermes:x:{}:{}::/opt/data:/bin/sh\n",
        own.uid(),
        own.gid()
    );
    let group = format!("root:x:0:\nhermes:x:{}:\n", own.gid());
    write(root.path(), "etc/passwd", &passwd);
    write(root.path(), "etc/group", &group);
    root
}

fn write(root: &Path, name: &str, text: &str) {
    hermes_fs::write_atomic(&root.join(name), text.as_bytes(), 0o644).unwrap();
}

fn environment(root: &Path, more: &[(&str, &str)]) -> Environment {
    let home = root.join("data").display().to_string();
    let home = ("HERMES_HOME", home.as_str());
    Environment::from_pairs(more.iter().copied().chain([home]))
}

fn prepare(
    root: &Path,
    env: &Environment,
    uid: u32,
) -> (Result<RuntimeUser, BootError>, Vec<String>) {
    let mut lines = Vec::new();
    let machine = Machine { env, uid, root };
    let user = machine.prepare(&mut |line: &str| lines.push(line.to_owned()));
    (user, lines)
}

#[test]
fn a_user_that_the_image_does_not_know_is_refused_with_advice() {
    let root = image();
    let env = environment(root.path(), &[]);
    let (user, _) = prepare(root.path(), &env, 4_242);
    let error = user.unwrap_err();
    assert!(error.to_string().contains("4242"), "{error}");
    for name in ["HERMES_UID", "HERMES_GID", "PUID", "PGID"] {
        assert!(error.hint().contains(name), "{}", error.hint());
    }
    assert!(!root.path().join("data").exists());
}

#[test]
fn socket_of_the_engine_and_odd_numbers() {
    let root = image();
    hermes_fs::create_dir_all(&root.path().join("run"), 0o755).unwrap();
    let _socket = UnixListener::bind(root.path().join("run/docker.sock")).unwrap();
    let env = environment(root.path(), &[("HERMES_UID", "abc")]);
    let (user, lines) = prepare(root.path(), &env, 0);
    assert!(lines[0].contains("HERMES_UID is ignored"), "{lines:?}");
    let user = user.unwrap();
    let socket = hermes_fs::metadata(&root.path().join("run/docker.sock")).unwrap();
    assert!(user.groups.contains(&socket.gid()), "{user:?}");
    let group = hermes_fs::read_text_capped(&root.path().join("etc/group"), 1024).unwrap();
    assert!(group.contains(":hermes\n"), "{group}");
}
