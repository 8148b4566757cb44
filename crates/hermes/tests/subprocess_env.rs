//! `hermes doctor` on child environments, as a program in a private home.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests run the program and look at files directly"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use serde_json::Value;

/// A machine with one user and a home for Hermes.
struct Machine {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Machine {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("u/.hermes")).unwrap();
        fs::write(dir.path().join("u/.hermes/config.yaml"), config).unwrap();
        Self {
            dir,
            env: Vec::new(),
        }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn hermes(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_hermes"))
            .args(args)
            .env_clear()
            .env("HOME", self.at("u"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HERMES_MANAGED_DIR", self.at("no-administrator"))
            .envs(self.env.iter().cloned())
            .output()
            .unwrap()
    }

    fn receipt(&self, class: &str) -> Value {
        let output = self.hermes(&["doctor", "--child-env", class, "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// `fate:rule` of a variable in a class.
    fn fate(&self, class: &str, name: &str) -> String {
        let receipt = self.receipt(class);
        let rows = receipt["variables"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name);
        row.map_or_else(String::new, |row| {
            format!("{}:{}", row["fate"], row["rule"]).replace('"', "")
        })
    }

    /// Rows of the section, as `id status text`.
    fn rows(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["doctor", "--json"];
        all.extend(args);
        let output = self.hermes(&all);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap().clone();
        rows.iter()
            .filter(|row| row["section"] == "Subprocess environment" && row["id"] != "bash")
            .map(|row| {
                let text = row["text"].as_str().unwrap();
                let text = text.replace(self.dir.path().to_str().unwrap(), "@");
                // Tests run on machines of both kinds.
                let text = text.replace(", container", "").replace(", host", "");
                format!("{} {} {text}", row["id"], row["status"]).replace('"', "")
            })
            .collect()
    }
}

#[test]
fn the_table_fits_eighty_columns_and_shows_no_value() {
    let machine = Machine::new("model: {api_key: '${MY_KEY}'}\n")
        .env("MY_KEY", "canary-1")
        .env("OPENAI_API_KEY", "canary-2")
        .env("VIRTUAL_ENV", "/canary-3")
        .env("PLAIN", "canary-4")
        .env("GOOGLE_CHAT_HTTP_EVENTS_SERVICE_ACCOUNT_EMAIL", "canary-5");
    for class in ["A", "B", "C", "D", "E", "F", "G"] {
        let output = machine.hermes(&["doctor", "--child-env", class]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("canary"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        // Behind the summary the agent's own classes have two lines about the sandbox.
        let behind = if matches!(class, "A" | "B") { 2 } else { 0 };
        let summary = text.lines().rev().nth(behind).unwrap();
        assert!(summary.contains(" stripped, "), "{text}");
    }
    let output = machine.hermes(&["doctor", "--child-env"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text.lines().take(9).collect::<Vec<_>>(),
        [
            "◆ Child environment, class A: shells of the agent",
            "",
            "Variable                            Fate      Rule",
            "GOOGLE_CHAT_HTTP_EVENTS_SERVICE_A…  stripped  T2: provider or platform setting",
            "MY_KEY                              stripped  T2: credential in your settings",
            "OPENAI_API_KEY                      stripped  T2: provider or platform setting",
            "VIRTUAL_ENV                         stripped  T3: activated environment",
            "HERMES_AGENT_SHELL                  set       marks what an agent runs",
            "HERMES_EXEC_ID                      set       names this command",
        ]
    );
}

#[test]
fn receipts_count_what_they_list() {
    let machine = Machine::new("").env("GH_TOKEN", "t").env("PLAIN", "p");
    let receipt = machine.receipt("a");
    assert_eq!(receipt["class"], "A");
    for fate in ["kept", "stripped", "set"] {
        let rows = receipt["variables"].as_array().unwrap();
        let counted = rows.iter().filter(|row| row["fate"] == fate).count();
        assert_eq!(receipt[fate], counted, "{fate}");
    }
}

#[test]
fn an_unknown_class_is_a_usage_error() {
    let output = Machine::new("").hermes(&["doctor", "--child-env", "H"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("A, B, C, D, E, F and G"), "{said}");
}

#[test]
fn passthrough_lists_are_honoured_and_refusals_told() {
    let machine = Machine::new(
        "terminal: {env_passthrough: [OPENAI_API_KEY], trusted_env_passthrough: [GH_TOKEN, AUXILIARY_VISION_API_KEY]}\n\
         tools: {env_passthrough: [VIRTUAL_ENV]}\n",
    )
    .env("VIRTUAL_ENV", "/v")
    .env("CONDA_PREFIX", "/c")
    .env("OPENAI_API_KEY", "k")
    .env("GH_TOKEN", "t")
    .env("AUXILIARY_VISION_API_KEY", "a")
    .env("CLAUDE_CODE_OAUTH_TOKEN", "o")
    .env("AWS_ACCESS_KEY_ID", "w");
    assert_eq!(machine.fate("A", "VIRTUAL_ENV"), "kept:passthrough");
    assert_eq!(machine.fate("B", "VIRTUAL_ENV"), "kept:passthrough");
    assert_eq!(machine.fate("A", "CONDA_PREFIX"), "stripped:t3-activation");
    assert_eq!(machine.fate("A", "GH_TOKEN"), "kept:trusted-passthrough");
    for class in ["B", "C", "D", "F"] {
        assert_eq!(
            machine.fate(class, "GH_TOKEN"),
            "stripped:t1-credential",
            "{class}"
        );
    }
    assert_eq!(
        machine.fate("A", "AUXILIARY_VISION_API_KEY"),
        "stripped:t0-internal"
    );
    assert_eq!(machine.fate("A", "OPENAI_API_KEY"), "stripped:t2-listed");
    assert_eq!(
        machine.fate("A", "CLAUDE_CODE_OAUTH_TOKEN"),
        "kept:inherited"
    );
    assert_eq!(machine.fate("A", "AWS_ACCESS_KEY_ID"), "kept:inherited");
    let said = machine.hermes(&["doctor", "--child-env"]).stderr;
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said.matches("refused OPENAI_API_KEY").count(), 1, "{said}");
    assert_eq!(
        said.matches("refused AUXILIARY_VISION_API_KEY").count(),
        1,
        "{said}"
    );
}

#[test]
fn the_home_row_tells_where_children_live() {
    let row = |mode: &str, with_home: bool| {
        let machine = Machine::new(&format!("terminal: {{home_mode: {mode}}}\n"));
        if with_home {
            fs::create_dir_all(machine.at("u/.hermes/home")).unwrap();
        }
        machine.rows(&[])[0].clone()
    };
    assert_eq!(
        row("profile", true),
        "home_mode ok Child HOME: ~/.hermes/home (mode profile)"
    );
    assert_eq!(row("real", true), "home_mode ok Child HOME: ~ (mode real)");
    assert_eq!(
        row("profile", false),
        "home_mode ok Child HOME: ~/.hermes/home (mode profile; made by the first command)"
    );
}

#[test]
fn a_home_that_cannot_be_written_is_a_problem() {
    let machine = Machine::new("terminal: {home_mode: profile}\n");
    let home = machine.at("u/.hermes/home");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write anywhere, and is told so.
    let root = fs::write(home.join("probe"), "").is_ok();
    let expected = if root { "ok" } else { "problem" };
    assert!(machine.rows(&[])[0].starts_with(&format!("home_mode {expected}")));
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_hidden_keychain_is_told_and_mended() {
    let machine =
        Machine::new("terminal: {home_mode: profile, profile_home_links: [.claude, ../x]}\n");
    for dir in ["u/.hermes/home", "u/Library/Keychains", "u/.claude"] {
        fs::create_dir_all(machine.at(dir)).unwrap();
    }
    let before = machine.rows(&[]);
    assert_eq!(
        before[1..4],
        [
            "keychain warning the profile's home hides the login keychain (~/Library/Keychains)",
            "home_link warning terminal.profile_home_links: '../x' is skipped",
            "home_link warning the profile's home is missing its link .claude",
        ]
    );
    assert!(
        !machine.at("u/.hermes/home/Library").exists(),
        "looking changes nothing"
    );
    machine.rows(&["--fix"]);
    let link = machine.at("u/.hermes/home/Library/Keychains");
    assert_eq!(
        fs::read_link(&link).unwrap(),
        machine.at("u/Library/Keychains")
    );
    let after = machine.rows(&[]);
    assert_eq!(
        after[1],
        "keychain ok keychain linked to ~/Library/Keychains"
    );
    // A link that leads nowhere is as bad as none.
    fs::remove_file(&link).unwrap();
    symlink("/nowhere", &link).unwrap();
    assert!(machine.rows(&[])[1].starts_with("keychain warning"));
    machine.rows(&["--fix"]);
    assert_eq!(
        fs::read_link(&link).unwrap(),
        machine.at("u/Library/Keychains")
    );
}

#[test]
fn a_declined_link_and_a_directory_of_ones_own_are_left_alone() {
    let machine = Machine::new("terminal: {home_mode: profile, profile_home_keychain: false}\n");
    for dir in ["u/.hermes/home", "u/Library/Keychains"] {
        fs::create_dir_all(machine.at(dir)).unwrap();
    }
    assert!(machine.rows(&["--fix"])[1].starts_with("keychain ok keychain not linked"));
    assert!(!machine.at("u/.hermes/home/Library").exists());
    fs::write(
        machine.at("u/.hermes/config.yaml"),
        "terminal: {home_mode: profile}\n",
    )
    .unwrap();
    fs::create_dir_all(machine.at("u/.hermes/home/Library/Keychains")).unwrap();
    let rows = machine.rows(&["--fix"]);
    assert_eq!(
        rows[1],
        "keychain ok keychain directory belongs to the profile itself"
    );
}

#[test]
fn a_skill_that_drives_claude_needs_its_login() {
    let machine = Machine::new("terminal: {home_mode: profile}\n");
    fs::create_dir_all(machine.at("u/.hermes/home")).unwrap();
    for (skill, text) in [
        ("dev/claude-code", "---\nname: x\n---\n"),
        (
            "dev/other",
            "---\nrequired_commands: [git, claude]\n---\nText\n",
        ),
        ("dev/none", "claude is only mentioned\n"),
    ] {
        let dir = machine.at("u/.hermes/skills").join(skill);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("SKILL.md"), text).unwrap();
    }
    let wanted = "claude_worker warning claude has no login in the profile's home; \
                  used by: claude-code, other";
    assert!(
        machine.rows(&[]).contains(&wanted.to_owned()),
        "{:?}",
        machine.rows(&[])
    );
    fs::create_dir_all(machine.at("u/.hermes/home/.claude")).unwrap();
    assert!(
        !machine
            .rows(&[])
            .iter()
            .any(|row| row.starts_with("claude_worker"))
    );
}

#[test]
fn markers_and_units_of_the_old_runtime_are_listed() {
    let machine = Machine::new("");
    assert!(
        machine
            .rows(&[])
            .contains(&"markers ok no activation markers inherited".to_owned())
    );
    let venv = machine.at("u/.hermes/hermes-agent/venv");
    fs::create_dir_all(venv.join("lib/python3.11/site-packages/hermes_agent-0.19.0.dist-info"))
        .unwrap();
    fs::write(venv.join("pyvenv.cfg"), "").unwrap();
    let units = machine.at("u/.config/systemd/user");
    fs::create_dir_all(&units).unwrap();
    fs::write(
        units.join("hermes-gateway.service"),
        "Environment=VIRTUAL_ENV=/x\n",
    )
    .unwrap();
    fs::write(units.join("other.service"), "Environment=VIRTUAL_ENV=/x\n").unwrap();
    let machine = machine
        .env("VIRTUAL_ENV", venv.to_str().unwrap())
        .env("CONDA_PREFIX", "/c");
    assert_eq!(
        machine.rows(&[])[1..],
        [
            "markers warning inherited activation markers: CONDA_PREFIX, VIRTUAL_ENV (points into \
             Hermes' own install)",
            "unit warning ~/.config/systemd/user/hermes-gateway.service sets VIRTUAL_ENV",
        ]
    );
    assert_eq!(machine.fate("A", "VIRTUAL_ENV"), "stripped:t3-activation");
}

#[test]
fn a_gutted_runtime_is_a_problem_with_a_way_back() {
    let machine = Machine::new("");
    let venv = machine.at("u/.hermes/hermes-agent/venv");
    fs::create_dir_all(venv.join("lib/python3.11/site-packages")).unwrap();
    fs::write(venv.join("pyvenv.cfg"), "").unwrap();
    let output = machine.hermes(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("✗ ~/.hermes/hermes-agent/venv no longer contains the package hermes_agent"),
        "{text}"
    );
    assert!(text.contains("uv pip install -e"), "{text}");
}

#[test]
fn every_profile_can_be_looked_at() {
    let machine = Machine::new("terminal: {home_mode: real}\n");
    let profile = machine.at("u/.hermes/profiles/coder");
    fs::create_dir_all(profile.join("home")).unwrap();
    fs::create_dir_all(machine.at("u/Library/Keychains")).unwrap();
    fs::write(
        profile.join("config.yaml"),
        "terminal: {home_mode: profile}\n",
    )
    .unwrap();
    let rows = machine.rows(&["--all-profiles"]);
    assert_eq!(
        rows[..3],
        [
            "home_mode ok default: Child HOME: ~ (mode real)",
            "home_mode ok coder: Child HOME: ~/.hermes/profiles/coder/home (mode profile)",
            "keychain warning coder: the profile's home hides the login keychain \
             (~/Library/Keychains)",
        ]
    );
    machine.rows(&["--all-profiles", "--fix"]);
    assert!(profile.join("home/Library/Keychains").is_symlink());
}

#[test]
fn bad_settings_are_told_and_do_not_stop_the_receipt() {
    let machine = Machine::new("terminal: {env_passthrough: VIRTUAL_ENV, home_mode: moon}\n")
        .env("VIRTUAL_ENV", "/v")
        .env("TERMINAL_TIMEOUT", "5m");
    assert_eq!(machine.fate("A", "VIRTUAL_ENV"), "stripped:t3-activation");
    let said = machine.hermes(&["doctor", "--child-env"]).stderr;
    let said = String::from_utf8(said).unwrap();
    for part in [
        "TERMINAL_TIMEOUT=5m",
        "terminal.env_passthrough",
        "terminal.home_mode",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    fs::write(machine.at("u/.hermes/config.yaml"), "{{{ not yaml").unwrap();
    assert_eq!(machine.fate("A", "VIRTUAL_ENV"), "stripped:t3-activation");
}
