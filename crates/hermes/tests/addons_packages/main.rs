//! Add-ons with real installers, a real interpreter, wheels made by the test and packages of PyPI.
//!
//! `// check N` names the acceptance check of the chapter on add-ons that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests access files and start programs directly"
)]
// The tests put locks of their own in the place of the catalog's, which debug builds allow.
#![cfg(debug_assertions)]

mod plugins;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_testkit::{NodePackage, ProgramCall, ProgramOutput, PythonPackages, TestHome};
use pretty_assertions::assert_eq;
use serde_json::Value;

const FEATURE: &str = "debug.selftest";

/// A user with a Python environment of their own, which has pip and uv.
struct Desk {
    home: TestHome,
    packages: PythonPackages,
}

/// Which of the two installers is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installer {
    Uv,
    Pip,
}

impl Desk {
    fn new() -> Self {
        Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
            packages: PythonPackages::install("uv-0.13.8", &["uv==0.13.8"]),
        }
    }

    fn call(&self, installer: Installer, args: &[&str]) -> ProgramCall {
        let words = ["addons"].into_iter().chain(args.iter().copied());
        let call = self.home.hermes(words.collect::<Vec<_>>());
        self.with_installer(call, installer)
    }

    fn with_installer(&self, call: ProgramCall, installer: Installer) -> ProgramCall {
        let call = call
            .env("HERMES_ADDON_PYTHON", self.packages.python())
            .env("HERMES_TEST_ADDON_LOCKS", self.home.outside("locks"));
        match installer {
            Installer::Uv => call.env("PATH", self.packages.python().parent().unwrap()),
            Installer::Pip => call.env("PATH", "/nowhere"),
        }
    }

    /// Makes a wheel of `isodate` with this code, and a lock that pins it.
    fn wheelhouse(&self, code: &str) -> PathBuf {
        let directory = self.home.outside("wheels");
        fs::create_dir_all(&directory).unwrap();
        let wheel = directory.join("isodate-0.7.2-py3-none-any.whl");
        let mut archive = zip::ZipWriter::new(File::create(&wheel).unwrap());
        let info = "isodate-0.7.2.dist-info";
        let files = [
            ("isodate/__init__.py".to_owned(), code.to_owned()),
            (
                format!("{info}/METADATA"),
                "Metadata-Version: 2.1\nName: isodate\nVersion: 0.7.2\n".to_owned(),
            ),
            (
                format!("{info}/WHEEL"),
                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
                    .to_owned(),
            ),
            (
                format!("{info}/RECORD"),
                format!(
                    "isodate/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
                ),
            ),
        ];
        for (name, content) in files {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(name, options).unwrap();
            archive.write_all(content.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        let sum = Command::new("sha256sum").arg(&wheel).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        self.pin(sum.split_whitespace().next().unwrap());
        directory
    }

    fn pin(&self, hash: &str) {
        let text = format!("isodate==0.7.2 \\\n    --hash=sha256:{hash}\n");
        self.home
            .put_outside("locks/debug.selftest.txt", text, 0o644);
    }

    /// The record of the environment that is in service.
    fn record(&self) -> Value {
        let list = self.call(Installer::Pip, &["list", "--all", "--json"]);
        let list = list.run().succeeds().json();
        let row = &list["addons"][0];
        let generation = row["generation"].as_str().unwrap();
        let path = format!("lazy-packages/@envs/{FEATURE}/{generation}/record.json");
        serde_json::from_str(&self.home.read(&path)).unwrap()
    }

    /// What is installed for the interpreter itself.
    fn interpreters_packages(&self) -> Vec<String> {
        let code = "import os, sysconfig; print('\\n'.join(sorted(os.listdir(sysconfig.get_path('purelib')))))";
        let listed = Command::new(self.packages.python())
            .args(["-c", code])
            .output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        assert!(listed.contains("pip"), "{listed}");
        listed.lines().map(str::to_owned).collect()
    }

    /// Nothing was installed, and nothing is left of the attempt.
    fn has_nothing(&self) {
        for directory in ["@envs", "@stage"] {
            let path = self.home.path("lazy-packages").join(directory);
            assert_eq!(fs::read_dir(path).unwrap().count(), 0, "{directory}");
        }
    }
}

fn error_code(output: &ProgramOutput) -> String {
    let json = output.json();
    let code = json["failed"][0]["code"].as_str();
    code.unwrap_or_else(|| panic!("{output}")).to_owned()
}

/// By which this machine's account reaches PyPI.
fn of_account(call: ProgramCall) -> ProgramCall {
    let names = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "PIP_INDEX_URL",
        "PIP_CONFIG_FILE",
        "UV_DEFAULT_INDEX",
        "UV_INDEX_URL",
    ];
    names
        .into_iter()
        .fold(call, |call, name| match std::env::var_os(name) {
            Some(value) => call.env(name, value),
            None => call,
        })
}

