use pretty_assertions::assert_eq;

use super::*;

fn read_setting(code: &str, path: &str) -> bool {
    Reads::new(&[Crate::from_text("demo", &[("", code)])]).setting(path)
}

#[test]
fn a_setting_is_read_by_its_path_or_by_section_and_key() {
    for code in [
        r#"fn f(config: &Config) { config.int("terminal.timeout"); }"#,
        r#"const KEY: &str = "terminal.timeout"; fn f(config: &C) { config.int(KEY); }"#,
        r#"fn f(config: &Config) { let int = |k| config.int(&format!("terminal.{k}")); int("timeout"); }"#,
        r#"fn f(config: &Config) { config.get("terminal")?.get("timeout"); }"#,
    ] {
        assert!(read_setting(code, "terminal.timeout"), "{code}");
    }
    assert!(read_setting(
        r#"fn f(config: &C) { config.text("timezone"); }"#,
        "timezone"
    ));
    let listed = r#"fn f(config: &C) { for key in ["a", "timezone"] { config.get(key); } }"#;
    assert!(read_setting(listed, "timezone"));
    let nested = r#"fn f(config: &Config) { config.get("platforms"); x.get("enabled"); }"#;
    assert!(read_setting(nested, "platforms.*.enabled"));
}

#[test]
fn mentions_elsewhere_are_no_reads() {
    for code in [
        r#"fn f(config: &Config) { print("set terminal.timeout to wait longer"); }"#,
        r#"fn f(config: &Config) { config.int("terminal.timeouts"); }"#,
        r#"fn f(config: &Config) { tool("terminal"); }"#,
        r#"fn f() { other("terminal.timeout"); }"#,
        r#"#[cfg(test)] mod tests { fn f(config: &Config) { config.int("terminal.timeout"); } }"#,
    ] {
        assert!(!read_setting(code, "terminal.timeout"), "{code}");
    }
    let directory = r#"fn f(config: &C) { config.text("x.y"); join("checkpoints"); }"#;
    assert!(!read_setting(directory, "checkpoints"));
    let shown = [(
        "doctor",
        r#"fn f(config: &C) { config.int("terminal.timeout"); }"#,
    )];
    let reads = Reads::new(&[Crate::from_text("hermes", &shown)]);
    assert!(!reads.setting("terminal.timeout"), "a report does not act");
}

#[test]
fn variables_and_arguments_are_found_where_they_are_read() {
    let code = "fn f(env: &E) { env.text(&vars::HERMES_HOME); }
         #[derive(clap::Args)] struct Args { #[arg(long)] json: bool, #[arg(long)] idle: bool }
         fn run(args: &Args) { if args.json {} }";
    let crates = [Crate::from_text("demo", &[("", code)])];
    let reads = Reads::new(&crates);
    let variable = |name: &str| Variable {
        name: name.to_owned(),
        python: false,
        overrides: Vec::new(),
    };
    assert!(reads.variable(&variable("HERMES_HOME")));
    assert!(!reads.variable(&variable("HERMES_GONE")));
    let declared: Vec<_> = arguments(&crates[0]);
    let read: Vec<_> = declared
        .iter()
        .map(|found| (found.field.as_str(), reads.argument(found)))
        .collect();
    assert_eq!(read, [("json", true), ("idle", false)]);
}

#[test]
fn a_variable_is_read_with_its_setting_or_by_its_name() {
    let code = r#"fn f(config: &C) { config.int("terminal.timeout"); } const T: &[&str] = &["X_API_KEY"];"#;
    let variable = |name: &str, overrides: &[&str]| Variable {
        name: name.to_owned(),
        python: false,
        overrides: overrides.iter().map(|path| (*path).to_owned()).collect(),
    };
    let reads = Reads::new(&[Crate::from_text("demo", &[("", code)])]);
    assert!(reads.variable(&variable("TERMINAL_TIMEOUT", &["terminal.timeout"])));
    assert!(reads.variable(&variable("X_API_KEY", &[])));
    let hiding = Reads::new(&[Crate::from_text("hermes-secret", &[("", code)])]);
    assert!(!hiding.variable(&variable("X_API_KEY", &[])));
}

#[test]
fn unread_and_wrongly_marked_promises_are_findings() {
    let code = r#"fn f(config: &C) { config.int("a.read"); config.int("a.marked"); }"#;
    let setting = |path: &str, python| Setting {
        path: path.to_owned(),
        python,
    };
    let declared = Declared {
        settings: vec![
            setting("a.read", false),
            setting("a.unread", false),
            setting("a.marked", true),
            setting("a.kept", true),
        ],
        variables: Vec::new(),
        arguments: Vec::new(),
    };
    let found = findings(
        &declared,
        &Reads::new(&[Crate::from_text("demo", &[("", code)])]),
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("the setting a.unread is documented and nothing acts on it"));
    assert!(found[1].starts_with("the setting a.marked is marked"));
}
