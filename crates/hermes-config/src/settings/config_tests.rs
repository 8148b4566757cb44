//! Precedence, origins and problems.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

struct Fixture {
    dir: tempfile::TempDir,
    env: Vec<(&'static str, &'static str)>,
}

impl Fixture {
    fn new(config: &str, dotenv: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            hermes_fs::write_atomic(&dir.path().join(name), text.as_bytes(), 0o600).unwrap();
        };
        write("config.yaml", config);
        write(".env", dotenv);
        Self {
            dir,
            env: Vec::new(),
        }
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    fn sources(&self) -> Sources {
        Sources {
            env: Environment::from_pairs(self.env.iter().copied()),
            home: self.dir.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: false,
        }
    }

    fn load(&self) -> Config {
        Config::load_read_only(&self.sources())
    }
}

#[test]
fn environment_beats_file_beats_dotenv_beats_default() {
    let fixture = Fixture::new(
        "terminal:\n  timeout: 20\n",
        "TERMINAL_TIMEOUT=10\nTERMINAL_CWD=/d\n",
    );
    let config = fixture.load();
    assert_eq!(config.int("terminal.timeout"), Some(20));
    assert_eq!(config.text("terminal.cwd"), "/d");
    assert_eq!(config.text("terminal.backend"), "local");
    let config = fixture.env("TERMINAL_TIMEOUT", "30").load();
    assert_eq!(config.int("terminal.timeout"), Some(30));
    let layers: Vec<_> = config
        .candidates("terminal.timeout")
        .into_iter()
        .map(|c| (c.layer, c.value, c.line))
        .collect();
    assert_eq!(
        layers,
        [
            (Layer::Environment, json!(30), None),
            (Layer::File, json!(20), Some(2)),
            (Layer::DotEnv, json!(10), Some(1)),
            (Layer::Default, json!(180), None),
        ]
    );
}

#[test]
fn a_time_to_wait_is_above_zero_in_every_layer() {
    for bad in ["0", "-3", "5m", "1.5", ""] {
        let config = Fixture::new("terminal: {timeout: 20}\n", "")
            .env("TERMINAL_TIMEOUT", bad)
            .load();
        assert_eq!(config.int("terminal.timeout"), Some(20), "{bad:?}");
    }
    let config = Fixture::new("terminal: {timeout: 0}\ntool_output: {max_bytes: -1}\n", "").load();
    assert_eq!(config.int("terminal.timeout"), Some(180));
    assert_eq!(config.int("tool_output.max_bytes"), Some(50_000));
    let config = Fixture::new("", "").env("TERMINAL_TIMEOUT", " 7 ").load();
    assert_eq!(config.int("terminal.timeout"), Some(7));
}

#[test]
fn a_bad_variable_is_quoted_unless_it_may_hold_a_secret() {
    let config = Fixture::new("", "")
        .env("TERMINAL_TIMEOUT", "5m")
        .env("TERMINAL_DOCKER_ENV", "{\"KEY\": \"s3cret")
        .load();
    let messages: Vec<String> = config.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "TERMINAL_TIMEOUT=5m is ignored: terminal.timeout is a whole number above zero",
            "TERMINAL_DOCKER_ENV is ignored: terminal.docker_env is a mapping",
        ]
    );
}

#[test]
fn the_managed_file_beats_all() {
    let fixture =
        Fixture::new("terminal: {timeout: 20, cwd: /x}\n", "").env("TERMINAL_TIMEOUT", "30");
    let managed = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(
        &managed.path().join("config.yaml"),
        b"terminal: {timeout: 5}\n",
        0o644,
    )
    .unwrap();
    let sources = Sources {
        managed_dir: Some(managed.path().to_owned()),
        ..fixture.sources()
    };
    let config = Config::load_read_only(&sources);
    assert_eq!(config.int("terminal.timeout"), Some(5));
    assert_eq!(config.text("terminal.cwd"), "/x");
    assert_eq!(
        config.candidates("terminal.timeout")[0].layer,
        Layer::Managed
    );
}