const BOTH: [Installer; 2] = [Installer::Uv, Installer::Pip];

#[test]
fn a_wheel_with_the_pinned_hash_is_installed_without_a_network() {
    for installer in BOTH {
        let desk = Desk::new();
        let wheels = desk.wheelhouse("ANSWER = 42\n");
        let wheels = wheels.to_str().unwrap();
        let interpreter = desk.interpreters_packages();
        let install = desk.call(installer, &["install", FEATURE, "--wheelhouse", wheels]);
        install
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .run()
            .succeeds();
        let script = desk.home.put_outside(
            "script.py",
            "import isodate, json, sys\nprint(isodate.ANSWER, json.dumps(sys.argv[1:]))\n",
            0o644,
        );
        let script = script.to_str().unwrap();
        desk.call(installer, &["python", FEATURE, script, "a", "-b"])
            .run()
            .succeeds()
            .prints("42 [\"a\", \"-b\"]\n");
        desk.call(installer, &["verify"]).run().succeeds();
        // The interpreter that was used is as it was.
        assert_eq!(desk.interpreters_packages(), interpreter);
        let user = fs::read_dir(desk.home.user_home().join(".local"));
        assert!(user.is_err(), "something was installed for the user");
    }
}

// checks 6 and 26
#[test]
fn a_wheel_with_another_hash_is_refused() {
    for installer in BOTH {
        let desk = Desk::new();
        let wheels = desk.wheelhouse("EVIL = 1\n");
        desk.pin(&"0".repeat(64));
        let install = desk.call(
            installer,
            &[
                "install",
                FEATURE,
                "--json",
                "--wheelhouse",
                wheels.to_str().unwrap(),
            ],
        );
        let outcome = install.run();
        outcome.exits(1);
        assert_eq!(error_code(&outcome), "hash_mismatch", "{outcome}");
        outcome.prints_part("isodate==0.7.2 does not match the pinned hash; nothing was installed");
        desk.has_nothing();
    }
}

// check 19 and part 4: searched last, exactly once
#[test]
fn nothing_in_an_environment_shadows_the_standard_library_or_runs_by_itself() {
    let desk = Desk::new();
    let wheels = desk.wheelhouse("ANSWER = 42\n");
    let wheels = wheels.to_str().unwrap();
    desk.call(
        Installer::Pip,
        &["install", FEATURE, "--wheelhouse", wheels],
    )
    .run()
    .succeeds();
    let generation = desk.record()["generation"].as_str().unwrap().to_owned();
    let site = desk
        .home
        .path("lazy-packages/@envs")
        .join(FEATURE)
        .join(generation)
        .join("site");
    let writable = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(&site)
        .status();
    assert!(writable.unwrap().success());
    let sentinel = desk.home.outside("sentinel");
    let evil = format!("open({:?}, 'w').close()\n", sentinel.to_str().unwrap());
    fs::create_dir(site.join("json")).unwrap();
    for name in [
        "json/__init__.py",
        "runpy.py",
        "sitecustomize.py",
        "usercustomize.py",
    ] {
        fs::write(site.join(name), &evil).unwrap();
    }
    fs::write(site.join("x.pth"), format!("import os; {evil}")).unwrap();
    let code = "import sys, json, isodate; print(sys.path.index(sys.argv[1]) == len(sys.path) - 1, \
                sys.path.count(sys.argv[1]), json.__file__.startswith(sys.argv[1]))";
    for _ in 0..2 {
        desk.call(Installer::Pip, &["python", FEATURE, "-c", code])
            .arg(&site)
            .env("PYTHONPATH", &site)
            .run()
            .succeeds()
            .prints("True 1 False\n");
    }
    assert!(!sentinel.exists());
    desk.call(Installer::Pip, &["verify"]).run().exits(1);
}

