//! A question in the live region: what is asked, and what the keys mean.

use std::time::{Duration, Instant};

use hermes_policy::{Answer, ApprovalRequest};
use zeroize::Zeroizing;

use crate::draw::{Glyphs, Line, Palette, Span, display_width, wrap};
use crate::question::{Asked, Question, Reply};
use crate::terminal::{Key, Mods};

/// Keys that arrive sooner were meant for the text: nobody has read the question yet.
const READING_TIME: Duration = Duration::from_millis(400);
/// Who is typing goes on with the text: a letter of a word is no answer.
const TYPING_PAUSE: Duration = Duration::from_secs(1);
/// Rows of a command that are shown at once.
const COMMAND_ROWS: usize = 12;

/// A question that is shown.
pub(crate) struct QuestionView {
    pub(crate) question: Question,
    since: Instant,
    /// When a key was last taken for text.
    last_text: Option<Instant>,
    /// What has been typed of a password.
    typed: Zeroizing<String>,
    /// The first row of a command that is longer than the place for it.
    first: usize,
}

/// What became of a key.
pub(crate) enum Handled {
    /// It belongs to the text.
    NotMine,
    Taken,
    /// The question is answered; the line that stays.
    Answered(String, bool),
}

impl QuestionView {
    pub(crate) fn new(question: Question) -> Self {
        Self {
            question,
            since: Instant::now(),
            last_text: None,
            typed: Zeroizing::new(String::new()),
            first: 0,
        }
    }

    /// Whether keys are answers by now.
    fn takes_keys(&self) -> bool {
        let is_typing = |at: Instant| at.elapsed() < TYPING_PAUSE;
        self.since.elapsed() >= READING_TIME && !self.last_text.is_some_and(is_typing)
    }

    /// Whether the text is shown below the question.
    pub(crate) fn shows_text(&self, has_text: bool) -> bool {
        match self.question.asked {
            Asked::Clarify(_) => true,
            Asked::Approval(_) => has_text,
            Asked::Password | Asked::Secret(_) => false,
        }
    }

    /// Whether the text is typed as the answer.
    pub(crate) fn wants_text(&self) -> bool {
        matches!(self.question.asked, Asked::Clarify(_))
    }

    /// Answers with a text.
    pub(crate) fn answer_text(&self, text: &str) -> String {
        let answer = match &self.question.asked {
            Asked::Clarify(asked) => {
                let number = text.trim().parse::<usize>().ok();
                let chosen = number.and_then(|number| asked.choices.get(number.checked_sub(1)?));
                chosen.cloned().unwrap_or_else(|| text.trim().to_owned())
            }
            Asked::Approval(_) | Asked::Password | Asked::Secret(_) => text.to_owned(),
        };
        self.question.answer(Some(Reply::Text(answer.clone())));
        answer
    }

    pub(crate) fn key(&mut self, key: Key, mods: Mods) -> Handled {
        match &self.question.asked {
            Asked::Approval(request) => {
                if !self.takes_keys() {
                    self.last_text = Some(Instant::now());
                    return Handled::NotMine;
                }
                match key {
                    Key::Up => self.first = self.first.saturating_sub(1),
                    Key::Down => self.first += 1,
                    _ => {
                        let handled = self.approval(&request.clone(), key, mods);
                        if matches!(handled, Handled::NotMine) {
                            self.last_text = Some(Instant::now());
                        }
                        return handled;
                    }
                }
                Handled::Taken
            }
            Asked::Password => {
                self.hidden(key, mods, "Password given", "Continuing without a password")
            }
            Asked::Secret(_) => self.hidden(key, mods, "Value given", "Continuing without it"),
            Asked::Clarify(_) => Handled::NotMine,
        }
    }

    fn approval(&self, request: &ApprovalRequest, key: Key, mods: Mods) -> Handled {
        let (answer, word) = match key {
            _ if mods.ctrl || mods.alt => return Handled::Taken,
            Key::Char('o' | 'O' | 'y' | 'Y') => (Answer::Once, "Approved once"),
            Key::Char('s' | 'S') if request.offer_session => {
                (Answer::Session, "Approved for this session")
            }
            Key::Char('a' | 'A') if request.offer_session && request.offer_always => {
                (Answer::Always, "Approved always")
            }
            Key::Char('d' | 'D' | 'n' | 'N') | Key::Escape => (Answer::Deny(None), "Denied"),
            // The beginning of a word.
            Key::Char(_) => return Handled::NotMine,
            _ => return Handled::Taken,
        };
        let is_approved = !matches!(answer, Answer::Deny(_));
        self.question.answer(Some(Reply::Approval(answer)));
        let command = hermes_text::one_line(&request.command, 200);
        Handled::Answered(format!("{word}: {command}"), is_approved)
    }

    /// Takes the keys of a text that is not shown. The words are for one that was given, and for none.
    fn hidden(&mut self, key: Key, mods: Mods, given: &str, without: &str) -> Handled {
        match key {
            Key::Enter => {
                let typed = self.typed.as_str();
                let reply = (!typed.is_empty()).then(|| Reply::Password(typed.to_owned().into()));
                let is_given = reply.is_some();
                self.question.answer(reply);
                let text = if is_given { given } else { without };
                return Handled::Answered(text.to_owned(), is_given);
            }
            Key::Escape => {
                self.question.answer(None);
                return Handled::Answered(without.to_owned(), false);
            }
            Key::Backspace => drop(self.typed.pop()),
            Key::Char('u') if mods.ctrl => self.typed.clear(),
            Key::Char(character) if !mods.ctrl && !mods.alt => self.typed.push(character),
            _ => {}
        }
        Handled::Taken
    }

