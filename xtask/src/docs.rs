//! The generated documentation: the pages of `docs/reference/`, which the program renders, and the parts
//! of the README that are copied from them and from the benchmark page.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::{readme, workspace};

const PAGES: [&str; 3] = ["commands", "settings", "variables"];

/// A generated file: its path and what it must hold.
struct Generated {
    path: PathBuf,
    text: String,
}

impl Generated {
    fn is_current(&self) -> Result<bool> {
        match read(&self.path) {
            Ok(text) => Ok(text == self.text),
            Err(_) if !self.path.exists() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Writes every file that is not up to date.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore that writes documentation is no part of the product"
)]
pub(crate) fn write() -> Result<String> {
    let mut changed = 0;
    let files = generated(None)?;
    for file in &files {
        if file.is_current()? {
            continue;
        }
        let path = file.path.display();
        std::fs::write(&file.path, &file.text)
            .with_context(|| format!("could not write {path}"))?;
        changed += 1;
    }
    Ok(format!("docs: {} files, {changed} changed", files.len()))
}

/// Fails if a file is not what the program says: the one that was built already, if it is named.
pub(crate) fn check(built: Option<&str>) -> Result<String> {
    let files = generated(built)?;
    for file in &files {
        if !file.is_current()? {
            bail!(
                "{} is not up to date; run `cargo xtask docs` and commit the result",
                file.path.display()
            );
        }
    }
    Ok(format!("docs: {} files up to date", files.len()))
}

fn generated(built: Option<&str>) -> Result<Vec<Generated>> {
    let root = workspace::root();
    let mut files = Vec::new();
    for page in PAGES {
        files.push(Generated {
            path: root.join(format!("docs/reference/{page}.md")),
            text: rendered(page, built)?,
        });
    }
    let path = root.join("README.md");
    let commands = files.first().map_or("", |page| page.text.as_str());
    let benchmarks = read(&root.join("docs/benchmarks.md"))?;
    let text = readme::renewed(&read(&path)?, commands, &benchmarks)?;
    files.push(Generated { path, text });
    Ok(files)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore that reads documentation is no part of the product"
)]
fn read(path: &std::path::Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

fn rendered(page: &str, built: Option<&str>) -> Result<String> {
    // The page is the same whichever profile the caller uses, also one that has gone.
    let step = ["--profile=default", "internal", "reference-page", page];
    match built {
        Some(program) => workspace::output_of(program, &step),
        None => {
            let run = ["run", "--quiet", "--package", "hermes", "--"];
            workspace::cargo(&[run.as_slice(), &step].concat())
        }
    }
}