// check 27
#[test]
fn a_proxy_that_is_down_is_told_soon_and_with_the_cause() {
    for installer in BOTH {
        let desk = Desk::new();
        let begun = Instant::now();
        let install = desk.call(installer, &["install", FEATURE, "--json"]);
        let install = install
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("HTTP_PROXY", "http://127.0.0.1:9");
        let outcome = install.run();
        outcome.exits(3);
        assert_eq!(error_code(&outcome), "offline", "{outcome}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{installer:?}");
        outcome.prints_part("cannot reach the package index: ");
        desk.has_nothing();
    }
}

#[test]
fn an_index_that_answers_garbage_is_told() {
    for installer in BOTH {
        let desk = Desk::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let index = format!("http://{}/simple", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                let _read = stream.read(&mut request);
                let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\
                               Connection: close\r\n\r\n\0garbag";
                let _sent = stream.write_all(answer);
            }
        });
        let install = desk.call(installer, &["install", FEATURE, "--json"]);
        let outcome = install
            .env("PIP_INDEX_URL", &index)
            .env("UV_DEFAULT_INDEX", &index)
            .run();
        outcome.exits(1);
        assert_eq!(error_code(&outcome), "index_error", "{outcome}");
        desk.has_nothing();
    }
}

// checks 6 and 26
#[test]
fn the_selftest_is_installed_from_pypi_whatever_a_project_says() {
    let mut packages = Vec::new();
    for installer in BOTH {
        let desk = Desk::new();
        // Settings of a project, above the stage and in the directory of the call.
        let project = desk.home.user_home();
        fs::write(
            project.join("uv.toml"),
            "[[index]]\nurl = \"http://127.0.0.1:9/simple\"\ndefault = true\n",
        )
        .unwrap();
        fs::write(
            project.join("pip.conf"),
            "[global]\nindex-url = http://127.0.0.1:9/simple\n",
        )
        .unwrap();
        let install = desk.call(installer, &["install", FEATURE]);
        let install = of_account(install).in_directory(&project);
        install.run().succeeds();
        let record = desk.record();
        let tool = if installer == Installer::Uv {
            "uv"
        } else {
            "pip"
        };
        assert_eq!(record["installer"]["tool"], tool);
        packages.push(record["packages"].clone());
        let file = desk.call(
            installer,
            &[
                "python",
                FEATURE,
                "-c",
                "import isodate; print(isodate.__file__)",
            ],
        );
        let file = file.run();
        let environments = desk.home.path("lazy-packages/@envs");
        file.succeeds().prints_part(environments.to_str().unwrap());
        assert!(!file.stdout.contains("@stage"));
    }
    assert_eq!(packages[0], packages[1]);
    assert_eq!(packages[0][0]["version"], "0.7.2");
}

/// A tool call of a user who has chosen speech that is made on this machine.
fn speak(desk: &Desk, installer: Installer, text: &str) -> ProgramOutput {
    let arguments = serde_json::json!({ "text": text }).to_string();
    let call = desk
        .home
        .hermes(["tools", "call", "text_to_speech", &arguments])
        .env("HERMES_ADDON_PYTHON", desk.packages.python());
    let path = match installer {
        Installer::Uv => desk.packages.python().parent().unwrap().to_owned(),
        Installer::Pip => PathBuf::from("/nowhere"),
    };
    of_account(call.env("PATH", path)).run()
}

