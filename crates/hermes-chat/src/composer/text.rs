//! The text being typed, with what was pasted into it.
//!
//! A long paste and an image stand in the text as one character of a private plane, shown as a label:
//! the cursor cannot get into it, and one key deletes it. Typed and pasted text cannot contain such
//! characters.

use std::path::{Path, PathBuf};

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::draw::{Cursor, Line, Palette, Span};
use crate::setup::PasteLimits;

/// The first of the characters that stand for attachments.
const FIRST: u32 = 0xF_0000;
/// Attachments of one message.
const MOST_ATTACHMENTS: usize = 1_000;
/// Endings of files that are sent as images.
const IMAGES: [&str; 8] = ["png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "heic"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Attachment {
    Text(String),
    Image(PathBuf),
}

/// What was typed, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Submission {
    /// The whole text, pastes included.
    pub(crate) text: String,
    pub(crate) images: Vec<PathBuf>,
    /// The text as it was shown, with labels for what was attached.
    pub(crate) shown: String,
}

/// A text that is not being typed for the moment, with what was attached to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    text: String,
    attachments: Vec<Attachment>,
}

/// The text being typed.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    text: String,
    /// Byte position of the cursor, always between graphemes.
    cursor: usize,
    attachments: Vec<Attachment>,
    /// What was cut last.
    cut: String,
}

impl Composer {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text up to the cursor.
    pub(crate) fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// The text as it stands, with characters for attachments.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the cursor stands at the end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Replaces everything.
    pub(crate) fn set(&mut self, text: &str) {
        self.text = clean(text);
        self.cursor = self.text.len();
        self.attachments.clear();
    }

    /// Replaces everything, with images after the text.
    pub(crate) fn set_with_images(&mut self, text: &str, images: Vec<PathBuf>) {
        self.set(text);
        for path in images {
            self.attach(Attachment::Image(path));
        }
    }

    /// What is being typed, to be put back later.
    pub(crate) fn draft(&self) -> Draft {
        Draft {
            text: self.text.clone(),
            attachments: self.attachments.clone(),
        }
    }

    /// Puts back what was being typed.
    pub(crate) fn restore(&mut self, draft: Draft) {
        self.text = draft.text;
        self.attachments = draft.attachments;
        self.cursor = self.text.len();
    }

    /// Takes the text out.
    pub(crate) fn take(&mut self) -> Submission {
        let mut submission = Submission::default();
        for character in self.text.chars() {
            match self.attachment(character) {
                Some(Attachment::Text(text)) => submission.text.push_str(text),
                Some(Attachment::Image(path)) => submission.images.push(path.clone()),
                None => submission.text.push(character),
            }
            match self.label(character) {
                Some(label) => submission.shown.push_str(&label),
                None => submission.shown.push(character),
            }
        }
        self.text.clear();
        self.attachments.clear();
        self.cursor = 0;
        submission
    }

    /// Puts text in at the cursor, as it is.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = clean(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Takes a paste: an image if it is the path of one, a label if it is long, else its text.
    pub(crate) fn paste(&mut self, text: &str, limits: PasteLimits, directory: &Path) {
        if let Some(path) = image_path(text, directory) {
            self.attach(Attachment::Image(path));
            return;
        }
        let lines = text.lines().count();
        let is_long = (limits.lines > 0 && lines >= limits.lines)
            || (limits.characters > 0 && text.len() > limits.characters);
        if is_long {
            self.attach(Attachment::Text(clean(text)));
        } else {
            self.insert(text);
        }
    }

