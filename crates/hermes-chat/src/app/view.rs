//! What is drawn: the live region, the status line, the transcript.

use std::time::{Duration, Instant};

use super::state::{App, Entry, Turn};
use crate::cells::{ToolCell, duration, todo_rows};
use crate::draw::{Cursor, Frame, Line, Span, clip, frames, wrap};
use crate::look::ToolProgress;
use crate::markdown::MarkdownStream;
use crate::overlay::Overlay;

/// One step of the sign that turns while something runs.
pub(super) const SPIN: Duration = Duration::from_millis(120);
/// Rows of reasoning that are shown.
const REASONING_ROWS: usize = 3;
/// Lines of a running command that are shown.
const LIVE_LINES: usize = 4;
/// How old a count of background processes may be.
const COUNT_AGE: Duration = Duration::from_secs(1);
/// Messages that wait and are shown.
const QUEUED: usize = 3;

impl App {
    /// What the screen should look like now.
    pub(super) fn frame(&mut self) -> Frame {
        let finished = std::mem::take(&mut self.finished);
        self.count_processes();
        let rows = usize::from(self.size.rows);
        let (mut bottom, cursor) = self.bottom();
        bottom.extend(self.status());
        let room = rows.saturating_sub(bottom.len() + 2).max(1);
        let mut live = self.activity(room);
        if self.last_group.is_some() || !live.is_empty() {
            live.push(Line::default());
        }
        let above = u16::try_from(live.len()).unwrap_or(u16::MAX);
        live.append(&mut bottom);
        Frame {
            finished,
            live,
            cursor: cursor.map(|cursor| Cursor {
                row: cursor.row.saturating_add(above),
                ..cursor
            }),
        }
    }

    /// What the running turn does, in at most so many rows.
    fn activity(&self, room: usize) -> Vec<Line> {
        let Some(turn) = &self.turn else {
            return Vec::new();
        };
        let mut below = self.running(turn);
        let room = room.saturating_sub(below.len());
        let mut rows = Vec::new();
        if self.setup.look.streaming && !turn.stream.is_empty() {
            rows = turn.stream.preview();
            // What has gone out and what has not are separated as they will be.
            if self
                .last_group
                .is_some_and(|group| group != super::state::Group::Answer)
                && !rows.is_empty()
            {
                rows.insert(0, Line::default());
            }
        } else if self.setup.look.reasoning && !turn.reasoning.is_empty() {
            rows = self.reasoning(turn);
        }
        let skipped = rows.len().saturating_sub(room);
        let mut rows: Vec<Line> = rows.into_iter().skip(skipped).collect();
        if !below.is_empty() && (!rows.is_empty() || self.last_group.is_some()) {
            rows.push(Line::default());
        }
        rows.append(&mut below);
        rows
    }

    fn reasoning(&self, turn: &Turn) -> Vec<Line> {
        let indents = [Span::from("  ".to_owned())];
        let style = self.palette.faint().patch(self.palette.emphasis());
        let mut rows: Vec<Line> = turn
            .reasoning
            .lines()
            .filter(|line| !line.trim().is_empty())
            .flat_map(|line| {
                let line = Line::from(Span::styled(line.to_owned(), style));
                wrap(&line, self.width(), &indents, &indents)
            })
            .collect();
        let mut rows = rows.split_off(rows.len().saturating_sub(REASONING_ROWS));
        if self.last_group.is_some() {
            rows.insert(0, Line::default());
        }
        rows
    }

    /// What a running command has printed last: a few lines, or half a screen when unfolded.
    fn live_output(&self, cell: &ToolCell) -> Vec<String> {
        let rows = usize::from(self.size.rows);
        let most = if self.is_unfolded {
            rows / 2
        } else {
            LIVE_LINES.min(rows / 4)
        };
        match &self.facts.live_output {
            Some(last_lines) if cell.is_watched() => last_lines(most),
            Some(_) | None => Vec::new(),
        }
    }