#[test]
fn text_becomes_speech_with_a_package_that_the_first_call_installs() {
    for installer in BOTH {
        let desk = Desk::new();
        desk.home.put(
            "config.yaml",
            "tts: {provider: espeak, espeak: {voice: de}}\naddons: {first_use_wait_seconds: 300}\n",
        );
        let spoken = speak(&desk, installer, "Guten Tag, wie geht es Ihnen?");
        let result = spoken.succeeds().json();
        let path = PathBuf::from(result["file_path"].as_str().unwrap());
        assert!(path.starts_with(desk.home.path("cache/audio")));
        assert!(result["seconds"].as_f64().unwrap() > 1.0, "{result}");
        let audio = fs::read(&path).unwrap();
        assert_eq!((&audio[..4], &audio[8..12]), (&b"RIFF"[..], &b"WAVE"[..]));
        // Somebody speaks: the samples are far from silence.
        let loudest = audio[44..]
            .chunks_exact(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]).unsigned_abs());
        assert!(loudest.max() > Some(5_000));
        // Another language sounds different, and nothing is installed again.
        let packages = desk.home.path("lazy-packages/@envs/tts.espeak");
        let generations = || fs::read_dir(&packages).unwrap().count();
        assert_eq!(generations(), 1);
        desk.home.put(
            "config.yaml",
            "tts: {provider: espeak, espeak: {voice: no-such-voice}}\n",
        );
        let refused = speak(&desk, installer, "Hello").json();
        assert_eq!(refused["code"], "addon_error");
        let text = refused["error"].as_str().unwrap();
        assert!(text.contains("there is no voice 'no-such-voice'"), "{text}");
        assert_eq!(generations(), 1);
    }
}

/// Node and npm of a package, as programs of a directory.
fn node_programs(desk: &Desk) -> PathBuf {
    let package = NodePackage::install("everything-2026.8.31", EVERYTHING);
    let node = fs::canonicalize(package.node()).unwrap();
    let npm = node.ancestors().nth(2).unwrap();
    let npm = npm.join("lib/node_modules/npm/bin/npm-cli.js");
    let directory = desk.home.outside("node-bin");
    fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(&node, directory.join("node")).unwrap();
    let script = format!(
        "#!/bin/sh\nexec {} {} \"$@\"\n",
        node.display(),
        npm.display()
    );
    desk.home.put_outside("node-bin/npm", script, 0o755);
    // By which this machine's account reaches the registry.
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    if let Ok(settings) = fs::read(home.join(".npmrc")) {
        fs::write(desk.home.user_home().join(".npmrc"), settings).unwrap();
    }
    directory
}

const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";

#[test]
fn a_server_of_npm_is_pinned_by_its_hashes_and_serves() {
    let desk = Desk::new();
    let path = node_programs(&desk);
    let search = format!("{}:/usr/bin:/bin", path.display());
    let run = |words: &[&str]| of_account(desk.home.hermes(words).env("PATH", &search)).run();
    let pinned = format!("npm:{EVERYTHING}");
    run(&["addons", "install", &pinned]).succeeds();
    run(&["addons", "verify"]).succeeds();
    let (name, _) = pinned.rsplit_once('@').unwrap();
    let config = format!("mcp_servers: {{everything: {{addon: '{name}', args: [stdio]}}}}\n");
    desk.home.put("config.yaml", config);
    // Waits for the server, however long it takes to start the first time.
    run(&["mcp", "test", "everything"]).succeeds();
    let echo = run(&[
        "tools",
        "call",
        "mcp__everything__echo",
        r#"{"message": "pinned"}"#,
    ]);
    let echo = echo.succeeds().json().to_string();
    assert!(echo.contains("pinned"), "{echo}");
}
