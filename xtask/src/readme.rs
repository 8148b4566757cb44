//! The parts of `README.md` that are copied from other pages: the table of commands and the figures.

use anyhow::{Context, Result};

/// The benchmark rows that the README shows: how a row begins, and what the README calls it.
const FIGURES: [(&str, &str); 6] = [
    ("| `hermes --version` | 0.19.0 |", "`hermes --version`"),
    (
        "| `hermes profile list` | 0.19.0 |",
        "`hermes profile list`",
    ),
    (
        "| 0 | reference 0.19.0 |",
        "a turn of the agent, beside the model",
    ),
    ("| 30 | reference 0.19.0 |", "a turn with 30 tool calls"),
    (
        "| `kanban list`, a small board | 0.19.0 |",
        "`hermes kanban list`",
    ),
    (
        "| `kanban list --json`, 10,000 cards | 0.19.0 |",
        "`hermes kanban list --json`, 10,000 cards",
    ),
];

/// The README with its copied parts renewed.
pub(crate) fn renewed(readme: &str, commands_page: &str, benchmarks: &str) -> Result<String> {
    let readme = replaced(readme, "commands", &commands_table(commands_page))?;
    replaced(&readme, "figures", &figures_table(benchmarks)?)
}

/// Replaces what stands between `<!-- NAME: … -->` and `<!-- end of NAME -->`.
fn replaced(text: &str, name: &str, content: &str) -> Result<String> {
    let missing = || format!("README.md has no part `{name}` between its two comments");
    let begin = text.find(&format!("<!-- {name}: ")).with_context(missing)?;
    let (before, rest) = text.split_at(begin);
    let (opening, rest) = rest.split_once("-->\n").with_context(missing)?;
    let (_, after) = rest
        .split_once(&format!("<!-- end of {name} -->"))
        .with_context(missing)?;
    Ok(format!(
        "{before}{opening}-->\n{content}<!-- end of {name} -->{after}"
    ))
}

/// A row for each command of the generated page: its name and its first sentence.
fn commands_table(page: &str) -> String {
    let mut table = String::from("| Command | |\n|---|---|\n");
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("## ") {
            let about = lines.find(|line| !line.is_empty()).unwrap_or_default();
            let about = about.trim_end_matches('.');
            table.push_str(&format!("| {command} | {about} |\n"));
        }
    }
    table
}

/// The chosen rows of the benchmark page: the reference's time, ours, and the ratio.
fn figures_table(benchmarks: &str) -> Result<String> {
    let mut table = String::from("| | `hermes-agent` 0.19.0 | here | |\n|---|---|---|---|\n");
    for (beginning, name) in FIGURES {
        let row = benchmarks
            .lines()
            .find_map(|line| line.strip_prefix(beginning))
            .with_context(|| format!("docs/benchmarks.md has no row that begins {beginning:?}"))?;
        let mut cells = row.split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        let (theirs, ours, ratio) = (next(), next(), next());
        let ratio = match ratio.strip_prefix("1/") {
            Some(times) => format!("{}×", times.trim_end_matches(".0")),
            None => ratio.to_owned(),
        };
        table.push_str(&format!("| {name} | {theirs} | {ours} | {ratio} |\n"));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &str = "# Commands\n\n## `hermes demo`\n\nShow agents at work.\n\n### `hermes demo x`\n\nNo.\n\n## `hermes chat`\n\nTalk.\n";

    fn benchmarks() -> String {
        let rows = FIGURES.map(|(beginning, _)| format!("{beginning} 300 ms | 2 ms | 150× |\n"));
        rows.concat()
    }

    #[test]
    fn parts_between_the_comments_are_replaced_and_the_rest_is_kept() {
        let readme = "a\n<!-- commands: by x -->\nold\n<!-- end of commands -->\nb\n\
                      <!-- figures: by x -->\n<!-- end of figures -->\nc\n";
        let renewed = renewed(readme, COMMANDS, &benchmarks()).unwrap();
        assert!(renewed.starts_with("a\n<!-- commands: by x -->\n| Command | |\n"));
        assert!(
            renewed.contains("| `hermes demo` | Show agents at work |\n| `hermes chat` | Talk |\n")
        );
        assert!(!renewed.contains("old") && !renewed.contains("demo x"));
        assert!(renewed.contains("| `hermes --version` | 300 ms | 2 ms | 150× |\n"));
        assert!(renewed.ends_with("<!-- end of figures -->\nc\n"));
    }

    #[test]
    fn a_readme_without_the_comments_is_an_error() {
        let error = renewed("nothing", COMMANDS, &benchmarks()).unwrap_err();
        assert!(error.to_string().contains("commands"), "{error}");
    }

    #[test]
    fn ratios_below_one_are_shown_as_multiples() {
        let page = benchmarks().replace("150×", "1/205.0");
        assert!(figures_table(&page).unwrap().contains("| 205× |"));
    }

    #[test]
    fn a_row_that_is_gone_from_the_benchmarks_is_named() {
        let error = figures_table("").unwrap_err();
        assert!(error.to_string().contains("hermes --version"), "{error}");
    }
}
