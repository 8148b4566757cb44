//! Dispatchers and workers against a hostile world: runs the simulation of the board, optimised.

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Hands its words to the simulation and its output to the terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore that runs cargo is no part of the product"
)]
pub(crate) fn run(words: &[&str]) -> Result<String> {
    let status = std::process::Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "hermes-board"])
        .args(["--features", "simulate", "--example", "simulate", "--"])
        .args(words)
        .current_dir(workspace::root())
        .status()
        .context("could not run cargo")?;
    if !status.success() {
        bail!("the simulation did not end well");
    }
    Ok("simulate: done".to_owned())
}
