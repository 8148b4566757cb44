//! Packages of Python that plugins declare: agreed to, resolved once, installed for the plugin alone, and
//! used by its program. The interpreter is real, the installer is played by a script.

use std::fs;
use std::path::PathBuf;

use hermes_testkit::{ProgramCall, ProgramOutput};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::workers::python;
use super::{Desk, FEATURE, error_code, names};

/// An installer whose index has `greet`, which needs `tone`, in any version. The newest `tone` is 2.0.
const INSTALLER: &str = r#"
import hashlib, os, sys
args = sys.argv[1:]
if args == ["--version"]:
    print("uv 0.9.9 (test)"); sys.exit()
if args[:2] == ["python", "find"]:
    sys.exit(1)
after = lambda option: args[args.index(option) + 1] if option in args else None
with open(LOG, "a") as log:
    log.write(" ".join(args) + "\n")
pins = lambda path: dict(line.split("==") for line in open(path).read().split() if "==" in line)
if args[:2] == ["pip", "compile"]:
    wanted, limits = pins(args[-1]), pins(after("--constraint"))
    for name, version in list(wanted.items()):
        if name == "greet":
            wanted.setdefault("tone", limits.get("tone", "2.0"))
    for name, version in limits.items():
        if wanted.get(name, version) != version:
            sys.exit(f"error: No solution found when resolving dependencies\n"
                     f"  cause: Because you require {name}=={wanted[name]} and {name}=={version}, ...")
    with open(after("--output-file"), "w") as lock:
        for name, version in sorted(wanted.items()):
            digest = hashlib.sha256(f"{name} {version} {INDEX}".encode()).hexdigest()
            lock.write(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
else:
    site, lock = after("--target"), after("-r")
    for name, version in pins(lock).items():
        os.makedirs(f"{site}/{name}-{version}.dist-info"); os.makedirs(f"{site}/{name}")
        with open(f"{site}/{name}/__init__.py", "w") as code:
            code.write(f"VERSION = '{version}'\n")
        with open(f"{site}/{name}-{version}.dist-info/METADATA", "w") as about:
            about.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
FIRST
"#;

/// A server of MCP with one tool, which says what it was started with.
const SERVER: &str = r#"
import json, sys
import greet, tone
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if "id" not in request:
        continue
    result = {}
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        result = {"tools": [{"name": "versions", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        text = f"greet {greet.VERSION} tone {tone.VERSION} in {greet.__file__} last {sys.path[-1]}"
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

/// By which a plugin is enabled with its packages.
const ALL: [&str; 2] = ["--enable", "--install-packages"];

/// A user with a plugin in a directory outside of the home.
struct Bench {
    desk: Desk,
    source: PathBuf,
}

impl Bench {
    fn new(packages: &str) -> Self {
        let desk = Desk::new();
        desk.home.put_outside("source/server.py", SERVER, 0o644);
        let source = desk.home.outside("source");
        let bench = Self { desk, source };
        bench.installer("pass", "first");
        bench.declare("1", packages);
        bench
    }

    /// The installer does this at the end; its index has files of this kind.
    fn installer(&self, then: &str, index: &str) {
        let log = self.desk.home.outside("calls");
        let script = INSTALLER
            .replace("LOG", &format!("{:?}", log.display().to_string()))
            .replace("INDEX", &format!("'{index}'"))
            .replace("FIRST", then);
        let script = format!("#!{}\n{script}", python().display());
        self.desk.home.put_outside("bin/uv", script, 0o755);
    }

    /// The plugin declares these packages.
    fn declare(&self, version: &str, packages: &str) {
        let manifest = format!(
            "name: notes\nversion: '{version}'\nruntime: mcp\ncommand: [python3, server.py]\n\
             python_dependencies: {packages}\n"
        );
        fs::write(self.source.join("plugin.yaml"), manifest).unwrap();
    }

    fn call(&self, words: &[&str]) -> ProgramCall {
        self.desk
            .program(words)
            .env("HERMES_ADDON_PYTHON", python())
    }

    fn run(&self, words: &[&str]) -> ProgramOutput {
        self.call(words).run()
    }

    /// Installs the plugin, with these options.
    fn install(&self, options: &[&str]) -> ProgramOutput {
        let source = self.source.display().to_string();
        let words = ["plugins", "install", &source].into_iter();
        self.run(&words.chain(options.iter().copied()).collect::<Vec<_>>())
    }

    /// The plugin is installed and enabled with its packages.
    fn enabled(packages: &str) -> Self {
        let bench = Self::new(packages);
        bench.install(&ALL).succeeds();
        bench
    }

    /// What the plugin says that it was started with.
    fn versions(&self) -> String {
        let call = self.run(&["tools", "call", "versions", "{}"]);
        call.succeeds().stdout.clone()
    }

    fn listed(&self) -> Value {
        let listed = self.run(&["plugins", "list", "--json"]).succeeds().json();
        listed[0].clone()
    }

    /// The calls of the installer: what it resolved, or installed.
    fn calls(&self, verb: &str) -> usize {
        let log = fs::read_to_string(self.desk.home.outside("calls")).unwrap_or_default();
        log.lines()
            .filter(|line| line.starts_with(&format!("pip {verb} ")))
            .count()
    }

    /// Nothing is installed, and nothing is left of an attempt.
    fn has_nothing(&self) {
        for directory in ["@envs", "@stage", "@locks"] {
            let left = names(&self.desk.store().join(directory));
            assert_eq!(left, Vec::<String>::new(), "{directory}");
        }
    }
}

#[test]
fn packages_are_agreed_to_installed_for_the_plugin_alone_and_used_by_it() {
    let bench = Bench::new("['greet==1.0']");
    let install = bench.install(&["--enable"]);
    install
        .exits(1)
        .says_part("greet==1.0")
        .says_part("nobody can be asked")
        .says_part("hermes plugins enable notes --install-packages");
    assert_eq!(bench.listed()["status"], "not enabled");
    assert_eq!(bench.listed()["python_packages"]["state"], "absent");
    assert_eq!(bench.calls("compile") + bench.calls("install"), 0);
    bench
        .run(&["plugins", "enable", "notes", "--install-packages"])
        .succeeds()
        .prints_part("✓ Installed its packages")
        .prints_part("✓ notes is enabled");
    let said = bench.versions();
    assert!(said.contains("greet 1.0 tone 2.0"), "{said}");
    let place = bench.desk.store().join("@envs/plugin:notes");
    assert!(said.contains(place.to_str().unwrap()), "{said}");
    let packages = bench.listed()["python_packages"].clone();
    assert_eq!(packages["state"], "installed");
    assert_eq!(packages["specs"], serde_json::json!(["greet==1.0"]));
    let shown = bench.run(&["plugins", "show", "notes"]);
    shown.succeeds().prints_part("greet==1.0 (installed)");
    let row = bench.desk.row("plugin:notes");
    assert_eq!(row["state"], "installed");
    let shown = bench.run(&["addons", "show", "plugin:notes"]);
    shown.succeeds().prints_part("tone==2.0");
    bench.run(&["addons", "verify", "plugin:notes"]).succeeds();
    // Enabled again, nothing has to be done.
    bench.run(&["plugins", "enable", "notes"]).succeeds();
    assert_eq!((bench.calls("compile"), bench.calls("install")), (1, 1));
}

#[test]
fn a_person_at_a_terminal_is_asked_and_may_say_no() {
    let bench = Bench::new("['greet==1.0']");
    bench.install(&["--no-enable"]).succeeds();
    for (answer, code) in [("n\r", 1), ("y\r", 0)] {
        let mut terminal = bench
            .call(&["plugins", "enable", "notes"])
            .start_at_terminal();
        terminal.wait_for("greet==1.0");
        terminal.wait_for("[y/N]");
        terminal.press(answer);
        let ended = terminal.wait();
        assert_eq!(ended.code, Some(code), "{ended}");
        if code != 0 {
            bench.has_nothing();
            assert_eq!(bench.listed()["status"], "not enabled");
        }
    }
    assert_eq!(bench.listed()["status"], "enabled");
}

#[test]
fn whatever_is_not_an_exact_version_is_refused_and_nothing_changes() {
    let bench = Bench::enabled("['greet==1.0']");
    let source = bench.source.display().to_string();
    let before = bench.desk.home.tree().without_times();
    for spec in [
        "greet",
        "greet>=1.0",
        "greet @ https://host/greet.whl",
        "git+https://host/greet",
        "./greet",
        "/srv/greet",
        "--index-url=https://host",
        "-r other.txt",
        "greet==1.0 --hash=sha256:00",
        "greet-1.0-py3-none-any.whl",
    ] {
        bench.declare("2", &format!("['{spec}']"));
        for words in [
            &["plugins", "install", &source, "--force"][..],
            &["plugins", "update", "notes"],
        ] {
            bench
                .run(words)
                .exits(1)
                .says_part(&format!("'{spec}' in python_dependencies"))
                .says_part("write name==version");
        }
    }
    let without_logs = |path: &str| !path.starts_with("logs");
    let after = bench.desk.home.tree().without_times().only(without_logs);
    assert_eq!(after, before.only(without_logs));
    assert_eq!(bench.calls("compile"), 1);
}

#[test]
fn a_command_that_could_not_use_its_packages_is_refused() {
    let bench = Bench::new("[]");
    let manifest =
        "name: notes\nruntime: mcp\ncommand: [./run.sh]\npip_dependencies: ['greet==1.0']\n";
    fs::write(bench.source.join("plugin.yaml"), manifest).unwrap();
    bench
        .install(&[])
        .exits(1)
        .says_part("its command is not python3")
        .says_part("[python3, SCRIPT]");
}

#[test]
fn a_failed_install_leaves_the_plugin_off_and_nothing_behind() {
    let bench = Bench::new("['greet==1.0']");
    bench.installer("sys.exit('error: the wheel is made of cheese')", "first");
    bench
        .install(&ALL)
        .exits(1)
        .says_part("made of cheese")
        .says_part("Feature 'plugin:notes' unavailable");
    bench.has_nothing();
    let listed = bench.listed();
    assert_eq!(listed["status"], "not enabled");
    assert_eq!(listed["python_packages"]["state"], "failed");
    // Enabled by hand, it is named and not used; everything else works.
    bench
        .desk
        .home
        .put("config.yaml", "plugins: {enabled: [notes]}\n");
    bench
        .run(&["plugins", "list"])
        .succeeds()
        .says_part("could not be installed: ");
    bench
        .run(&["doctor"])
        .prints_part("its packages of Python could not be installed");
    let tools = bench.run(&["tools", "list", "--json"]).succeeds().json();
    assert!(!tools.to_string().contains("versions"), "{tools}");
    bench.installer("pass", "first");
    bench
        .run(&["plugins", "enable", "notes", "--install-packages"])
        .succeeds();
    assert!(bench.versions().contains("greet 1.0"));
}

#[test]
fn the_gates_count_for_packages_of_plugins_too() {
    let bench = Bench::new("['greet==1.0']");
    bench.install(&["--no-enable"]).succeeds();
    let enable = ["plugins", "enable", "notes", "--install-packages"];
    bench
        .call(&enable)
        .env("HERMES_DISABLE_LAZY_INSTALLS", "1")
        .run()
        .exits(3)
        .says_part("HERMES_DISABLE_LAZY_INSTALLS is set");
    bench
        .desk
        .home
        .put("config.yaml", "security: {allow_lazy_installs: false}\n");
    bench
        .run(&enable)
        .exits(3)
        .says_part("security.allow_lazy_installs=false");
    assert_eq!(bench.calls("compile"), 0);
    bench.desk.home.put("config.yaml", "");
    // A store that several homes share tells their plugins apart.
    let target = bench.desk.home.outside("target");
    let sealed = |words: &[&str]| {
        bench
            .call(words)
            .env("HERMES_DISABLE_LAZY_INSTALLS", "1")
            .env("HERMES_LAZY_INSTALL_TARGET", &target)
            .run()
    };
    sealed(&enable).succeeds();
    let made = names(&target.join("@envs"));
    assert_eq!(made.len(), 1);
    assert!(made[0].starts_with("plugin:notes~"), "{made:?}");
    let said = sealed(&["tools", "call", "versions", "{}"]);
    said.succeeds().prints_part("greet 1.0");
    sealed(&["addons", "gc"]).succeeds();
    assert_eq!(names(&target.join("@envs")), made);
    let list = sealed(&["addons", "list", "--json"]).succeeds().json();
    assert_eq!(list["addons"][0]["feature"], made[0].as_str());
    sealed(&["addons", "install", "plugin:notes"])
        .succeeds()
        .prints_part("is installed already");
}

#[test]
fn a_moved_pin_is_asked_about_again_and_the_way_back_is_known() {
    let bench = Bench::enabled("['greet==1.0']");
    bench.declare("2", "['greet==1.1']");
    bench
        .run(&["plugins", "update", "notes"])
        .exits(1)
        .says_part("--install-packages");
    let tools = bench.run(&["tools", "list", "--json"]);
    tools.succeeds();
    assert!(!tools.stdout.contains("versions"), "{tools}");
    // The index gives other files by now; what was recorded of `tone` still counts.
    bench.installer("pass", "second");
    bench
        .run(&["plugins", "enable", "notes", "--install-packages"])
        .succeeds();
    assert!(bench.versions().contains("greet 1.1 tone 2.0"));
    let locks = bench.desk.store().join("@locks/plugin:notes");
    let locks: Vec<String> = names(&locks)
        .iter()
        .map(|name| fs::read_to_string(locks.join(name)).unwrap())
        .collect();
    let hash = |lock: &String| {
        let (_, after) = lock.split_once("tone==2.0").unwrap();
        after.trim().to_owned()
    };
    assert_eq!(locks.len(), 2);
    assert_eq!(hash(&locks[0]), hash(&locks[1]));
    // The old copy comes back with the packages it had: nobody is asked, nothing is resolved.
    let resolved = bench.calls("compile");
    bench
        .run(&["plugins", "update", "--rollback", "notes"])
        .succeeds();
    assert!(bench.versions().contains("greet 1.0 tone 2.0"));
    assert_eq!(bench.calls("compile"), resolved);
}

#[test]
fn a_removed_plugin_takes_its_packages_along() {
    let bench = Bench::enabled("['greet==1.0']");
    bench
        .run(&["plugins", "remove", "notes"])
        .succeeds()
        .prints_part("✓ Removed its packages");
    bench.has_nothing();
    // One that was deleted by hand leaves them to the collection.
    let bench = Bench::enabled("['greet==1.0']");
    fs::remove_dir_all(bench.desk.home.path("plugins/notes")).unwrap();
    let dry = bench.run(&["addons", "gc", "--dry-run"]);
    // Settings still name it.
    dry.succeeds().prints("Nothing to remove\n");
    bench.desk.home.put("config.yaml", "");
    let before = bench.desk.home.tree();
    bench
        .run(&["addons", "gc", "--dry-run"])
        .succeeds()
        .prints_part("for a plugin that is gone");
    before.is_still(&bench.desk.home.tree());
    bench
        .run(&["addons", "gc"])
        .succeeds()
        .prints_part("for a plugin that is gone");
    bench.has_nothing();
    let list = bench.run(&["addons", "list", "--json"]).succeeds().json();
    assert_eq!(list["addons"], serde_json::json!([]));
}

#[test]
fn another_interpreter_gets_the_recorded_packages_without_a_question() {
    let bench = Bench::enabled("['greet==1.0']");
    // An install for another interpreter clears the store.
    bench
        .desk
        .home
        .put_outside("locks/debug.selftest.txt", lock_of("tone"), 0o644);
    bench.desk.python(13);
    bench.desk.addons(&["install", FEATURE]).succeeds();
    assert_eq!(
        names(&bench.desk.store().join("@envs/plugin:notes")),
        Vec::<String>::new()
    );
    assert_eq!(bench.listed()["python_packages"]["state"], "stale");
    // The index gives other files by now, and is not asked for hashes.
    bench.installer("pass", "second");
    let said = bench.versions();
    assert!(said.contains("greet 1.0 tone 2.0"), "{said}");
    assert_eq!(bench.calls("compile"), 1);
    assert_eq!(bench.listed()["python_packages"]["state"], "installed");
}

#[test]
fn an_update_of_the_program_brings_packages_of_plugins_back() {
    let bench = Bench::enabled("['greet==1.0']");
    let generation = bench.desk.current("plugin:notes");
    fs::rename(&generation, bench.desk.home.outside("gone")).unwrap();
    let updated = bench.run(&["update"]);
    updated.prints_part("↑ 1 refreshed: plugin:notes");
    assert!(bench.versions().contains("greet 1.0"));
    assert_eq!(bench.calls("compile"), 1);
}

#[test]
fn of_two_who_enable_a_plugin_at_once_one_does_the_work() {
    let bench = Bench::new("['greet==1.0']");
    bench.install(&["--no-enable"]).succeeds();
    bench.installer("import time; time.sleep(0.3)", "first");
    let enable = ["plugins", "enable", "notes", "--install-packages"];
    let mut running: Vec<_> = (0..4).map(|_| bench.call(&enable).start()).collect();
    for one in &mut running {
        assert_eq!(one.wait().code(), Some(0));
    }
    assert_eq!((bench.calls("compile"), bench.calls("install")), (1, 1));
    assert_eq!(
        names(&bench.desk.store().join("@envs/plugin:notes")).len(),
        1
    );
    assert!(bench.versions().contains("greet 1.0"));
}

#[test]
fn a_hook_that_is_a_script_has_its_packages_too() {
    let bench = Bench::new("[]");
    let manifest = "name: notes\nruntime: exec\ncommand: [./hook.py]\nprovides_hooks: [pre_tool_call]\n\
                    python_dependencies: ['greet==1.0']\n";
    fs::write(bench.source.join("plugin.yaml"), manifest).unwrap();
    let hook = "import greet, json, sys\njson.load(sys.stdin)\n\
                print(json.dumps({'decision': 'block', 'reason': 'greet ' + greet.VERSION}))\n";
    fs::write(bench.source.join("hook.py"), hook).unwrap();
    bench.install(&ALL).succeeds();
    let script = bench.desk.home.path("script.yaml");
    bench.desk.home.put(
        "script.yaml",
        "turns:\n  - match: {step: 1}\n    calls: [{tool: terminal, arguments: {command: 'true'}}]\n  \
         - match: {last: 'greet 1.0'}\n    text: as expected\n  - text: missed\n",
    );
    let settings = bench.desk.home.read("config.yaml");
    let model = format!(
        "model: {{provider: replay, script: {}}}\n",
        script.display()
    );
    bench
        .desk
        .home
        .put("config.yaml", format!("{settings}{model}"));
    bench
        .run(&["chat", "-Q", "-q", "go"])
        .succeeds()
        .prints_part("as expected");
}

// part 4: `--target` and `--constraint` passed, spec last
#[test]
fn what_the_core_has_limits_the_versions_and_a_conflict_is_told() {
    let bench = Bench::new("['greet==1.0']");
    let constraints = |text: &str| {
        bench
            .desk
            .home
            .put_outside("locks/constraints.txt", text, 0o644);
    };
    constraints("tone==1.5\n");
    bench.install(&ALL).succeeds();
    // Without the limit it would be the newest, 2.0.
    assert!(bench.versions().contains("greet 1.0 tone 1.5"));
    let log = fs::read_to_string(bench.desk.home.outside("calls")).unwrap();
    let calls: Vec<&str> = log.lines().collect();
    assert_eq!(calls.len(), 2, "{log}");
    let stage = bench.desk.store().join("@stage").display().to_string();
    let resolve: Vec<&str> = calls[0].split(' ').collect();
    let at = resolve
        .iter()
        .position(|word| *word == "--constraint")
        .unwrap();
    assert_eq!(at, resolve.len() - 3, "{resolve:?}");
    for (word, name) in [
        (resolve[at + 1], "constraints.txt"),
        (resolve[at + 2], "requirements.in"),
    ] {
        assert!(word.starts_with(&stage) && word.ends_with(name), "{word}");
    }
    assert!(calls[0].contains("--generate-hashes") && calls[0].contains("--only-binary :all:"));
    assert!(calls[1].contains("--target") && calls[1].contains("--require-hashes"));
    assert!(calls[1].ends_with("requirements.lock"), "{log}");
    // Nothing of the resolution stays.
    let kept = names(&bench.desk.current("plugin:notes"));
    assert_eq!(kept, [".lease", "record.json", "site"]);
    assert_eq!(
        names(&bench.desk.store().join("@stage")),
        Vec::<String>::new()
    );
    // A limit is not what is installed already: a pin can move.
    constraints("");
    bench.declare("2", "['greet==1.0', 'tone==2.5']");
    bench
        .run(&["plugins", "update", "notes", "--install-packages"])
        .succeeds();
    assert!(bench.versions().contains("tone 2.5"));
    constraints("tone==1.5\n");
    bench.declare("3", "['tone==9.0']");
    bench
        .run(&["plugins", "update", "notes", "--install-packages"])
        .exits(1)
        .says_part("no versions agree with all that is asked for")
        .says_part("you require tone==9.0 and tone==1.5");
    let again = bench.run(&["addons", "install", "plugin:notes", "--json"]);
    again.exits(1);
    assert_eq!(error_code(&again), "conflict");
    // The environment of before is still there for whoever goes back.
    bench
        .run(&["plugins", "update", "--rollback", "notes"])
        .succeeds();
    assert!(bench.versions().contains("tone 2.5"));
}

/// A lock of one package.
fn lock_of(name: &str) -> String {
    format!("{name}==1.0 \\\n    --hash=sha256:{}\n", "0".repeat(64))
}
