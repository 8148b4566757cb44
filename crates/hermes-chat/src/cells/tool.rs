//! A tool call: one line with a timer while it runs, and what came of it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::draw::{Glyphs, Line, Palette, Span, clip, wrap};
use crate::markdown::Highlighter;

/// Lines of a diff that are shown without being asked for.
const DIFF_LINES: usize = 40;
/// Lines of output shown of a command that failed.
const FAILED_LINES: usize = 6;
/// Lines of output of an unfolded cell.
const UNFOLDED_LINES: usize = 1_000;
/// A command shows its output after this time.
const WATCHED_AFTER: Duration = Duration::from_millis(300);
/// Characters of one line of output.
const LINE_CHARS: usize = 2_000;

/// A call that runs or has ended.
#[derive(Debug, Clone)]
pub(crate) struct ToolCell {
    /// The id of the call, as the model gave it.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) begun: Instant,
    pub(crate) end: Option<CallEnd>,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(crate) struct CallEnd {
    pub(crate) took: Duration,
    pub(crate) result: String,
}

/// A result taken apart.
struct Outcome {
    has_failed: bool,
    /// What is said beside the time.
    remark: String,
    output: String,
    diff: Option<String>,
}

impl ToolCell {
    pub(crate) fn began(id: String, tool: String, arguments: Value) -> Self {
        Self {
            id,
            tool,
            arguments,
            begun: Instant::now(),
            end: None,
        }
    }

    /// Whether its output can be watched while it runs, and has run long enough to be worth it: most
    /// commands are over before anybody could read a line.
    pub(crate) fn is_watched(&self) -> bool {
        matches!(self.tool.as_str(), "terminal" | "execute_code")
            && self.begun.elapsed() >= WATCHED_AFTER
    }

    /// The line while the call runs, its output so far, and what its sub-agents do.
    pub(crate) fn running(
        &self,
        spinner: &str,
        output: &[String],
        width: usize,
        palette: Palette,
        glyphs: Glyphs,
    ) -> Vec<Line> {
        let elapsed = self.begun.elapsed();
        let time = if elapsed >= Duration::from_secs(1) {
            duration(elapsed)
        } else {
            String::new()
        };
        let sign = Span::styled(spinner.to_owned(), palette.accent());
        let mut rows = vec![self.head(sign, &time, width, palette, glyphs)];
        for line in output {
            let text = hermes_text::steady(hermes_text::cut(line, LINE_CHARS));
            let text = clip(&text, width.saturating_sub(5), glyphs.ellipsis);
            rows.push(Line::from(Span::styled(
                format!("    {text}"),
                palette.faint(),
            )));
        }
        for goal in goals(&self.arguments).iter().take(6) {
            let text = clip(goal, width.saturating_sub(6), glyphs.ellipsis);
            rows.push(Line::from(vec![
                Span::styled(format!("  {} ", glyphs.branch), palette.faint()),
                Span::styled(text, palette.faint()),
            ]));
        }
        rows
    }

    /// The lines that stay.
    pub(crate) fn finished(
        &self,
        is_unfolded: bool,
        width: usize,
        palette: Palette,
        glyphs: Glyphs,
    ) -> Vec<Line> {
        let Some(end) = &self.end else {
            let sign = Span::styled(glyphs.failed.to_owned(), palette.warning());
            return vec![self.head(sign, "interrupted", width, palette, glyphs)];
        };
        let outcome = Outcome::of(&end.result);
        let sign = if outcome.has_failed {
            Span::styled(glyphs.failed.to_owned(), palette.bad())
        } else {
            Span::styled(glyphs.done.to_owned(), palette.good())
        };
        let mut remark = outcome.remark.clone();
        if end.took >= Duration::from_millis(500) {
            let time = duration(end.took);
            remark = if remark.is_empty() {
                time
            } else {
                format!("{time} {} {remark}", glyphs.dot)
            };
        }
        let mut rows = vec![self.head(sign, &remark, width, palette, glyphs)];
        if let Some(diff) = &outcome.diff {
            rows.extend(diff_rows(diff, is_unfolded, width, palette, glyphs));
        } else if is_unfolded {
            rows.extend(output_rows(
                &outcome.output,
                UNFOLDED_LINES,
                width,
                palette,
                glyphs,
            ));
        } else if outcome.has_failed {
            rows.extend(output_rows(
                &outcome.output,
                FAILED_LINES,
                width,
                palette,
                glyphs,
            ));
        }
        rows
    }

    fn head(
        &self,
        sign: Span,
        remark: &str,
        width: usize,
        palette: Palette,
        glyphs: Glyphs,
    ) -> Line {
        let (verb, detail) = title(&self.tool, &self.arguments);
        let used = crate::draw::display_width(remark) + crate::draw::display_width(&verb) + 6;
        let detail = clip(&detail, width.saturating_sub(used), glyphs.ellipsis);
        Line::from(vec![
            sign,
            Span::from(" ".to_owned()),
            Span::styled(verb, palette.strong()),
            Span::from(format!(" {detail}")),
            Span::styled(format!("  {remark}"), palette.faint()),
        ])
    }

