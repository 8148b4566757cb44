//! What events of the conversation change.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hermes_agent::TurnOutcome;
use serde_json::Value;

use super::state::{App, Entry, Group, Holder, Turn, Waiting, Wish};
use crate::cells::{CallEnd, QuestionView, ToolCell, duration};
use crate::composer::Submission;
use crate::draw::{Line, Span, clip, wrap};
use crate::events::Event;
use crate::look::{FooterField, ToolProgress};
use crate::setup::{Job, PastMessage, TurnEnd};

/// A turn that took longer rings the bell when it ends.
const LONG_TURN: Duration = Duration::from_secs(10);
/// A turn that took longer says how long.
const NOTED_TURN: Duration = Duration::from_secs(5);
/// Bytes of reasoning that are kept while the model thinks.
const REASONING_BYTES: usize = 16 * 1024;

impl App {
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.text(&text),
            Event::Reasoning(text) => {
                if let Some(turn) = &mut self.turn {
                    turn.waiting = None;
                    turn.reasoning.push_str(&hermes_text::steady(&text));
                    let excess = turn.reasoning.len().saturating_sub(REASONING_BYTES);
                    let excess = turn.reasoning.ceil_char_boundary(excess);
                    turn.reasoning.drain(..excess);
                }
            }
            Event::Restart => {
                self.end_text();
                let style = self.palette.warning();
                self.notice("!", "The answer broke off; asking again.", style);
            }
            Event::Waiting { seconds, reason } => {
                if let Some(turn) = &mut self.turn {
                    let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                    turn.waiting = Some(Waiting {
                        until: Instant::now() + wait,
                        reason: hermes_text::steady(&hermes_text::one_line(&reason, 400)),
                    });
                }
            }
            Event::Notice(text) => {
                let text = hermes_text::one_line(&text, 1_000);
                self.notice(self.glyphs.dot, &text, self.palette.faint());
            }
            Event::Warning { message, hint } => {
                self.notice("!", &message, self.palette.warning());
                if let Some(hint) = hint {
                    self.notice(" ", &format!("hint: {hint}"), self.palette.faint());
                }
            }
            Event::Progress(text) => match &mut self.turn {
                Some(turn) => turn.progress = Some(hermes_text::one_line(&text, 300)),
                None => self.notice(self.glyphs.dot, &text, self.palette.faint()),
            },
            Event::CallBegan {
                id,
                tool,
                arguments,
            } => {
                self.end_text();
                self.keep_reasoning();
                if let Some(turn) = &mut self.turn {
                    turn.waiting = None;
                    turn.cells.push(ToolCell::began(id, tool, arguments));
                }
            }
            Event::CallEnded {
                id,
                tool,
                result,
                took,
            } => self.call_ended((&id, &tool), result, took),
            Event::TurnEnded(end) => self.turn_ended(end),
            Event::Facts(facts) => {
                if facts.cwd != self.facts.cwd {
                    self.files = crate::composer::FileList::default();
                }
                self.facts = *facts;
                self.processes = None;
            }
            Event::Look(look) => self.set_look(*look),
            Event::Commands(commands) => self.setup.commands.extend(commands),
            Event::Aside { title, text } => self.aside(&title, &text),
            Event::Asked(question) => self.questions.push_back(QuestionView::new(question)),
            Event::Past(messages) => self.past(messages),
            Event::Messages(messages) => self.choose_message(&messages),
            Event::JobDone(text) => {
                // What it has printed stands above.
                if std::mem::replace(&mut self.holder, Holder::Screen) == Holder::Job {
                    self.last_group = Some(Group::Notice);
                }
                let images = std::mem::take(&mut self.kept_images);
                if let Some(text) = text {
                    self.composer.set_with_images(&text, images);
                }
                self.next_in_queue();
            }
            Event::JobTurn(message) => {
                self.holder = Holder::Screen;
                self.last_group = Some(Group::Notice);
                if let Some(message) = message {
                    self.show_message(&message, "");
                    self.remember(Entry::Person(message));
                }
                self.begin_turn();
            }
            Event::Found { query, messages } => self.found(&query, messages),
            Event::FilesListed => self.refresh_popup(),
            Event::End => self.is_over = true,
        }
        self.questions.retain(|view| !view.question.is_withdrawn());
    }

    fn text(&mut self, text: &str) {
        let is_streaming = self.setup.look.streaming;
        let Some(turn) = &mut self.turn else {
            return;
        };
        turn.waiting = None;
        turn.progress = None;
        let text = hermes_text::steady(text);
        let text = if turn.said.is_empty() {
            text.trim_start_matches('\n')
        } else {
            &text
        };
        if text.is_empty() {
            return;
        }
        turn.said.push_str(text);
        turn.has_text = true;
        self.keep_reasoning();
        let Some(turn) = &mut self.turn else {
            return;
        };
        if is_streaming {
            let mut lines = Vec::new();
            turn.stream.push(text, &mut lines);
            self.answer_lines(lines);
        }
    }

    fn answer_lines(&mut self, lines: Vec<Line>) {
        if !lines.is_empty() {
            self.group(Group::Answer);
            self.finished.extend(lines);
        }
    }

    /// Lets all that was said go out.
    pub(super) fn end_text(&mut self) {
        let fresh = self.new_stream();
        let is_streaming = self.setup.look.streaming;
        let Some(turn) = &mut self.turn else {
            return;
        };
        let mut stream = std::mem::replace(&mut turn.stream, fresh);
        let said = std::mem::take(&mut turn.said);
        let mut lines = Vec::new();
        if !is_streaming {
            stream.push(&said, &mut lines);
        }
        stream.finish(&mut lines);
        // An answer that broke off may end with lines that have only just begun.
        let is_blank = |line: &Line| line.spans.iter().all(|span| span.content.trim().is_empty());
        while lines.last().is_some_and(is_blank) {
            lines.pop();
        }
        self.answer_lines(lines);
        if !said.trim().is_empty() {
            self.remember(Entry::Model(said));
        }
    }

    fn call_ended(&mut self, (id, tool): (&str, &str), result: String, took: Duration) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        if tool == "todo"
            && let Ok(value) = serde_json::from_str::<Value>(&result)
            && let Some(items) = value["todos"].as_array()
        {
            turn.todos.clone_from(items);
        }
        let same = |cell: &ToolCell| cell.id == id && cell.tool == tool;
        let running = turn.cells.iter().position(same);
        let mut cell = match running {
            Some(index) => turn.cells.remove(index),
            None => ToolCell::began(id.to_owned(), tool.to_owned(), Value::Null),
        };
        cell.end = Some(CallEnd { took, result });
        turn.progress = None;
        // It may have started something in the background.
        self.processes = None;
        self.show_cell(cell);
    }

    fn show_cell(&mut self, cell: ToolCell) {
        let is_shown = match self.setup.look.tool_progress {
            ToolProgress::Off => false,
            ToolProgress::New => {
                let last = self.last_cell.as_ref();
                last.is_none_or(|last| last.tool != cell.tool)
                    || self.last_group != Some(Group::Calls)
            }
            ToolProgress::All | ToolProgress::Verbose => true,
        };
        if is_shown {
            self.group(Group::Calls);
            let rows = cell.finished(self.is_unfolded, self.width(), self.palette, self.glyphs);
            self.finished.extend(rows);
        }
        self.last_cell = Some(cell.clone());
        self.remember(Entry::Call(Box::new(cell)));
    }

    fn turn_ended(&mut self, end: TurnEnd) {
        self.end_text();
        self.keep_reasoning();
        let Some(turn) = self.turn.take() else {
            return;
        };
        for cell in turn.cells {
            self.show_cell(cell);
        }
        if let Some(text) = end.text.filter(|_| !turn.has_text) {
            let mut lines = Vec::new();
            let mut stream = self.new_stream();
            stream.push(&hermes_text::steady(&text), &mut lines);
            stream.finish(&mut lines);
            self.answer_lines(lines);
            self.remember(Entry::Model(text));
        }
        if !end.unwritten.is_empty() {
            let files = end.unwritten.join(", ");
            let text = format!("Not changed because the last attempt failed: {files}");
            self.notice("!", &text, self.palette.warning());
        }
        if let Some((message, hint)) = end.failure {
            self.notice(self.glyphs.failed, &message, self.palette.bad());
            if let Some(hint) = hint {
                self.notice(" ", &format!("hint: {hint}"), self.palette.faint());
            }
        } else if end.outcome == TurnOutcome::Interrupted {
            self.notice(self.glyphs.failed, "Interrupted", self.palette.warning());
        }
        let took = turn.begun.elapsed();
        self.note_end(took);
        if took >= LONG_TURN && self.setup.look.bell {
            self.wish = Some(Wish::Ring);
        }
        if let Some(news) = &end.goal {
            let news = hermes_text::one_line(news, 1_000);
            self.notice(self.glyphs.dot, &news, self.palette.accent());
        }
        let images = std::mem::take(&mut self.kept_images);
        if let Some(text) = end.returned.filter(|_| self.composer.is_empty()) {
            self.composer.set_with_images(&text, images);
        }
        if let Some(pending) = end.pending {
            self.queue.push_front(Submission {
                shown: pending.clone(),
                text: pending,
                images: Vec::new(),
            });
        }
        self.last_ctrl_c = None;
        if turn.is_interrupted && end.next.is_some() {
            // The key came after the goal was judged: what was decided then no longer holds.
            self.exchange.submit(Job::PauseGoal);
        }
        if self.is_leaving {
            self.exchange.submit(Job::Quit);
        } else if turn.is_interrupted {
            self.give_queue_back();
        } else if let Some(message) = end.next.clone().filter(|_| self.queue.is_empty()) {
            self.begin_turn();
            self.exchange.submit(Job::Turn {
                text: message,
                images: Vec::new(),
            });
        } else {
            self.goal_waits = end.next.is_some();
            self.next_in_queue();
        }
    }

    /// A faint line under an answer: the time, what a long turn took, and what the footer says.
    fn note_end(&mut self, took: Duration) {
        let look = &self.setup.look;
        let mut parts = Vec::new();
        if let Some(clock) = &look.clock {
            parts.push(format!("[{}]", clock()));
        }
        if took >= NOTED_TURN {
            parts.push(duration(took));
            if let Some(cost) = self.facts.cost.filter(|_| look.cost) {
                parts.push(format!("${cost:.2} so far"));
            }
        }
        for field in &look.footer {
            match field {
                FooterField::Model => parts.push(self.facts.model.clone()),
                FooterField::Context => {
                    let (used, window) = self.facts.window;
                    let share = used.saturating_mul(100).checked_div(window);
                    parts.extend(share.map(|share| format!("{share}%")));
                }
                FooterField::Directory => parts.push(self.facts.shown_cwd.clone()),
            }
        }
        if parts.is_empty() {
            return;
        }
        let text = parts.join(&format!(" {} ", self.glyphs.dot));
        let text = hermes_text::steady(&hermes_text::one_line(&text, 400));
        let text = clip(&text, self.width().saturating_sub(3), self.glyphs.ellipsis);
        let line = Line::from(Span::styled(format!("  {text}"), self.palette.faint()));
        self.finished.push(line);
    }

    /// Shows the answer to something that was asked beside this conversation.
    fn aside(&mut self, title: &str, text: &str) {
        self.end_text();
        self.notice(self.glyphs.dot, title, self.palette.accent());
        let mut lines = Vec::new();
        let mut stream = self.new_stream();
        stream.push(&hermes_text::steady(text), &mut lines);
        stream.finish(&mut lines);
        self.answer_lines(lines);
        self.last_group = Some(Group::Notice);
    }

    /// Lets the reasoning stay above what follows it, where people want all of it.
    fn keep_reasoning(&mut self) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        let reasoning = std::mem::take(&mut turn.reasoning);
        let look = &self.setup.look;
        if !look.reasoning || !look.whole_reasoning || reasoning.trim().is_empty() {
            return;
        }
        self.group(Group::Notice);
        let style = self.palette.faint().patch(self.palette.emphasis());
        let indents = [Span::from("  ".to_owned())];
        for line in reasoning.trim().lines() {
            let line = Line::from(Span::styled(line.to_owned(), style));
            let rows = wrap(&line, self.width(), &indents, &indents);
            self.finished.extend(rows);
        }
    }

    /// After an interruption what waits goes back into the text: nothing is sent unasked.
    fn give_queue_back(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        self.exchange.note_waiting(false);
        let mut waiting: Vec<Submission> = self.queue.drain(..).collect();
        if !self.composer.is_empty() {
            waiting.push(self.composer.take());
        }
        let texts: Vec<&str> = waiting.iter().map(|one| one.text.as_str()).collect();
        let text = texts.join("\n");
        let images = waiting.into_iter().flat_map(|one| one.images).collect();
        self.composer.set_with_images(&text, images);
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = Some(Turn {
            begun: Instant::now(),
            stream: self.new_stream(),
            said: String::new(),
            reasoning: String::new(),
            cells: Vec::new(),
            waiting: None,
            progress: None,
            todos: Vec::new(),
            is_interrupted: false,
            has_text: false,
        });
    }

    fn past(&mut self, messages: Vec<PastMessage>) {
        self.entries.clear();
        self.entry_bytes = 0;
        // Results follow the calls of a message in their order.
        let mut open: VecDeque<ToolCell> = VecDeque::new();
        for message in messages {
            let is_call = matches!(message, PastMessage::Call(..) | PastMessage::Result(_));
            if !is_call {
                self.remember_calls(&mut open);
            }
            match message {
                PastMessage::Person(text) => self.remember(Entry::Person(text)),
                PastMessage::Model(text) => self.remember(Entry::Model(text)),
                PastMessage::Call(tool, arguments) => {
                    open.push_back(ToolCell::began(String::new(), tool, arguments));
                }
                PastMessage::Result(result) => {
                    let unknown = || ToolCell::began(String::new(), "tool".to_owned(), Value::Null);
                    let mut cell = open.pop_front().unwrap_or_else(unknown);
                    cell.end = Some(CallEnd {
                        took: Duration::ZERO,
                        result,
                    });
                    self.remember(Entry::Call(Box::new(cell)));
                }
            }
        }
        self.remember_calls(&mut open);
    }

    /// Keeps calls without a result.
    fn remember_calls(&mut self, open: &mut VecDeque<ToolCell>) {
        for cell in open.drain(..) {
            self.remember(Entry::Call(Box::new(cell)));
        }
    }
}
