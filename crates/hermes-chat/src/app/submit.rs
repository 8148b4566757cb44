//! What becomes of a text when Enter is pressed.

use super::state::{App, Entry, Group, Holder, Wish};
use crate::composer::Submission;
use crate::draw::{Line, Span, wrap};
use crate::look::BusyMode;
use crate::setup::Job;

/// Rows of a message that are repeated above the answer.
const SHOWN_ROWS: usize = 30;

/// Whether a text is a command. A path is not one: `/etc/hosts says …` goes to the model.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    !name.is_empty() && !name.contains(['/', '.'])
}

impl App {
    /// Enter.
    pub(super) fn submit(&mut self) {
        self.popup = None;
        let text = self.composer.text().trim().to_owned();
        if text.is_empty() {
            return;
        }
        let taken = self.composer.take();
        let submission = Submission {
            text: taken.text.trim().to_owned(),
            shown: taken.shown.trim().to_owned(),
            images: taken.images,
        };
        self.history.add(&submission.shown);
        if let Some(view) = self.questions.front()
            && view.wants_text()
        {
            let answer = view.answer_text(&submission.text);
            self.questions.pop_front();
            self.notice(self.glyphs.prompt, &answer, self.palette.accent());
            return;
        }
        if self.is_busy() {
            self.submit_while_busy(submission);
        } else {
            self.start(submission);
        }
    }

    fn submit_while_busy(&mut self, submission: Submission) {
        let text = submission.text.as_str();
        if matches!(text, "/quit" | "/exit" | "/q") {
            self.is_leaving = true;
            self.interrupt();
            return;
        }
        let (mode, submission) = if let Some(rest) = text.strip_prefix("/steer ") {
            (
                BusyMode::Steer,
                without_command(rest, submission.images.clone()),
            )
        } else if let Some(rest) = text.strip_prefix("/queue ") {
            (
                BusyMode::Queue,
                without_command(rest, submission.images.clone()),
            )
        } else if is_command(text) || text.starts_with('!') {
            (BusyMode::Queue, submission)
        } else {
            (self.setup.look.busy_mode, submission)
        };
        match (mode, &self.facts.steering) {
            // Images cannot be handed to a running turn.
            (BusyMode::Steer, Some(steering)) if submission.images.is_empty() => {
                steering.send(submission.text.clone());
                self.show_message(&submission.shown, "(for the running turn)");
            }
            (BusyMode::Interrupt, _) => {
                self.queue.push_back(submission);
                self.exchange.note_waiting(true);
                self.setup.interrupt.raise();
            }
            (BusyMode::Steer | BusyMode::Queue, _) => {
                self.queue.push_back(submission);
                self.exchange.note_waiting(true);
            }
        }
    }

    /// Begins what waits, if anything does.
    pub(super) fn next_in_queue(&mut self) {
        if self.is_busy() {
            return;
        }
        if let Some(next) = self.queue.pop_front() {
            self.exchange.note_waiting(!self.queue.is_empty());
            self.start(next);
        } else if std::mem::take(&mut self.goal_waits) {
            // A command has come between two turns of the goal, and may have changed it.
            self.begin_turn();
            self.exchange.submit(Job::FollowGoal);
        }
    }

    fn start(&mut self, submission: Submission) {
        if let Some(command) = submission.text.strip_prefix('!') {
            let command = command.trim();
            if !command.is_empty() {
                self.show_message(&submission.shown, "");
                self.lend(Job::Shell(command.to_owned()));
            }
            return;
        }
        if submission.text == "/redraw" {
            self.wish = Some(Wish::Clear);
            return;
        }
        self.show_message(&submission.shown, "");
        if is_command(&submission.text) {
            self.lend(Job::Command(submission.text));
            return;
        }
        self.remember(Entry::Person(submission.shown));
        self.kept_images.clone_from(&submission.images);
        // The goal is judged after this turn.
        self.goal_waits = false;
        self.begin_turn();
        self.exchange.submit(Job::Turn {
            text: submission.text,
            images: submission.images,
        });
    }

    /// Gives the terminal to a job. It begins when the terminal has been handed over: what it prints
    /// would mix with the live region otherwise.
    pub(super) fn lend(&mut self, job: Job) {
        self.holder = Holder::Job;
        self.wish = Some(Wish::Lend);
        self.lent_to = Some(job);
    }

    pub(super) fn show_message(&mut self, text: &str, remark: &str) {
        self.group(Group::Person);
        let sign = Span::styled(format!("{} ", self.glyphs.prompt), self.palette.heading());
        let blank = [Span::from("  ".to_owned())];
        let mut rows: Vec<Line> = Vec::new();
        for line in hermes_text::steady(text).lines() {
            let line = Line::from(Span::styled(line.to_owned(), self.palette.strong()));
            let first: &[Span] = if rows.is_empty() {
                std::slice::from_ref(&sign)
            } else {
                &blank
            };
            rows.extend(wrap(&line, self.width(), first, &blank));
        }
        if let (Some(clock), Some(row)) = (&self.setup.look.clock, rows.first_mut()) {
            row.spans.push(Span::styled(
                format!("  [{}]", clock()),
                self.palette.faint(),
            ));
        }
        let left = rows.len().saturating_sub(SHOWN_ROWS);
        rows.truncate(SHOWN_ROWS);
        if left > 0 {
            let text = format!("  {} {left} more lines", self.glyphs.ellipsis);
            rows.push(Line::from(Span::styled(text, self.palette.faint())));
        }
        if !remark.is_empty() {
            let text = format!("  {remark}");
            rows.push(Line::from(Span::styled(text, self.palette.faint())));
        }
        self.finished.extend(rows);
    }

    /// Ends the running turn; what has arrived is kept.
    pub(super) fn interrupt(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.is_interrupted = true;
        }
        self.setup.interrupt.raise();
    }
}

/// What stands behind a command, with the images of the whole message.
fn without_command(text: &str, images: Vec<std::path::PathBuf>) -> Submission {
    Submission {
        text: text.trim().to_owned(),
        images,
        shown: text.trim().to_owned(),
    }
}