    /// A pasted password, or another text that is not shown.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        let is_hidden = matches!(self.question.asked, Asked::Password | Asked::Secret(_));
        if is_hidden {
            self.typed.push_str(text.trim_end_matches('\n'));
        }
        is_hidden
    }

    /// The rows of the question.
    pub(crate) fn rows(&mut self, width: usize, palette: Palette, glyphs: Glyphs) -> Vec<Line> {
        let left = self.question.limit.saturating_sub(self.since.elapsed());
        match self.question.asked.clone() {
            Asked::Approval(request) => self.approval_rows(&request, left, width, palette, glyphs),
            Asked::Password => vec![
                Line::from(Span::styled(
                    "The command uses sudo. Type the password; it is not shown.".to_owned(),
                    palette.warning(),
                )),
                Line::from(Span::styled(
                    format!("Enter continues {} Esc goes on without one", glyphs.dot),
                    palette.faint(),
                )),
            ],
            Asked::Secret(question) => {
                let mut rows = wrap_text(&question, palette.warning(), "", width);
                rows.push(Line::from(Span::styled(
                    format!(
                        "What you type is not shown {} Enter continues {} Esc goes on without it",
                        glyphs.dot, glyphs.dot
                    ),
                    palette.faint(),
                )));
                rows
            }
            Asked::Clarify(asked) => {
                let mut rows = wrap_text(&asked.text, palette.strong(), "", width);
                for (index, choice) in asked.choices.iter().enumerate() {
                    let number = format!("  {}. ", index + 1);
                    rows.extend(wrap_text(choice, palette.plain(), &number, width));
                }
                let hint = if asked.choices.is_empty() {
                    "Type the answer and press Enter"
                } else {
                    "Type a number or another answer and press Enter"
                };
                rows.push(Line::from(Span::styled(hint.to_owned(), palette.faint())));
                rows
            }
        }
    }

    fn approval_rows(
        &mut self,
        request: &ApprovalRequest,
        left: Duration,
        width: usize,
        palette: Palette,
        glyphs: Glyphs,
    ) -> Vec<Line> {
        let mut rows = vec![Line::from(Span::styled(
            "This command needs your approval".to_owned(),
            palette.warning().patch(palette.strong()),
        ))];
        let command = hermes_text::visible(&request.command).replace('\t', "    ");
        let lines: Vec<Line> = command
            .lines()
            .flat_map(|line| wrap_text(line, palette.strong(), "    ", width))
            .collect();
        let last_first = lines.len().saturating_sub(COMMAND_ROWS);
        self.first = self.first.min(last_first);
        let count = lines.len();
        rows.extend(lines.into_iter().skip(self.first).take(COMMAND_ROWS));
        if count > COMMAND_ROWS {
            let shown = self.first + COMMAND_ROWS;
            let text = format!(
                "    lines {}-{} of {count}; Up and Down show the others",
                self.first + 1,
                shown.min(count)
            );
            rows.push(Line::from(Span::styled(text, palette.faint())));
        }
        let reason = format!("Reason: {}", request.description);
        rows.extend(wrap_text(&reason, palette.plain(), "", width));
        if let Some(advice) = &request.advice {
            let text = format!("The approval model advises against it: {advice}");
            rows.extend(wrap_text(&text, palette.warning(), "", width));
        }
        // The keys are shown as soon as they count.
        if !self.takes_keys() {
            rows.push(Line::default());
            return rows;
        }
        let choices = [
            Some(("o", "nce")),
            request.offer_session.then_some(("s", "ession")),
            (request.offer_session && request.offer_always).then_some(("a", "lways")),
            Some(("d", "eny")),
        ];
        let mut spans = Vec::new();
        for (letter, rest) in choices.into_iter().flatten() {
            if !spans.is_empty() {
                spans.push(Span::from("  ".to_owned()));
            }
            spans.push(Span::styled(format!("[{letter}]"), palette.heading()));
            spans.push(Span::from(rest.to_owned()));
        }
        let countdown = format!("denied in {} s", left.as_secs());
        let choices = Line::from(spans);
        let beside = format!("  {} {countdown}", glyphs.dot);
        if choices.width() + display_width(&beside) < width {
            let mut spans = choices.spans;
            spans.push(Span::styled(beside, palette.faint()));
            rows.push(Line::from(spans));
        } else {
            rows.push(choices);
            rows.push(Line::from(Span::styled(countdown, palette.faint())));
        }
        rows
    }
}

/// Text of others in rows, with a prefix before the first and blanks before the others.
fn wrap_text(text: &str, style: ratatui::style::Style, prefix: &str, width: usize) -> Vec<Line> {
    let first = [Span::from(prefix.to_owned())];
    let next = [Span::from(" ".repeat(prefix.len()))];
    let mut rows = Vec::new();
    for line in hermes_text::steady(text).lines() {
        let line = Line::from(Span::styled(line.to_owned(), style));
        rows.extend(wrap(&line, width, &first, &next));
    }
    rows
}
