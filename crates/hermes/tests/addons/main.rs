//! `hermes addons` with the real binary, an installer and an interpreter that are played by scripts,
//! and no network.
//!
//! `// check N` names the acceptance check of the chapter on add-ons that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]
// The tests put locks of their own in the place of the catalog's, which debug builds allow.
#![cfg(debug_assertions)]

mod at_once;
mod first_use;
mod gates;
mod hostile_installers;
mod hostile_stores;
mod installing;
mod keeping;
mod known_malware;
mod node;
mod plugin_packages;
mod updates;
mod workers;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_testkit::{ProgramCall, ProgramOutput, TestHome};
use serde_json::Value;

const ABI: &str = "3.12:.cpython-312-x86_64-linux-gnu.so";
const FEATURE: &str = "debug.selftest";

/// A user with an installer and an interpreter that do as they are told.
struct Desk {
    home: TestHome,
}

impl Desk {
    fn new() -> Self {
        let desk = Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        };
        desk.python(12);
        desk.uv("");
        desk
    }

    /// The interpreter is Python 3 of this minor version.
    fn python(&self, minor: u32) {
        let path = self.home.outside("bin/python-of-the-test");
        let answer = format!(
            r#"{{"executable": "{}", "version": "3.{minor}.4", "major": 3, "minor": {minor},
                "suffix": ".cpython-3{minor}-x86_64-linux-gnu.so",
                "markers": {{"implementation_name": "cpython", "sys_platform": "linux",
                "platform_machine": "x86_64", "python_full_version": "3.{minor}.4",
                "platform_python_implementation": "CPython"}}}}"#,
            path.display()
        );
        let script = format!("#!/bin/sh\n[ \"$3\" = -c ] && cat <<'END'\n{answer}\nEND\nexit 0\n");
        self.home
            .put_outside("bin/python-of-the-test", script, 0o755);
    }

    /// The installer does this before it writes `isodate`.
    fn uv(&self, first: &str) {
        let log = self.home.outside("calls");
        let script = format!(
            "#!/bin/sh
             [ \"$1\" = --version ] && {{ echo 'uv 0.9.9 (test)'; exit 0; }}
             log={}
             echo \"$*\" >> \"$log\"
             env > \"$log.env\"
             pwd > \"$log.cwd\"
             while [ $# -gt 0 ]; do
               [ \"$1\" = --target ] && site=$2
               [ \"$1\" = -r ] && lock=$2
               shift
             done
             version=$(sed -n 's/^isodate==\\([0-9.]*\\).*/\\1/p' \"$lock\")
             mkdir -p \"$site/isodate\" \"$site/isodate-$version.dist-info\"
             echo \"VERSION = '$version'\" > \"$site/isodate/__init__.py\"
             printf 'Metadata-Version: 2.1\\nName: isodate\\nVersion: %s\\n' \"$version\" \\
               > \"$site/isodate-$version.dist-info/METADATA\"
             {first}
             exit 0\n",
            log.display()
        );
        self.home.put_outside("bin/uv", script, 0o755);
    }

    /// The lock of a feature is one of `isodate` in this version.
    fn lock(&self, feature: &str, version: &str) {
        let hash = "28009937d8031054830160fce6d409ed342816b543597cece116d966c6d99e15";
        let text = format!("isodate=={version} \\\n    --hash=sha256:{hash}\n");
        self.home
            .put_outside(&format!("locks/{feature}.txt"), text, 0o644);
    }

    fn call(&self, args: &[&str]) -> ProgramCall {
        let words = ["addons"].into_iter().chain(args.iter().copied());
        self.program(&words.collect::<Vec<_>>())
    }

    /// Another command, with the same installer and interpreter.
    fn program(&self, words: &[&str]) -> ProgramCall {
        let path = format!("{}:/usr/bin:/bin", self.home.outside("bin").display());
        self.home
            .hermes(words)
            .env("PATH", path)
            .env(
                "HERMES_ADDON_PYTHON",
                self.home.outside("bin/python-of-the-test"),
            )
            .env("HERMES_TEST_ADDON_LOCKS", self.home.outside("locks"))
            // Nobody listens there: the database of malware cannot be asked.
            .env("OSV_ENDPOINT", "http://127.0.0.1:9/v1/query")
    }

    fn addons(&self, args: &[&str]) -> ProgramOutput {
        self.call(args).run()
    }

    fn install(&self) -> ProgramOutput {
        self.addons(&["install", FEATURE])
    }

    fn store(&self) -> PathBuf {
        self.home.path("lazy-packages")
    }

    /// How often the installer was asked to install.
    fn installs(&self) -> usize {
        let log = fs::read_to_string(self.home.outside("calls"));
        log.map_or(0, |text| text.lines().count())
    }

    /// What `list` says of a feature.
    fn row(&self, feature: &str) -> Value {
        let list = self.addons(&["list", "--all", "--json"]);
        let rows = list.succeeds().json()["addons"].clone();
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["feature"] == feature);
        row.unwrap().clone()
    }

    fn state(&self, feature: &str) -> String {
        self.row(feature)["state"].as_str().unwrap().to_owned()
    }

    /// The environment that is in service.
    fn current(&self, feature: &str) -> PathBuf {
        let generation = self.row(feature)["generation"].clone();
        self.store()
            .join("@envs")
            .join(feature)
            .join(generation.as_str().unwrap())
    }

    /// The version of the code that is in service.
    fn served(&self, feature: &str) -> String {
        fs::read_to_string(self.current(feature).join("site/isodate/__init__.py")).unwrap()
    }
}

#[test]
fn the_table_of_promises_names_tests_that_exist() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut code = String::new();
    for directory in ["addons", "addons_packages", "plugins", "image"] {
        for name in names(&tests.join(directory)) {
            if Path::new(&name).extension().is_some_and(|end| end == "rs") {
                code.push_str(&fs::read_to_string(tests.join(directory).join(name)).unwrap());
            }
        }
    }
    let table = fs::read_to_string(tests.join("addons/README.md")).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let checks = (1..=34).filter(|number| {
        let start = format!("| {number} ");
        rows.iter().any(|row| row.starts_with(&start))
    });
    assert_eq!(checks.count(), 34);
    for row in rows {
        let tests = row
            .trim_end_matches([' ', '|'])
            .rsplit("| ")
            .next()
            .unwrap();
        for name in tests.split('`').skip(1).step_by(2) {
            let test = format!("#[test]\nfn {name}() {{");
            assert!(code.contains(&test), "{name}");
        }
    }
}

/// The names in a directory, sorted; none where there is no directory.
fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// The code of the error that `--json` prints.
fn error_code(output: &ProgramOutput) -> String {
    let json = output.json();
    let failed = &json["failed"][0]["code"];
    let code = failed.as_str().or_else(|| json["error"]["code"].as_str());
    code.unwrap_or_else(|| panic!("{output}")).to_owned()
}