    /// Everything, for the transcript.
    pub(crate) fn whole(&self, width: usize, palette: Palette, glyphs: Glyphs) -> Vec<Line> {
        let mut rows = self.finished(true, width, palette, glyphs);
        let (_, detail) = title(&self.tool, &self.arguments);
        if crate::draw::display_width(&detail) + 12 > width {
            let indent = Span::from("    ".to_owned());
            let line = Line::from(Span::styled(detail, palette.faint()));
            let indents = [indent];
            let more = wrap(&line, width, &indents, &indents);
            let rest = rows.split_off(1.min(rows.len()));
            rows.extend(more);
            rows.extend(rest);
        }
        rows
    }
}

impl Outcome {
    fn of(result: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(result) else {
            return Self {
                has_failed: false,
                remark: String::new(),
                output: result.to_owned(),
                diff: None,
            };
        };
        let text = |name: &str| value[name].as_str().filter(|text| !text.trim().is_empty());
        let code = value["exit_code"].as_i64();
        let has_failed = hermes_tools::is_failure(&value) || code.is_some_and(|code| code != 0);
        let diff = text("diff").map(str::to_owned);
        let output = text("output")
            .or_else(|| text("error"))
            .or_else(|| text("content"));
        let output = output.map_or_else(|| readable(&value), str::to_owned);
        let remark = match code {
            Some(code) if code != 0 => format!("exit code {code}"),
            Some(_) if text("output").is_some() => counted(output.trim_end().lines().count()),
            _ => String::new(),
        };
        Self {
            has_failed,
            remark,
            output,
            diff,
        }
    }
}

fn counted(lines: usize) -> String {
    if lines == 1 {
        "1 line".to_owned()
    } else {
        format!("{lines} lines")
    }
}

fn readable(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// What a call does, in a word, and with what.
pub(crate) fn title(tool: &str, arguments: &Value) -> (String, String) {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let (verb, detail) = match tool {
        "terminal" => ("Run", text("command").to_owned()),
        "read_file" => ("Read", text("path").to_owned()),
        "write_file" => {
            let lines = text("content").lines().count();
            ("Write", format!("{} ({})", text("path"), counted(lines)))
        }
        "patch" => ("Edit", patched(arguments)),
        "search_files" => ("Search", text("pattern").to_owned()),
        "execute_code" => ("Script", text("code").to_owned()),
        "todo" => ("Plan", counted_items(arguments)),
        "delegate_task" => ("Delegate", delegated(arguments)),
        "process" => (
            "Process",
            format!("{} {}", text("action"), text("session_id")),
        ),
        "session_search" => ("Recall", text("query").to_owned()),
        "clarify" => ("Ask", text("question").to_owned()),
        "web_search" => ("Web", text("query").to_owned()),
        _ => (tool, arguments.to_string()),
    };
    let detail = hermes_text::steady(&hermes_text::one_line(&detail, 500));
    (hermes_text::one_line(verb, 40), detail)
}

fn patched(arguments: &Value) -> String {
    if let Some(path) = arguments["path"].as_str() {
        return path.to_owned();
    }
    let patch = arguments["patch"].as_str().unwrap_or_default();
    let headers = ["Update File:", "Add File:", "Delete File:"];
    let paths: Vec<&str> = patch
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("***"))
        .filter_map(|line| {
            let line = line.trim_start();
            headers.iter().find_map(|header| line.strip_prefix(header))
        })
        .map(str::trim)
        .collect();
    paths.join(", ")
}

fn counted_items(arguments: &Value) -> String {
    match arguments["todos"].as_array() {
        Some(items) if items.len() == 1 => "1 step".to_owned(),
        Some(items) => format!("{} steps", items.len()),
        None => String::new(),
    }
}

fn delegated(arguments: &Value) -> String {
    let goals = goals(arguments);
    match goals.len() {
        0 => arguments["goal"].as_str().unwrap_or_default().to_owned(),
        1 => goals.concat(),
        count => format!("{count} tasks"),
    }
}

/// The goals of sub-agents that one call starts.
fn goals(arguments: &Value) -> Vec<String> {
    let tasks = arguments["tasks"].as_array();
    let goals = tasks
        .into_iter()
        .flatten()
        .filter_map(|task| task["goal"].as_str());
    goals
        .map(|goal| hermes_text::steady(&hermes_text::one_line(goal, 200)))
        .collect()
}

fn output_rows(
    output: &str,
    most: usize,
    width: usize,
    palette: Palette,
    glyphs: Glyphs,
) -> Vec<Line> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(most);
    let mut rows = Vec::new();
    if skipped > 0 {
        let text = format!("    {} {} before", glyphs.ellipsis, counted(skipped));
        rows.push(Line::from(Span::styled(text, palette.faint())));
    }
    let indents = [Span::from("    ".to_owned())];
    for line in lines.iter().skip(skipped) {
        let text = hermes_text::steady(hermes_text::cut(line, LINE_CHARS));
        let line = Line::from(Span::styled(text, palette.faint()));
        rows.extend(wrap(&line, width, &indents, &indents));
    }
    rows
}

/// A diff in colours; the long middle of it is left out unless unfolded.
fn diff_rows(
    diff: &str,
    is_unfolded: bool,
    width: usize,
    palette: Palette,
    glyphs: Glyphs,
) -> Vec<Line> {
    let most = if is_unfolded {
        UNFOLDED_LINES
    } else {
        DIFF_LINES
    };
    let lines: Vec<&str> = diff.lines().filter(|line| !is_header(line)).collect();
    let mut highlighter = Highlighter::new("diff", palette);
    let indents = [Span::from("    ".to_owned())];
    let mut rows = Vec::new();
    for line in lines.iter().take(most) {
        let text = hermes_text::steady(hermes_text::cut(line, LINE_CHARS));
        let line = Line::from(highlighter.line(&text));
        rows.extend(wrap(&line, width, &indents, &indents));
    }
    let left = lines.len().saturating_sub(most);
    if left > 0 {
        let text = format!("    {} {} more", glyphs.ellipsis, counted(left));
        rows.push(Line::from(Span::styled(text, palette.faint())));
    }
    rows
}

fn is_header(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff ")
}

/// `0.4 s`, `12 s`, `3 min 5 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds >= 60 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if seconds >= 10 {
        format!("{seconds} s")
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
