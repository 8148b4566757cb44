//! `cargo xtask simulate`: runs the simulation of the board, optimised.

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Passes its arguments to the simulation, whose output goes to the terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore that runs cargo is no part of the product"
)]
pub(crate) fn run(words: &[&str]) -> Result<String> {
    let status = std::process::Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "hermes-board-sim", "--"])
        .args(words)
        .current_dir(workspace::root())
        .status()
        .context("could not run cargo")?;
    if !status.success() {
        bail!("the simulation failed");
    }
    Ok("simulate: done".to_owned())
}