    /// Makes an image of the path before the cursor; gives whether there was one.
    pub(crate) fn attach_path_before(&mut self, directory: &Path) -> bool {
        let before = self.before();
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |position| position + 1);
        let word = before.get(start..).unwrap_or_default();
        let Some(path) = image_path(word, directory) else {
            return false;
        };
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
        self.attach(Attachment::Image(path));
        true
    }

    fn attach(&mut self, attachment: Attachment) {
        let position = u32::try_from(self.attachments.len()).unwrap_or(u32::MAX);
        let character = char::from_u32(FIRST.saturating_add(position));
        if let Some(character) = character.filter(|_| self.attachments.len() < MOST_ATTACHMENTS) {
            self.attachments.push(attachment);
            self.text.insert(self.cursor, character);
            self.cursor += character.len_utf8();
        }
    }

    fn attachment(&self, character: char) -> Option<&Attachment> {
        let position = u32::from(character).checked_sub(FIRST)?;
        self.attachments.get(usize::try_from(position).ok()?)
    }

    fn label(&self, character: char) -> Option<String> {
        Some(match self.attachment(character)? {
            Attachment::Text(text) => {
                let lines = text.lines().count();
                let ending = if lines == 1 { "" } else { "s" };
                format!("[pasted {}, {lines} line{ending}]", size(text.len()))
            }
            Attachment::Image(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("[image {}]", hermes_text::one_line(&name, 60))
            }
        })
    }

    pub(crate) fn backspace(&mut self) {
        let start = self.previous();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub(crate) fn delete(&mut self) {
        let end = self.following();
        self.text.replace_range(self.cursor..end, "");
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.following();
    }

    fn previous(&self) -> usize {
        let last = self.before().graphemes(true).next_back();
        self.cursor - last.map_or(0, str::len)
    }

    fn following(&self) -> usize {
        let next = self.after().graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    fn word_start(&self) -> usize {
        let before = self.before();
        let trimmed = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        let word = trimmed.trim_end_matches(char::is_alphanumeric);
        word.len()
    }

    pub(crate) fn word_right(&mut self) {
        self.cursor = self.word_end();
    }

    fn word_end(&self) -> usize {
        let after = self.after();
        let trimmed = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        let rest = trimmed.trim_start_matches(char::is_alphanumeric);
        self.text.len() - rest.len()
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.before().rfind('\n').map_or(0, |position| position + 1);
    }

    pub(crate) fn end(&mut self) {
        let rest = self.after();
        self.cursor += rest.find('\n').unwrap_or(rest.len());
    }

    fn cut_out(&mut self, range: std::ops::Range<usize>) {
        self.cut = self.text.get(range.clone()).unwrap_or_default().to_owned();
        self.cursor = range.start;
        self.text.replace_range(range, "");
    }

    pub(crate) fn cut_word_before(&mut self) {
        let start = self.before().trim_end().rfind(char::is_whitespace);
        let start = start.map_or(0, |position| position + 1);
        self.cut_out(start..self.cursor);
    }

    pub(crate) fn cut_part_before(&mut self) {
        self.cut_out(self.word_start()..self.cursor);
    }

    pub(crate) fn cut_word_after(&mut self) {
        self.cut_out(self.cursor..self.word_end());
    }

    pub(crate) fn cut_to_end(&mut self) {
        let rest = self.after();
        // At the end of a line its end goes.
        let length = match rest.find('\n') {
            Some(0) => 1,
            Some(position) => position,
            None => rest.len(),
        };
        self.cut_out(self.cursor..self.cursor + length);
    }

    pub(crate) fn cut_to_start(&mut self) {
        let start = self.before().rfind('\n').map_or(0, |position| position + 1);
        self.cut_out(start..self.cursor);
    }

    pub(crate) fn put_back(&mut self) {
        let cut = self.cut.clone();
        self.text.insert_str(self.cursor, &cut);
        self.cursor += cut.len();
    }

    /// Replaces the last bytes before the cursor.
    pub(crate) fn complete(&mut self, typed: usize, with: &str) {
        let start = self.cursor.saturating_sub(typed);
        if self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, with);
            self.cursor = start + with.len();
        }
    }

    /// One row up or down as shown; `false` if there is none.
    pub(crate) fn vertical(&mut self, down: bool, width: usize) -> bool {
        let positions = self.positions(width);
        let Some((row, column)) = row_and_column(&positions, self.cursor) else {
            return false;
        };
        let Some(target) = (if down {
            row.checked_add(1)
        } else {
            row.checked_sub(1)
        }) else {
            return false;
        };
        let in_row = positions.iter().filter(|position| position.row == target);
        let nearest =
            in_row.min_by_key(|position| (position.column.abs_diff(column), position.column));
        match nearest {
            Some(position) => {
                self.cursor = position.byte;
                true
            }
            None => false,
        }
    }

    /// The rows of the text, and where the cursor is. Rows begin with `first` and `next`.
    pub(crate) fn rows(
        &self,
        width: usize,
        palette: Palette,
        first: &Span,
        next: &Span,
    ) -> (Vec<Line>, Cursor) {
        let room = width.saturating_sub(first.width()).max(2);
        let positions = self.positions(room);
        let mut rows: Vec<Vec<Span>> = vec![vec![first.clone()]];
        for position in &positions {
            while rows.len() <= position.row {
                rows.push(vec![next.clone()]);
            }
            if position.shown.is_empty() {
                continue;
            }
            let style = if position.is_label {
                palette.accent()
            } else {
                palette.plain()
            };
            if let Some(row) = rows.get_mut(position.row) {
                match row.last_mut() {
                    Some(last) if last.style == style && row_is_open(last, first, next) => {
                        last.content.to_mut().push_str(&position.shown);
                    }
                    _ => row.push(Span::styled(position.shown.clone(), style)),
                }
            }
        }
        let (row, column) = row_and_column(&positions, self.cursor).unwrap_or_default();
        let cursor = Cursor {
            row: u16::try_from(row).unwrap_or(u16::MAX),
            column: u16::try_from(column + first.width()).unwrap_or(u16::MAX),
        };
        (rows.into_iter().map(Line::from).collect(), cursor)
    }

    /// Where everything stands that the cursor can be before; the last is the end.
    fn positions(&self, width: usize) -> Vec<GraphemePosition> {
        let mut positions = Vec::new();
        let (mut row, mut column, mut byte) = (0, 0, 0);
        for grapheme in self.text.graphemes(true) {
            if grapheme == "\n" {
                positions.push(GraphemePosition::at(row, column, byte));
                row += 1;
                column = 0;
                byte += 1;
                continue;
            }
            let first = grapheme.chars().next().unwrap_or(' ');
            let label = self.label(first);
            let is_label = label.is_some();
            let shown = label.unwrap_or_else(|| hermes_text::steady(grapheme));
            let wide = shown.width();
            if column + wide > width && column > 0 {
                row += 1;
                column = 0;
            }
            positions.push(GraphemePosition {
                row,
                column,
                byte,
                shown,
                is_label,
            });
            column += wide;
            byte += grapheme.len();
        }
        if column >= width {
            row += 1;
            column = 0;
        }
        positions.push(GraphemePosition::at(row, column, byte));
        positions
    }
}

