//! The servers and their versions.

use std::path::PathBuf;

use hermes_testkit::{NodePackage, PythonPackages};

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

/// The program of `aimock`: an interpreter and its script.
pub(crate) fn aimock() -> (PathBuf, PathBuf) {
    let package = NodePackage::install(
        &format!("aimock-{AIMOCK}"),
        &format!("@copilotkit/aimock@{AIMOCK}"),
    );
    let script = package.file("@copilotkit/aimock/dist/cli.js");
    (package.node().to_owned(), script)
}

/// The interpreter that has `ai-mock`.
pub(crate) fn ai_mock() -> PathBuf {
    let package = format!("ai-mock=={AI_MOCK}");
    let packages: Vec<&str> = [package.as_str()]
        .into_iter()
        .chain(BELOW_AI_MOCK)
        .collect();
    PythonPackages::install(&format!("ai-mock-{AI_MOCK}"), &packages).python()
}