    /// Calls, the todo list, waits, and messages that wait.
    fn running(&self, turn: &Turn) -> Vec<Line> {
        let (palette, glyphs, width) = (self.palette, self.glyphs, self.width());
        let steps = turn.begun.elapsed().as_millis() / SPIN.as_millis();
        let spinner = frame_at(glyphs.spinner, steps);
        let mut rows = todo_rows(&turn.todos, width, palette, glyphs);
        let is_quiet = self.setup.look.tool_progress == ToolProgress::Off;
        for cell in turn.cells.iter().filter(|_| !is_quiet) {
            let output = self.live_output(cell);
            rows.extend(cell.running(spinner, &output, width, palette, glyphs));
        }
        if is_quiet || turn.cells.is_empty() || turn.waiting.is_some() || turn.progress.is_some() {
            let text = phase(turn);
            let hint = if turn.is_interrupted {
                String::new()
            } else {
                format!(
                    "  {} {} Ctrl-C interrupts",
                    duration(turn.begun.elapsed()),
                    glyphs.dot
                )
            };
            let look = &self.setup.look;
            let sign = frame_at(frames(look.indicator, look.theme.utf8), steps);
            let used = crate::draw::display_width(sign) + 1 + crate::draw::display_width(&hint);
            let room = width.saturating_sub(used);
            rows.push(Line::from(vec![
                Span::styled(format!("{sign} "), palette.accent()),
                Span::from(clip(&text, room, glyphs.ellipsis)),
                Span::styled(hint, palette.faint()),
            ]));
        }
        for waiting in self.queue.iter().take(QUEUED) {
            let text = hermes_text::steady(&hermes_text::one_line(&waiting.shown, 300));
            let text = clip(&text, width.saturating_sub(10), glyphs.ellipsis);
            rows.push(Line::from(Span::styled(
                format!("  next: {text}"),
                palette.faint(),
            )));
        }
        let more = self.queue.len().saturating_sub(QUEUED);
        if more > 0 {
            rows.push(Line::from(Span::styled(
                format!("  {more} more wait"),
                palette.faint(),
            )));
        }
        rows
    }

    /// The question, the search or the text, with completions.
    fn bottom(&mut self) -> (Vec<Line>, Option<Cursor>) {
        let (palette, glyphs, width) = (self.palette, self.glyphs, self.width());
        if let Some(search) = &self.search {
            let (rows, cursor) = search.rows(width, palette, glyphs);
            return (rows, Some(cursor));
        }
        let mut rows = Vec::new();
        if let Some(view) = self.questions.front_mut() {
            rows = view.rows(width, palette, glyphs);
            if !view.shows_text(!self.composer.is_empty()) {
                return (rows, None);
            }
        }
        let above = rows.len();
        let sign = Span::styled(format!("{} ", glyphs.prompt), palette.heading());
        let blank = Span::from(" ".repeat(sign.width()));
        let (text, cursor) = self.composer.rows(width, palette, &sign, &blank);
        let most = (usize::from(self.size.rows) / 2).clamp(1, 12);
        let row = usize::from(cursor.row);
        let first = if text.len() <= most {
            0
        } else {
            row.saturating_sub(most / 2).min(text.len() - most)
        };
        rows.extend(text.into_iter().skip(first).take(most));
        let cursor = Cursor {
            row: u16::try_from(above + row - first).unwrap_or(u16::MAX),
            column: cursor.column,
        };
        if self.composer.is_empty() && self.turn.is_none() && self.entries.is_empty() {
            let hint = format!(
                "Ask anything {0} / commands {0} @ files {0} ! shell",
                glyphs.dot
            );
            let hint = clip(&hint, width.saturating_sub(3), glyphs.ellipsis);
            if let Some(line) = rows.last_mut() {
                line.spans.push(Span::styled(hint, palette.faint()));
            }
        }
        if let Some(popup) = &self.popup {
            rows.extend(popup.rows(width, palette, glyphs));
        }
        (rows, Some(cursor))
    }

    /// Counts background processes, but not in every frame.
    fn count_processes(&mut self) {
        let is_fresh = self
            .processes
            .is_some_and(|(at, _)| at.elapsed() < COUNT_AGE);
        if let Some(count) = self.facts.processes.as_ref().filter(|_| !is_fresh) {
            self.processes = Some((Instant::now(), count()));
        }
    }

    /// How long the count of background processes holds; `None` while there are none, because then
    /// only a call or a command can start one.
    pub(super) fn count_holds(&self, now: Instant) -> Option<Duration> {
        let (at, count) = self.processes?;
        (count > 0).then(|| (at + COUNT_AGE).saturating_duration_since(now))
    }