#[test]
fn references_are_looked_up_and_unknown_ones_stay() {
    let config = Fixture::new(
        "terminal: {cwd: '${HOME}/x', timeout: '${T}', docker_image: '${NOPE}'}\nmodel: {api_key: '${K}'}\n",
        "K=from-dotenv\nT=7\n",
    )
    .env("HOME", "/h")
    .load();
    assert_eq!(config.text("terminal.cwd"), "/h/x");
    assert_eq!(config.int("terminal.timeout"), Some(7));
    assert_eq!(config.text("terminal.docker_image"), "${NOPE}");
    assert_eq!(config.text("model.api_key"), "from-dotenv");
    assert_eq!(config.problems(), []);
}

#[test]
fn problems_name_key_line_and_way_out() {
    let fixture = Fixture::new(
        "terminal:\n  timeout: soon\n  bakend: docker\nkanban: 5\nbogus: 1\napprovals:\n  mode: off\n",
        "",
    )
    .env("TERMINAL_CONTAINER_CPU", "two");
    let config = fixture.load();
    assert_eq!(config.int("terminal.timeout"), Some(180));
    assert_eq!(config.text("approvals.mode"), "off");
    assert_eq!(config.int("kanban.failure_limit"), Some(2));
    let file = fixture.dir.path().join("config.yaml");
    let messages: Vec<String> = config
        .problems()
        .iter()
        .map(|p| p.to_string().replace(&file.display().to_string(), "F"))
        .collect();
    assert_eq!(
        messages,
        [
            "F:2: terminal.timeout: expected a whole number above zero, got the text \"soon\"; the default is in effect",
            "F:3: unknown setting terminal.bakend",
            "F:4: kanban: expected a mapping, got the number 5; the default is in effect",
            "F:5: unknown setting bogus",
            "TERMINAL_CONTAINER_CPU=two is ignored: terminal.container_cpu is a number",
        ]
    );
    assert_eq!(
        config.problems()[1].hint().as_deref(),
        Some("did you mean terminal.backend?")
    );
}

#[test]
fn a_broken_file_leaves_the_defaults() {
    let config = Fixture::new("a: [1\nb: 2\n", "").load();
    assert!(matches!(config.problems(), [Problem::Broken { .. }]));
    assert_eq!(config.int("terminal.timeout"), Some(180));
}

#[test]
fn models_in_every_spelling() {
    for text in [
        "model: m\nprovider: p\n",
        "model: {default: m, provider: p}\n",
    ] {
        let config = Fixture::new(text, "").load();
        assert_eq!(config.model(), (Some("m"), Some("p")), "{text}");
        assert_eq!(config.candidates("model.default")[0].line, Some(1));
    }
    assert_eq!(Fixture::new("", "").load().model(), (None, None));
}

#[test]
fn secrets_come_from_environment_then_dotenv_then_root_keys() {
    let fixture = Fixture::new(
        "A_API_KEY: root\nPATH: /evil\n",
        "B_API_KEY=dot\nC_API_KEY=dot\n",
    )
    .env("C_API_KEY", "env");
    let config = fixture.load();
    let secret = |name| config.secret(name).map(|s| s.expose().to_owned());
    assert_eq!(secret("A_API_KEY").as_deref(), Some("root"));
    assert_eq!(secret("B_API_KEY").as_deref(), Some("dot"));
    assert_eq!(secret("C_API_KEY").as_deref(), Some("env"));
    assert_eq!(secret("PATH"), None);
    assert_eq!(config.conflicting_names(), ["C_API_KEY"]);
    assert_eq!(
        config.problems(),
        [],
        "names of variables at the root are no unknown settings"
    );
}

#[test]
fn hostile_files_are_refused_in_bounded_memory() {
    let deep = format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let previous = level - 1;
        let row = vec![format!("*a{previous}"); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    for text in [
        deep,
        bomb,
        "a: &x [*x]\n".to_owned(),
        "a: *nope\n".to_owned(),
        "? [a]\n: b\n".to_owned(),
    ] {
        let config = Fixture::new(&text, "").load();
        assert!(
            matches!(config.problems(), [Problem::Broken { .. }]),
            "{:?}: {:?}",
            text.get(..20),
            config.problems()
        );
    }
}
