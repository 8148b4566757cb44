//! The servers, in the versions that are tested.

use std::path::PathBuf;

use hermes_testkit::{NodePackage, PythonPackages};

pub(crate) fn everything() -> (NodePackage, PathBuf) {
    let package = NodePackage::install(
        "mcp-everything",
        "@modelcontextprotocol/server-everything@2026.8.31",
    );
    let program = package.file("@modelcontextprotocol/server-everything/dist/index.js");
    (package, program)
}

pub(crate) fn filesystem() -> (NodePackage, PathBuf) {
    let package = NodePackage::install(
        "mcp-filesystem",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
    );
    let program = package.file("@modelcontextprotocol/server-filesystem/dist/index.js");
    (package, program)
}

pub(crate) fn time() -> PathBuf {
    let packages = PythonPackages::install("mcp-time", &["mcp-server-time==2026.10.19"]);
    packages.program("mcp-server-time")
}