struct GraphemePosition {
    row: usize,
    column: usize,
    byte: usize,
    shown: String,
    is_label: bool,
}

impl GraphemePosition {
    fn at(row: usize, column: usize, byte: usize) -> Self {
        Self {
            row,
            column,
            byte,
            shown: String::new(),
            is_label: false,
        }
    }
}

/// Whether text can be added to a span: the sign at the beginning of a row stays alone.
fn row_is_open(last: &Span, first: &Span, next: &Span) -> bool {
    last.content != first.content && last.content != next.content
}

fn row_and_column(positions: &[GraphemePosition], byte: usize) -> Option<(usize, usize)> {
    let position = positions.iter().find(|position| position.byte == byte)?;
    Some((position.row, position.column))
}

/// Text without characters that could be taken for attachments.
fn clean(text: &str) -> String {
    let keep = |c: char| {
        let is_own = (FIRST..FIRST + 0x1_0000).contains(&u32::from(c));
        if is_own { '\u{fffd}' } else { c }
    };
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .map(keep)
        .collect()
}

fn size(bytes: usize) -> String {
    if bytes >= 1_000_000 {
        let tenths = bytes / 100_000;
        if tenths.is_multiple_of(10) {
            format!("{} MB", tenths / 10)
        } else {
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    } else if bytes >= 1_000 {
        format!("{} KB", bytes / 1_000)
    } else {
        format!("{bytes} B")
    }
}

/// The image file that a text names, if it names one that exists and nothing else.
fn image_path(text: &str, directory: &Path) -> Option<PathBuf> {
    let text = text.trim();
    if text.is_empty() || text.len() > 4_096 || text.contains('\n') {
        return None;
    }
    let text = text
        .strip_prefix(['"', '\''])
        .and_then(|rest| rest.strip_suffix(['"', '\'']))
        .unwrap_or(text);
    let text = text.strip_prefix("file://").unwrap_or(text);
    // Terminals escape blanks when a file is dropped on them.
    let path = directory.join(text.replace("\\ ", " "));
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    (IMAGES.contains(&ending.as_str()) && path.is_file()).then_some(path)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
