//! The generated pages of `docs/reference/`. The program renders them; this runs it and keeps the
//! files.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::workspace;

const PAGES: [&str; 3] = ["commands", "settings", "variables"];

/// Writes every page.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore that writes documentation is no part of the product"
)]
pub(crate) fn write() -> Result<String> {
    let mut changed = 0;
    for page in PAGES {
        let path = path(page);
        let text = rendered(page)?;
        if current(&path)?.as_deref() == Some(text.as_str()) {
            continue;
        }
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("could not create {}", directory.display()))?;
        }
        std::fs::write(&path, text)
            .with_context(|| format!("could not write {}", path.display()))?;
        changed += 1;
    }
    Ok(format!("docs: {} pages, {changed} changed", PAGES.len()))
}

/// Fails if a page is not what the program says.
pub(crate) fn check() -> Result<String> {
    for page in PAGES {
        let path = path(page);
        if current(&path)?.as_deref() != Some(rendered(page)?.as_str()) {
            bail!(
                "{} is not up to date; run `cargo xtask docs` and commit the result",
                path.display()
            );
        }
    }
    Ok(format!("docs: {} pages up to date", PAGES.len()))
}

fn path(page: &str) -> PathBuf {
    workspace::root().join(format!("docs/reference/{page}.md"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore that reads documentation is no part of the product"
)]
fn current(path: &std::path::Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

fn rendered(page: &str) -> Result<String> {
    let program = ["run", "--quiet", "--package", "hermes", "--"];
    // The page is the same whichever profile the caller uses, also one that has gone.
    let step = ["--profile=default", "internal", "reference-page", page];
    workspace::cargo(&[program.as_slice(), &step].concat())
}
