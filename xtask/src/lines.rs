//! Source lines without tests, per crate: the figure that the documentation gives.

use std::path::Path;

use anyhow::Result;

use crate::code::is_dev_crate;
use crate::layers::{Crate, Layer};
use crate::sources::{SourceFile, rust_files};
use crate::workspace;

/// A crate of layer 2 with more lines than this needs a reason in its README.
const MOST_LINES_OF_A_DOMAIN: usize = 9_000;

/// How the line of a README begins that gives the reason.
const REASON: &str = "Size:";

/// A line per crate, and the sum of those that are no dev crates.
pub(crate) fn table() -> Result<String> {
    let counts = counts()?;
    let mut lines: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count:7} {name}"))
        .collect();
    let product = counts.iter().filter(|(name, _)| !is_dev_crate(name));
    let sum: usize = product.map(|(_, count)| count).sum();
    lines.push(format!("{sum:7} without dev crates"));
    Ok(lines.join("\n"))
}

/// What is wrong with crates that are too large.
pub(crate) fn too_large(crates: &[Crate]) -> Result<Vec<String>> {
    let domains: Vec<&str> = crates
        .iter()
        .filter(|found| found.layer == Some(Layer::Number(2)))
        .map(|found| found.name.as_str())
        .collect();
    let mut found = Vec::new();
    for (name, count) in counts()? {
        let readme = workspace::root()
            .join("crates")
            .join(&name)
            .join("README.md");
        if domains.contains(&name.as_str())
            && count > MOST_LINES_OF_A_DOMAIN
            && !workspace::read(&readme)?
                .lines()
                .any(|line| line.starts_with(REASON))
        {
            found.push(format!(
                "{name} has {count} lines without tests, more than {MOST_LINES_OF_A_DOMAIN}; split \
                 it, or give the reason in its README in a line that begins with \"{REASON}\""
            ));
        }
    }
    Ok(found)
}

fn counts() -> Result<Vec<(String, usize)>> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for file in rust_files(&workspace::root())? {
        let Some((name, inside)) = file
            .path
            .strip_prefix("crates/")
            .and_then(|p| p.split_once('/'))
        else {
            continue;
        };
        if counts.last().is_none_or(|(last, _)| last != name) {
            counts.push((name.to_owned(), 0));
        }
        if let Some((_, count)) = counts.last_mut().filter(|_| is_source(inside)) {
            *count += lines_without_tests(&file);
        }
    }
    Ok(counts)
}

fn is_source(path: &str) -> bool {
    let name = Path::new(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    path.starts_with("src/")
        && !path.contains("/tests")
        && !name.ends_with("_tests.rs")
        && name != "testing.rs"
}

/// Leaves out items marked `#[cfg(test)]`, which end with a brace as far in as they begin.
fn lines_without_tests(file: &SourceFile) -> usize {
    let mut count = 0;
    let mut lines = file.text.lines();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("#[cfg(test)]") {
            count += 1;
            continue;
        }
        let mut item = lines
            .by_ref()
            .skip_while(|line| line.trim_start().starts_with("#["));
        let first = item.next().unwrap_or_default();
        if first.trim_end().ends_with(';') {
            continue;
        }
        let end = format!("{}}}", " ".repeat(first.len() - first.trim_start().len()));
        if !first.starts_with(&end) {
            lines.by_ref().find(|line| line.starts_with(&end));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_items_are_not_counted() {
        let text = "//! Doc.\nfn a() {}\n#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\nimpl A {\n    #[cfg(test)]\n    fn b() {\n        c();\n    }\n}\n#[cfg(test)]\nmod more {\n    fn d() {}\n}\n";
        let file = SourceFile {
            path: String::new(),
            text: text.to_owned(),
        };
        assert_eq!(lines_without_tests(&file), 4);
    }

    #[test]
    fn only_files_of_the_product_are_counted() {
        assert!(is_source("src/a/b.rs"));
        for path in [
            "tests/it/main.rs",
            "src/a_tests.rs",
            "src/tests/x.rs",
            "src/testing.rs",
        ] {
            assert!(!is_source(path), "{path}");
        }
    }
}
