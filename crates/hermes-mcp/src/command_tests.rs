use hermes_proc::SpawnClass;
use pretty_assertions::assert_eq;

use super::*;

fn program(directory: &Path, name: &str) -> PathBuf {
    hermes_fs::create_dir_all(directory, 0o755).unwrap();
    let path = directory.join(name);
    hermes_fs::write_atomic(&path, b"#!/bin/sh\n", 0o755).unwrap();
    path
}

#[test]
fn a_bare_command_is_searched_in_the_path_of_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let there = program(&dir.path().join("bin"), "srv");
    let path = format!("/nowhere:{}", dir.path().join("bin").display());
    let plan = EnvPlan::empty(SpawnClass::McpServer).with("PATH", path);
    let found = find("srv", &plan, dir.path(), dir.path()).unwrap();
    assert_eq!(found.program, there);
    let expected = format!("{}:/nowhere", dir.path().join("bin").display());
    assert_eq!(found.path, OsString::from(expected));
}

#[test]
fn node_is_also_found_where_it_usually_is() {
    let dir = tempfile::tempdir().unwrap();
    let plan = EnvPlan::empty(SpawnClass::McpServer).with("PATH", "/nowhere");
    let (home, user) = (dir.path().join("h"), dir.path().join("u"));
    let local = program(&user.join(".local/bin"), "npx");
    assert_eq!(find("npx", &plan, &home, &user).unwrap().program, local);
    let own = program(&home.join("node/bin"), "npx");
    assert_eq!(find("npx", &plan, &home, &user).unwrap().program, own);
    program(&user.join(".local/bin"), "other");
    let error = find("other", &plan, &home, &user).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the command 'other' was not found in /nowhere"
    );
    assert!(error.hint("x").unwrap().contains("full path"));
}

#[test]
fn a_tilde_is_the_users_home() {
    let dir = tempfile::tempdir().unwrap();
    let there = program(&dir.path().join("b"), "srv");
    let plan = EnvPlan::empty(SpawnClass::McpServer);
    let found = find("~/b/srv", &plan, dir.path(), dir.path()).unwrap();
    assert_eq!(
        (found.program, found.path),
        (there, dir.path().join("b").into_os_string())
    );
    assert!(find("~/b/none", &plan, dir.path(), dir.path()).is_err());
}