    fn status(&self) -> Option<Line> {
        let (palette, glyphs, width) = (self.palette, self.glyphs, self.width());
        if let Some(hint) = &self.hint {
            let text = clip(hint, width.saturating_sub(1), glyphs.ellipsis);
            let line = Line::from(Span::styled(format!("  {text}"), palette.warning()));
            return Some(line);
        }
        if !self.setup.look.status_bar {
            return None;
        }
        let facts = &self.facts;
        let mut parts: Vec<(String, bool)> = Vec::new();
        if facts.is_yolo {
            parts.push(("yolo".to_owned(), true));
        }
        parts.push((facts.model.clone(), false));
        if !facts.profile.is_empty() {
            parts.push((facts.profile.clone(), false));
        }
        let (used, window) = facts.window;
        if let Some(share) = used.saturating_mul(100).checked_div(window) {
            parts.push((format!("{share}% of {}", tokens(window)), share >= 80));
        }
        if let Some(cost) = facts
            .cost
            .filter(|cost| *cost > 0.0 || self.setup.look.cost)
        {
            parts.push((format!("${cost:.2}"), false));
        }
        let running = self.processes.map_or(0, |(_, count)| count);
        if running > 0 {
            parts.push((format!("{running} in background"), false));
        }
        parts.push((facts.shown_cwd.clone(), false));
        if let Some(branch) = &facts.branch {
            parts.push((branch.clone(), false));
        }
        let mut spans = vec![Span::from("  ".to_owned())];
        let mut left = width.saturating_sub(3);
        for (index, (text, is_warning)) in parts.into_iter().enumerate() {
            let text = hermes_text::steady(&hermes_text::one_line(&text, 200));
            let separator = if index == 0 {
                String::new()
            } else {
                format!(" {} ", glyphs.dot)
            };
            let used = crate::draw::display_width(&separator);
            if left <= used + 3 {
                break;
            }
            left -= used;
            let text = crate::draw::cut_middle(&text, left, glyphs.ellipsis);
            left -= crate::draw::display_width(&text).min(left);
            spans.push(Span::styled(separator, palette.faint()));
            let style = if is_warning {
                palette.warning()
            } else {
                palette.faint()
            };
            spans.push(Span::styled(text, style));
        }
        Some(Line::from(spans))
    }

    /// The rows of the alternate screen, while something is shown there.
    pub(super) fn overlay_rows(&mut self) -> Option<Vec<Line>> {
        let (size, palette, glyphs) = (self.size, self.palette, self.glyphs);
        let mut overlay = self.overlay.take()?;
        let rows = match &mut overlay {
            Overlay::Messages(picker) => picker.rows(size, palette, glyphs),
            Overlay::Transcript(transcript) => {
                // Of a full list the number of entries says nothing.
                let made = self.dropped_entries + self.entries.len();
                if transcript.is_stale(size, made) {
                    transcript.set_lines(self.transcript(), size, made);
                }
                transcript.rows(size, palette, glyphs)
            }
        };
        self.overlay = Some(overlay);
        Some(rows)
    }

    /// The whole conversation at the present width.
    fn transcript(&self) -> Vec<Line> {
        let (palette, glyphs, width) = (self.palette, self.glyphs, self.width());
        let mut lines = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Person(text) => {
                    let sign = Span::styled(format!("{} ", glyphs.prompt), palette.heading());
                    let blank = Span::from("  ".to_owned());
                    let mut first = sign;
                    for line in hermes_text::steady(text).lines() {
                        let line = Line::from(Span::styled(line.to_owned(), palette.strong()));
                        let begin = std::slice::from_ref(&first);
                        lines.extend(wrap(&line, width, begin, std::slice::from_ref(&blank)));
                        first = blank.clone();
                    }
                }
                Entry::Model(text) => {
                    let mut stream = MarkdownStream::new(palette, glyphs, width);
                    stream.push(&hermes_text::steady(text), &mut lines);
                    stream.finish(&mut lines);
                }
                Entry::Call(cell) => lines.extend(cell.whole(width, palette, glyphs)),
                Entry::Notice(text) => {
                    let indents = [Span::styled(format!("{} ", glyphs.dot), palette.faint())];
                    for line in hermes_text::steady(text).lines() {
                        let line = Line::from(Span::styled(line.to_owned(), palette.faint()));
                        lines.extend(wrap(&line, width, &indents, &indents));
                    }
                }
            }
            lines.push(Line::default());
        }
        lines
    }
}

/// The frame of a moving sign after so many steps.
fn frame_at(frames: &'static [&'static str], steps: u128) -> &'static str {
    let step = usize::try_from(steps).unwrap_or(0) % frames.len().max(1);
    frames.get(step).copied().unwrap_or("*")
}

/// `200k`, `1M`.
fn tokens(count: u64) -> String {
    if count >= 1_000_000 && count % 1_000_000 < 100_000 {
        format!("{}M", count / 1_000_000)
    } else if count >= 1_000 {
        format!("{}k", count / 1_000)
    } else {
        count.to_string()
    }
}

/// What the turn waits for.
fn phase(turn: &Turn) -> String {
    if turn.is_interrupted {
        return "Interrupting".to_owned();
    }
    if let Some(waiting) = &turn.waiting {
        let left = waiting.until.saturating_duration_since(Instant::now());
        let seconds = left.as_secs_f64().ceil();
        return format!("Retrying in {seconds:.0} s: {}", waiting.reason);
    }
    if let Some(progress) = &turn.progress {
        return hermes_text::steady(progress);
    }
    if turn.stream.is_empty() {
        "Thinking".to_owned()
    } else {
        "Writing".to_owned()
    }
}
