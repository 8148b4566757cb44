use std::ffi::OsString;

use hermes_config::Environment;
use hermes_home::SystemFacts;
use pretty_assertions::assert_eq;

use super::*;

fn location(home: &str, user_home: &Path) -> Location {
    let env = Environment::from_pairs([
        ("HOME", user_home.as_os_str().to_owned()),
        ("HERMES_HOME", OsString::from(home)),
    ]);
    Location::resolve(&env, &SystemFacts::of_process()).unwrap()
}

fn defined(home: &str, user_home: &Path) -> Result<GatewayDefinition, DefinitionError> {
    let location = location(home, user_home);
    let program = Path::new("/opt/hermes/bin/hermes");
    GatewayDefinition::new(program, &location, None, Duration::from_mins(3), None)
}

#[test]
fn services_are_told_apart_by_profile_or_home() {
    let joe = Path::new("/home/joe");
    let root = defined("/home/joe/.hermes", joe).unwrap();
    assert_eq!(root.named("hermes-gateway"), "hermes-gateway");
    let coder = defined("/home/joe/.hermes/profiles/coder", joe).unwrap();
    assert_eq!(coder.named("hermes-gateway"), "hermes-gateway-coder");
    assert_eq!(coder.arguments(), ["--profile", "coder", "gateway", "run"]);
}

#[test]
fn a_home_that_does_not_last_is_refused() {
    let joe = Path::new("/home/joe");
    for home in ["/tmp/x", "/var/tmp/x"] {
        let error = defined(home, joe).unwrap_err();
        assert_eq!(error, DefinitionError::TemporaryHome(home.into()));
    }
    assert!(defined("/tmpfoo/x", joe).is_ok());
}

#[test]
fn a_path_with_a_line_break_is_refused() {
    let error = defined("/home/joe/a\nExecStart=evil", Path::new("/home/joe")).unwrap_err();
    assert!(matches!(error, DefinitionError::UnusualPath(_)), "{error}");
}

#[test]
fn programs_are_looked_for_where_people_keep_them() {
    let user = tempfile::tempdir().unwrap();
    hermes_fs::create_dir_all(&user.path().join(".cargo/bin"), 0o755).unwrap();
    let gateway = defined("/srv/hermes", user.path()).unwrap();
    let cargo = user.path().join(".cargo/bin");
    assert_eq!(
        gateway.path,
        format!(
            "/opt/hermes/bin:{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            cargo.display()
        )
    );
    assert!(is_of_windows(Path::new("/mnt/c/Windows/System32")));
    assert!(!is_of_windows(Path::new("/mnt/data/bin")));
}
