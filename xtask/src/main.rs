//! Chores of the project: `cargo xtask docs [--check] | layers | simulate | sources`.

mod docs;
mod layers;
mod readme;
mod simulate;
mod sources;
mod workspace;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask docs [--check] | layers | sources\n       \
                     cargo xtask simulate [--seed S] [--steps N]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["layers"] => check_layers(),
        ["simulate", words @ ..] => simulate::run(words),
        ["sources"] => check_sources(),
        _ => {
            say(&mut std::io::stderr(), USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(done) => {
            say(&mut std::io::stdout(), &done);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&mut std::io::stderr(), &format!("Error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn check_layers() -> Result<String> {
    let crates = workspace::crates()?;
    report(
        layers::check(&crates, layers::ALLOWED_SIDEWAYS),
        &format!("layers: {} crates in order", crates.len()),
    )
}

fn check_sources() -> Result<String> {
    let files = sources::rust_files(&workspace::root())?;
    let findings = files.iter().flat_map(sources::findings).collect();
    report(
        findings,
        &format!("sources: {} files in order", files.len()),
    )
}

fn report<T: std::fmt::Display>(findings: Vec<T>, fine: &str) -> Result<String> {
    if findings.is_empty() {
        return Ok(fine.to_owned());
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    bail!("{} findings\n{}", lines.len(), lines.join("\n"))
}

/// Whoever closed the other end does not want to read it.
fn say(to: &mut dyn Write, text: &str) {
    drop(writeln!(to, "{text}"));
}
