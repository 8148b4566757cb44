//! What the screen knows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::search::Search;
use crate::cells::{QuestionView, ToolCell};
use crate::composer::{Composer, FileList, History, Popup, Submission};
use crate::draw::{Glyphs, Line, Palette, Span, wrap};
use crate::events::Exchange;
use crate::look::{Look, ToolProgress};
use crate::markdown::MarkdownStream;
use crate::overlay::Overlay;
use crate::setup::{Facts, Job, Setup};
use crate::terminal::Size;

/// Bytes of text that the transcript keeps; the store has everything.
const TRANSCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// A part of the conversation, for the transcript.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    Person(String),
    Model(String),
    Call(Box<ToolCell>),
    Notice(String),
}

/// Bytes of an entry beside its text.
const ENTRY_OVERHEAD: usize = 200;

impl Entry {
    fn bytes(&self) -> usize {
        ENTRY_OVERHEAD
            + match self {
                Self::Person(text) | Self::Model(text) | Self::Notice(text) => text.len(),
                Self::Call(cell) => {
                    let result = cell.end.as_ref().map_or(0, |end| end.result.len());
                    result + value_bytes(&cell.arguments)
                }
            }
    }
}

/// About how much memory the text of a value takes.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| key.len() + value_bytes(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// What the last lines above the region belong to; a blank line stands between groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Person,
    Answer,
    Calls,
    Notice,
}

/// A wait before a request is sent again.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) until: Instant,
    pub(super) reason: String,
}

/// The turn that runs.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) begun: Instant,
    pub(super) stream: MarkdownStream,
    /// What the model has said since the last call.
    pub(super) said: String,
    pub(super) reasoning: String,
    pub(super) cells: Vec<ToolCell>,
    pub(super) waiting: Option<Waiting>,
    pub(super) progress: Option<String>,
    pub(super) todos: Vec<Value>,
    pub(super) is_interrupted: bool,
    /// Whether any of the answer was shown.
    pub(super) has_text: bool,
}

/// Who has the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// This thread.
    Screen,
    /// A command that runs meanwhile.
    Job,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the screen"
)]
pub(crate) struct App {
    pub(super) setup: Setup,
    pub(super) palette: Palette,
    pub(super) glyphs: Glyphs,
    pub(super) size: Size,
    pub(super) exchange: Arc<Exchange>,
    pub(super) facts: Facts,
    pub(super) composer: Composer,
    pub(super) history: History,
    pub(super) files: FileList,
    pub(super) popup: Option<Popup>,
    pub(super) search: Option<Search>,
    pub(super) turn: Option<Turn>,
    pub(super) queue: VecDeque<Submission>,
    /// Whether the goal of the session goes on when nothing else waits.
    pub(super) goal_waits: bool,
    /// Images of the text that is being edited or was sent, in case it comes back.
    pub(super) kept_images: Vec<std::path::PathBuf>,
    pub(super) questions: VecDeque<QuestionView>,
    pub(super) overlay: Option<Overlay>,
    pub(super) entries: VecDeque<Entry>,
    pub(super) entry_bytes: usize,
    /// Entries that are not kept any more.
    pub(super) dropped_entries: usize,
    /// Lines for the scrollback, until the next frame.
    pub(super) finished: Vec<Line>,
    pub(super) last_group: Option<Group>,
    pub(super) last_cell: Option<ToolCell>,
    pub(super) is_unfolded: bool,
    pub(super) holder: Holder,
    /// A line instead of the status, until the next key.
    pub(super) hint: Option<String>,
    pub(super) last_ctrl_c: Option<Instant>,
    pub(super) last_escape: Option<Instant>,
    pub(super) after_ctrl_x: bool,
    /// Whether the conversation ends with the turn.
    pub(super) is_leaving: bool,
    /// A command for the loop: what the terminal is needed for.
    pub(super) wish: Option<Wish>,
    /// The job that gets the terminal next.
    pub(super) lent_to: Option<Job>,
    pub(super) is_over: bool,
    /// Background processes, and when they were counted.
    pub(super) processes: Option<(Instant, usize)>,
}

/// What only the owner of the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Hand the terminal over to the job that was submitted.
    Lend,
    /// Clear the screen.
    Clear,
    /// Pause the program.
    Pause,
    /// Ring the bell, and tell the desktop.
    Ring,
}

impl App {
    pub(crate) fn new(setup: Setup, exchange: Arc<Exchange>, facts: Facts, size: Size) -> Self {
        let is_verbose = setup.look.tool_progress == ToolProgress::Verbose;
        Self {
            palette: Palette::new(&setup.look.theme),
            glyphs: Glyphs::new(setup.look.theme.utf8),
            history: History::new(setup.history.clone()),
            setup,
            size,
            exchange,
            facts,
            composer: Composer::default(),
            files: FileList::default(),
            popup: None,
            search: None,
            turn: None,
            queue: VecDeque::new(),
            goal_waits: false,
            kept_images: Vec::new(),
            questions: VecDeque::new(),
            overlay: None,
            entries: VecDeque::new(),
            entry_bytes: 0,
            dropped_entries: 0,
            finished: Vec::new(),
            last_group: None,
            last_cell: None,
            is_unfolded: is_verbose,
            holder: Holder::Screen,
            hint: None,
            last_ctrl_c: None,
            last_escape: None,
            after_ctrl_x: false,
            is_leaving: false,
            wish: None,
            lent_to: None,
            is_over: false,
            processes: None,
        }
    }

    /// Shows everything in another way from now on; what has been shown stays.
    pub(super) fn set_look(&mut self, look: Look) {
        self.palette = Palette::new(&look.theme);
        self.glyphs = Glyphs::new(look.theme.utf8);
        if look.tool_progress != self.setup.look.tool_progress {
            self.is_unfolded = look.tool_progress == ToolProgress::Verbose;
        }
        self.setup.look = look;
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.size.columns)
    }

    /// A stream for the answer at the present width.
    pub(super) fn new_stream(&self) -> MarkdownStream {
        MarkdownStream::new(self.palette, self.glyphs, self.width())
    }

    /// Begins a group of lines, with a blank line before it if it is another one.
    pub(super) fn group(&mut self, group: Group) {
        let is_new = self.last_group != Some(group) || group == Group::Person;
        if is_new && self.last_group.is_some() {
            self.finished.push(Line::default());
        }
        self.last_group = Some(group);
    }

    /// Shows a line of the program itself.
    pub(super) fn notice(&mut self, sign: &str, text: &str, style: ratatui::style::Style) {
        self.group(Group::Notice);
        let first = [Span::styled(format!("{sign} "), style)];
        let next = [Span::from("  ".to_owned())];
        for line in hermes_text::steady(text).lines() {
            let line = Line::from(Span::styled(line.to_owned(), style));
            let rows = wrap(&line, self.width(), &first, &next);
            self.finished.extend(rows);
        }
        self.remember(Entry::Notice(text.to_owned()));
    }

    /// Keeps a part of the conversation for the transcript.
    pub(super) fn remember(&mut self, entry: Entry) {
        self.entry_bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entry_bytes > TRANSCRIPT_BYTES && self.entries.len() > 1 {
            let oldest = self.entries.pop_front();
            self.entry_bytes -= oldest.map_or(0, |entry| entry.bytes());
            self.dropped_entries += 1;
        }
    }

    /// Whether a turn runs or a job has the terminal.
    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some() || self.holder == Holder::Job
    }
}
