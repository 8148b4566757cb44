//! Chores of the project: generated documentation, the simulation, and the checks of the whole
//! workspace that neither the compiler nor a lint makes.

mod code;
mod dependencies;
mod docs;
mod documented;
mod layers;
mod lines;
mod modules;
mod readme;
mod simulate;
mod sources;
mod surface;
mod test_targets;
mod unused;
mod workspace;

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str =
    "usage: cargo xtask check [layers | sources | documented | modules | unused | surface | dependencies]…
       cargo xtask docs [--check [--program PATH]]
       cargo xtask lines
       cargo xtask simulate [--seed S] [--steps N]
       cargo xtask test-targets";

/// A check returns its findings and what it says when there are none.
type Check = fn() -> Result<Checked>;

const CHECKS: [(&str, Check); 7] = [
    ("layers", check_layers),
    ("sources", check_sources),
    ("documented", check_documented),
    ("modules", check_modules),
    ("unused", check_unused),
    ("surface", check_surface),
    ("dependencies", check_dependencies),
];

struct Checked {
    findings: Vec<String>,
    fine: String,
}

fn checked<T: Display>(findings: &[T], fine: String) -> Checked {
    Checked {
        findings: findings.iter().map(ToString::to_string).collect(),
        fine,
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let is_check = |name: &str| CHECKS.iter().any(|(known, _)| *known == name);
    let outcome = match args.as_slice() {
        ["check", names @ ..] if names.iter().all(|name| is_check(name)) => check(names),
        [name] if is_check(name) => check(&[name]),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(None),
        ["docs", "--check", "--program", built] => docs::check(Some(built)),
        ["lines"] => lines::table(),
        ["simulate", args @ ..] => simulate::run(args),
        ["test-targets"] => test_targets::list(),
        _ => {
            print(&mut std::io::stderr(), USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(done) => {
            print(&mut std::io::stdout(), &done);
            ExitCode::SUCCESS
        }
        Err(error) => {
            print(&mut std::io::stderr(), &format!("Error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the named checks, or all, to the end; fails if one has findings.
fn check(names: &[&str]) -> Result<String> {
    let (mut fine, mut failed) = (Vec::new(), Vec::new());
    for (name, run) in CHECKS {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let Checked {
            findings,
            fine: text,
        } = run()?;
        if findings.is_empty() {
            fine.push(format!("{name}: {text}"));
        } else {
            failed.push(format!(
                "{name}: {} findings\n{}",
                findings.len(),
                findings.join("\n")
            ));
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("\n\n"));
    }
    Ok(fine.join("\n"))
}

fn check_layers() -> Result<Checked> {
    let crates = workspace::crates()?;
    let mut found = checked(
        &layers::check(&crates, layers::ALLOWED_SIDEWAYS),
        format!("{} crates in order", crates.len()),
    );
    found.findings.extend(lines::too_large(&crates)?);
    Ok(found)
}

fn check_sources() -> Result<Checked> {
    let files = sources::rust_files(&workspace::root())?;
    let findings: Vec<_> = files.iter().flat_map(sources::findings).collect();
    Ok(checked(
        &findings,
        format!("{} files in order", files.len()),
    ))
}

fn check_documented() -> Result<Checked> {
    Ok(checked(
        &documented::undocumented(&code::load()?),
        "every public type, trait and function says what it is for".to_owned(),
    ))
}

fn check_modules() -> Result<Checked> {
    let crates = code::load()?;
    let count: usize = crates.iter().map(|checked| checked.modules.len()).sum();
    let fine = format!("{count}, none in a cycle");
    Ok(checked(&modules::cycles(&crates), fine))
}

fn check_unused() -> Result<Checked> {
    let unused = unused::find(&code::load()?);
    Ok(checked(
        &unused::without_allowed(unused, unused::ALLOWED),
        "every public item has a caller".to_owned(),
    ))
}

fn check_surface() -> Result<Checked> {
    let declared = surface::Declared::of_product(&code::load()?);
    Ok(checked(
        &surface::findings(&declared, &surface::Reads::new(&code::load()?)),
        format!(
            "{} settings, {} variables and {} arguments are read or marked",
            declared.settings.len(),
            declared.variables.len(),
            declared.arguments.len()
        ),
    ))
}

fn check_dependencies() -> Result<Checked> {
    let findings = dependencies::findings()?;
    Ok(checked(
        &findings,
        "used, of one version each, with permitted licences".to_owned(),
    ))
}

/// A reader that has closed its end does not want the rest.
fn print(to: &mut dyn Write, text: &str) {
    drop(writeln!(to, "{text}"));
}
