//! Log files, the newest lines.

use askama::Template;
use serde::Deserialize;

use super::frame::{self, html};
use super::shell::{Shell, Trouble};
use super::shown::segment;
use super::source::Source;
use crate::call::{Answered, Call};

/// Lines on the page.
const LINES: usize = 300;
type Choices = &'static [(&'static str, &'static str)];
const FILES: Choices = &[
    ("agent", "Agent"),
    ("errors", "Errors"),
    ("gateway", "Gateway"),
    ("gui", "Dashboard"),
    ("mcp", "MCP servers"),
];
const LEVELS: Choices = &[
    ("", "All levels"),
    ("INFO", "Info and above"),
    ("WARNING", "Warnings and errors"),
    ("ERROR", "Errors"),
];
const COMPONENTS: Choices = &[
    ("", "All components"),
    ("agent", "Agent"),
    ("gateway", "Gateway"),
    ("tools", "Tools"),
    ("cli", "Commands"),
    ("cron", "Cron"),
];

#[derive(Template)]
#[template(path = "logs.html")]
struct LogsPage {
    shell: Shell,
    trouble: Option<Trouble>,
    files: Choices,
    levels: Choices,
    components: Choices,
    file: String,
    level: String,
    component: String,
    search: String,
    lines: Vec<Line>,
    empty: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LogsAnswer {
    lines: Vec<String>,
}

struct Line {
    level: &'static str,
    text: String,
}

impl Line {
    fn read(text: String) -> Self {
        // The level stands near the beginning; what stands behind is the text of others.
        let head = hermes_text::cut(&text, 80);
        let level = ["CRITICAL", "ERROR", "WARNING", "DEBUG"];
        let level = level.into_iter().find(|level| head.contains(level));
        Self {
            level: level.unwrap_or_default(),
            text: text.trim_end_matches('\n').to_owned(),
        }
    }
}

/// The choice of a query if it is one of these.
fn chosen(call: &Call, name: &str, among: Choices) -> String {
    let word = call.query(name).unwrap_or_default();
    let known = among.iter().find(|(value, _)| *value == word);
    let first = among.first().map_or("", |(value, _)| value);
    known.map_or(first, |(value, _)| value).to_owned()
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let file = chosen(&call, "file", FILES);
    let level = chosen(&call, "level", LEVELS);
    let component = chosen(&call, "component", COMPONENTS);
    let search = call.query("search").unwrap_or_default();
    let mut path = format!("/api/logs?file={file}&lines={LINES}");
    for (name, value) in [
        ("level", &level),
        ("component", &component),
        ("search", &search),
    ] {
        if !value.is_empty() {
            path.push_str(&format!("&{name}={}", segment(value)));
        }
    }
    let answer: Result<LogsAnswer, Trouble> = source.get(&path).await;
    let (lines, trouble) = match answer {
        Ok(answer) => (answer.lines, None),
        Err(trouble) => (Vec::new(), Some(trouble)),
    };
    let is_narrowed = !(level.is_empty() && component.is_empty() && search.is_empty());
    let empty = if is_narrowed {
        "No line fits.".to_owned()
    } else {
        format!("Nothing was logged to {file}.log yet.")
    };
    let mut shell = frame::shell(&call, "Logs", "logs");
    shell.module = Some("logs");
    shell.refresh = Some(30);
    let page = LogsPage {
        shell,
        trouble,
        files: FILES,
        levels: LEVELS,
        components: COMPONENTS,
        file,
        level,
        component,
        search,
        lines: lines.into_iter().map(Line::read).collect(),
        empty,
    };
    html(&page)
}
