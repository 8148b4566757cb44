//! Secrets that nobody else has, under names of every tier: wherever one turns up, it leaked.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use serde_json::json;

use super::{Place, has_variable};

/// Internal names, names of Hermes and names of providers.
const NAMES: [&str; 12] = [
    "_HERMES_FORCE_OPENAI_API_KEY",
    "AUXILIARY_VISION_API_KEY",
    "GATEWAY_RELAY_HOME_SECRET",
    "HERMES_RPC_TOKEN",
    "HERMES_DASHBOARD_SESSION_TOKEN",
    "GH_TOKEN",
    "TELEGRAM_BOT_TOKEN",
    "MODAL_TOKEN_SECRET",
    "SUDO_PASSWORD",
    "OPENAI_API_KEY",
    "MATRIX_RECOVERY_KEY",
    "TWILIO_AUTH_TOKEN",
];

/// Different in every run, without a form that a pattern could know.
fn canary(name: &str, source: &str) -> String {
    format!("canary{:016x}", RandomState::new().hash_one((name, source)))
}

/// Every file below a directory, except those the test itself wrote secrets to.
fn search(directory: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            search(&path, visit);
        } else if meta.is_file() && path.file_name().is_none_or(|name| name != ".env") {
            visit(
                &path,
                &String::from_utf8_lossy(&std::fs::read(&path).unwrap()),
            );
        }
    }
}

/// A place full of secrets.
struct Cage {
    place: Place,
    secrets: Vec<String>,
}

impl Cage {
    fn new() -> Self {
        let mut place = Place::with_config(
            "approvals: {noninteractive_mode: approve}\n\
             logging: {level: DEBUG}\n\
             terminal: {env_passthrough: [GH_TOKEN]}\n",
        );
        let mut secrets = Vec::new();
        let mut dotenv = String::new();
        for (index, name) in NAMES.into_iter().enumerate() {
            // Half of them in both places, with different values.
            if index % 2 == 0 {
                let kept = canary(name, "file");
                dotenv.push_str(&format!("{name}={kept}\n"));
                secrets.push(kept);
            }
            let exported = canary(name, "environment");
            place = place.env(name, exported.clone());
            secrets.push(exported);
        }
        place.home.put(".env", &dotenv);
        Self { place, secrets }
    }

    #[track_caller]
    fn none_in(&self, what: &str, text: &str) {
        for secret in &self.secrets {
            let is_out = text.contains(secret.as_str());
            assert!(!is_out, "{what} shows {secret}: {text}");
        }
    }
}

#[test]
fn no_child_has_a_secret() {
    // check 1, 5, 29
    let cage = Cage::new();
    let mut talk = cage.place.talk();
    for (kind, output) in talk.environments() {
        // A script has a token of its own under that name.
        for name in NAMES.into_iter().filter(|name| *name != "HERMES_RPC_TOKEN") {
            assert!(!has_variable(&output, name), "{kind} has {name}");
        }
        cage.none_in(kind, &output);
    }
    // As the system sees it, before anything masks it.
    let save = |name: &str| format!("cat /proc/self/environ > {name}");
    talk.output(&save("foreground"));
    talk.background(&save("background"), false);
    talk.background(&save("terminal"), true);
    talk.printed("open('script', 'wb').write(open('/proc/self/environ', 'rb').read())");
    for name in ["foreground", "background", "terminal", "script"] {
        let bytes = std::fs::read(cage.place.work(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("HOME="), "{name}: {text}");
        cage.none_in(name, &text);
    }
    for class in ["A", "B", "C", "D", "E", "F", "G"] {
        let outcome = cage.place.hermes(&["doctor", "--child-env", class]).run();
        cage.none_in(class, &format!("{}{}", outcome.stdout, outcome.stderr));
    }
}

#[test]
fn no_result_error_or_file_shows_a_secret() {
    // check 5, 14, 29
    let cage = Cage::new();
    let place = &cage.place;
    let shown = |what: &str, text: &str| cage.none_in(what, text);
    let mut talk = place.talk();
    for secret in &cage.secrets {
        let result = talk.run(&format!("echo {secret}"));
        assert_eq!(result["output"], "***", "{result}");
    }
    // Results and errors that quote a secret the model came to know.
    let dotenv = place.home.path(".env").display().to_string();
    let secret = cage.secrets[0].clone();
    for (tool, args) in [
        ("terminal", json!({"command": format!("cat {dotenv}")})),
        (
            "terminal",
            json!({"command": format!("echo {secret} >&2; exit 1")}),
        ),
        (
            "terminal",
            json!({"command": "pwd", "workdir": format!("/{secret}")}),
        ),
        (
            "terminal",
            json!({"command": format!("sleep 0 {secret} &")}),
        ),
        ("terminal", json!({"command": {"a": secret}})),
        ("read_file", json!({"path": dotenv})),
        ("read_file", json!({"path": format!("/{secret}")})),
        ("process", json!({"action": secret})),
        ("process", json!({"action": "poll", "session_id": secret})),
        (
            "execute_code",
            json!({"code": format!("print(open('{dotenv}').read())")}),
        ),
        (
            "execute_code",
            json!({"code": format!("raise ValueError('{secret}')")}),
        ),
        (secret.as_str(), json!({})),
    ] {
        let result = talk.call_in("main", tool, &args);
        shown(tool, &result.to_string());
    }

    // A background process whose command has one: what is listed, and every file of the home.
    let id = talk.start(&format!(": {secret}; sleep 20"), false);
    let mut names = Vec::new();
    search(&place.home.root(), &mut |path, text| {
        names.push(path.file_name().unwrap().to_owned());
        shown(&path.display().to_string(), text);
    });
    for name in ["processes.json", "agent.log"] {
        assert!(names.iter().any(|seen| seen == name), "{names:?}");
    }
    for action in ["list", "poll", "log", "kill"] {
        let result = talk.process(json!({"action": action, "session_id": id}));
        shown(action, &result.to_string());
    }
    let id = talk.start(&format!("echo {secret}"), false);
    for action in ["wait", "list", "poll", "log"] {
        let result = talk.process(json!({"action": action, "session_id": id}));
        shown(action, &result.to_string());
    }
    search(&place.home.outside("tmp"), &mut |path, text| {
        shown(&path.display().to_string(), text);
    });
    shown("standard error", &talk.hermes.errors().join("\n"));
}
