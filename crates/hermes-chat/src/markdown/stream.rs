//! Blocks of an answer that is still being written.
//!
//! The source is cut into blocks line by line. A block goes out when the next one begins, a line of
//! code when it ends, a long paragraph in parts; the rest is shown as a preview. What has gone out is
//! never changed.

use super::highlight::Highlighter;
use super::inline::inline;
use super::table::table;
use crate::draw::{Glyphs, Line, Palette, Span, wrap};

/// Source lines of a block that go out before it ends.
const MOST_LINES: usize = 8;
/// Rows of a table that are held back at most.
const MOST_ROWS: usize = 200;
/// Bytes of one source line that is shown before it ends.
const LONG_LINE: usize = 2_000;
/// The margin of everything that the model says.
const MARGIN: &str = "  ";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Paragraph,
    Heading,
    Item { indent: usize, marker: String },
    Quote,
    Table,
    Code,
    Rule,
}

/// A fence that is open.
#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    /// Blanks before the fence, which its lines have too.
    indent: usize,
    highlighter: Highlighter,
}

/// An answer as it arrives.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    palette: Palette,
    glyphs: Glyphs,
    width: usize,
    /// The source line that has not ended.
    partial: String,
    block: Vec<String>,
    kind: Kind,
    fence: Option<Fence>,
    /// The kind of the block before, and whether a blank line follows it.
    last: Option<Kind>,
    is_blank_due: bool,
    /// Whether the block goes on with one that has gone out in part.
    is_continued: bool,
}

impl MarkdownStream {
    pub(crate) fn new(palette: Palette, glyphs: Glyphs, width: usize) -> Self {
        Self {
            palette,
            glyphs,
            width,
            partial: String::new(),
            block: Vec::new(),
            kind: Kind::Paragraph,
            fence: None,
            last: None,
            is_blank_due: false,
            is_continued: false,
        }
    }

    /// Lines from now on are broken at this width.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Takes text that cannot steer the terminal, and gives the lines it finishes.
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Line>) {
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            self.partial.push_str(line);
            let line = std::mem::take(&mut self.partial);
            self.line(&line, out);
            rest = after;
        }
        self.partial.push_str(rest);
        if self.partial.len() > LONG_LINE {
            self.shorten(out);
        }
    }

    /// The lines of what has not gone out.
    pub(crate) fn preview(&self) -> Vec<Line> {
        let mut out = Vec::new();
        let mut rest = Self {
            partial: String::new(),
            block: self.block.clone(),
            kind: self.kind.clone(),
            fence: self.fence.clone(),
            last: self.last.clone(),
            ..*self
        };
        if !self.partial.is_empty() {
            rest.line(&self.partial, &mut out);
        }
        rest.flush(&mut out);
        out
    }

    /// Everything that is left.
    pub(crate) fn finish(&mut self, out: &mut Vec<Line>) {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.line(&line, out);
        }
        self.flush(out);
        self.fence = None;
    }

    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none() && self.block.is_empty() && self.partial.trim().is_empty()
    }

    fn line(&mut self, line: &str, out: &mut Vec<Line>) {
        if let Some(fence) = &self.fence {
            if closes(line, fence) {
                self.fence = None;
                self.last = Some(Kind::Code);
                self.is_blank_due = true;
            } else {
                self.code(line, out);
            }
            return;
        }
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.flush(out);
            self.is_blank_due = self.last.is_some();
            return;
        }
        if let Some(fence) = opens(line, self.palette) {
            self.flush(out);
            self.separate(&Kind::Code, out);
            self.fence = Some(fence);
            return;
        }
        let kind = classify(line);
        match &kind {
            Kind::Heading | Kind::Rule | Kind::Item { .. } => {
                self.flush(out);
                self.kind = kind.clone();
                self.block.push(trimmed.to_owned());
                if !matches!(kind, Kind::Item { .. }) {
                    self.flush(out);
                }
            }
            Kind::Table | Kind::Quote if self.kind != kind || self.block.is_empty() => {
                self.flush(out);
                self.kind = kind;
                self.block.push(trimmed.to_owned());
            }
            Kind::Paragraph
                if self.block.is_empty()
                    || matches!(self.kind, Kind::Table | Kind::Quote | Kind::Code) =>
            {
                self.flush(out);
                self.kind = kind;
                self.block.push(trimmed.to_owned());
            }
            _ => self.block.push(trimmed.to_owned()),
        }
        let most = if self.kind == Kind::Table {
            MOST_ROWS
        } else {
            MOST_LINES
        };
        if self.block.len() >= most {
            self.flush(out);
            self.is_continued = true;
        }
    }

    /// Lets the beginning of a very long line go.
    fn shorten(&mut self, out: &mut Vec<Line>) {
        let most = self.partial.floor_char_boundary(LONG_LINE);
        let head = self.partial.get(..most).unwrap_or_default();
        let end = head.rfind(' ').map_or(most, |place| place + 1);
        let rest = self.partial.split_off(end.min(self.partial.len()));
        let line = std::mem::replace(&mut self.partial, rest);
        self.line(line.trim_end(), out);
        if self.fence.is_none() {
            self.flush(out);
            self.is_continued = true;
        }
    }

    fn code(&mut self, line: &str, out: &mut Vec<Line>) {
        let Some(fence) = &mut self.fence else {
            return;
        };
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let line = line.get(blanks.min(fence.indent)..).unwrap_or(line);
        let spans = fence.highlighter.line(line);
        let indent = Span::from(format!("{MARGIN}  {}", " ".repeat(fence.indent)));
        let width = self.width;
        let indents = std::slice::from_ref(&indent);
        out.extend(wrap(&Line::from(spans), width, indents, indents));
    }

    /// A blank line between blocks that need one.
    fn separate(&mut self, next: &Kind, out: &mut Vec<Line>) {
        let is_item = |kind: &Kind| matches!(kind, Kind::Item { .. });
        let wanted = match &self.last {
            None => false,
            Some(_) if self.is_continued => false,
            Some(last) if is_item(last) && is_item(next) => false,
            Some(Kind::Paragraph) if is_item(next) => self.is_blank_due,
            Some(last) => self.is_blank_due || last != next || *next == Kind::Heading,
        };
        if wanted {
            out.push(Line::default());
        }
        self.is_blank_due = false;
        self.is_continued = false;
        self.last = Some(next.clone());
    }

    fn flush(&mut self, out: &mut Vec<Line>) {
        if self.block.is_empty() {
            return;
        }
        let block = std::mem::take(&mut self.block);
        let kind = std::mem::replace(&mut self.kind, Kind::Paragraph);
        self.separate(&kind, out);
        self.render(&kind, &block, out);
    }

    fn render(&self, kind: &Kind, block: &[String], out: &mut Vec<Line>) {
        let (palette, glyphs) = (self.palette, self.glyphs);
        let margin = Span::from(MARGIN.to_owned());
        let plain = palette.plain();
        match kind {
            Kind::Paragraph | Kind::Code => {
                self.put(
                    &block.join("\n"),
                    plain,
                    std::slice::from_ref(&margin),
                    0,
                    out,
                );
            }
            Kind::Heading => {
                let text = block.concat();
                let text = text
                    .trim_start_matches('#')
                    .trim()
                    .trim_end_matches('#')
                    .trim_end();
                self.put(text, palette.heading(), &[margin], 0, out);
            }
            Kind::Item { indent, marker } => {
                let text = block.join("\n");
                let body = text.get(marker.len()..).unwrap_or_default().trim_start();
                let (sign, body) = item_sign(marker, body, glyphs);
                let depth = " ".repeat(*indent);
                let style = palette.accent();
                let first = [
                    margin,
                    Span::from(depth),
                    Span::styled(format!("{sign} "), style),
                ];
                self.put(body, plain, &first, 0, out);
            }
            Kind::Quote => {
                let text: Vec<&str> = block
                    .iter()
                    .map(|line| line.trim_start_matches('>').trim_start())
                    .collect();
                let bar = Span::styled(format!("{} ", glyphs.quote), palette.faint());
                let prefix = [margin, bar];
                for line in inline(&text.join("\n"), palette, palette.emphasis()) {
                    out.extend(wrap(&line, self.width, &prefix, &prefix));
                }
            }
            Kind::Table => {
                let room = self.width.saturating_sub(MARGIN.len());
                for line in table(block, room, palette, glyphs) {
                    let mut spans = vec![margin.clone()];
                    spans.extend(line.spans);
                    out.push(Line::from(spans));
                }
            }
            Kind::Rule => {
                let width = self.width.saturating_sub(2 * MARGIN.len()).min(40);
                let rule = Span::styled(glyphs.dash.repeat(width), palette.faint());
                out.push(Line::from(vec![margin, rule]));
            }
        }
    }

    /// Text behind a sign; further lines begin under the text.
    fn put(
        &self,
        text: &str,
        base: ratatui::style::Style,
        first: &[Span],
        more: usize,
        out: &mut Vec<Line>,
    ) {
        let width: usize = first.iter().map(Span::width).sum::<usize>() + more;
        let hanging = [Span::from(" ".repeat(width))];
        for (index, line) in inline(text, self.palette, base).iter().enumerate() {
            let begin: &[Span] = if index == 0 { first } else { &hanging };
            out.extend(wrap(line, self.width, begin, &hanging));
        }
    }
}

/// The sign of an item, and its text without the box of a task.
fn item_sign<'a>(marker: &str, body: &'a str, glyphs: Glyphs) -> (String, &'a str) {
    for (mark, sign) in [
        ("[ ] ", glyphs.open),
        ("[x] ", glyphs.done),
        ("[X] ", glyphs.done),
    ] {
        if let Some(rest) = body.strip_prefix(mark) {
            return (sign.to_owned(), rest);
        }
    }
    if marker.starts_with(|c: char| c.is_ascii_digit()) {
        (marker.to_owned(), body)
    } else {
        (glyphs.bullet.to_owned(), body)
    }
}

fn classify(line: &str) -> Kind {
    let trimmed = line.trim();
    let indent = line.len() - line.trim_start_matches(' ').len();
    let hashes = trimmed.chars().take_while(|c| *c == '#').count();
    if (1..=6).contains(&hashes)
        && trimmed
            .get(hashes..)
            .is_some_and(|rest| rest.starts_with(' '))
    {
        return Kind::Heading;
    }
    let mut bare = trimmed.chars().filter(|c| *c != ' ');
    let first = bare.next().unwrap_or(' ');
    if matches!(first, '-' | '*' | '_') && bare.clone().count() >= 2 && bare.all(|c| c == first) {
        return Kind::Rule;
    }
    if let Some(marker) = item_marker(trimmed) {
        return Kind::Item {
            indent,
            marker: marker.to_owned(),
        };
    }
    if trimmed.starts_with('>') {
        return Kind::Quote;
    }
    if trimmed.starts_with('|') {
        return Kind::Table;
    }
    Kind::Paragraph
}

/// `-`, `*`, `+` or a number with its dot, if a blank follows.
fn item_marker(line: &str) -> Option<&str> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let length = match line.get(digits..)?.chars().next()? {
        '.' | ')' if (1..=4).contains(&digits) => digits + 1,
        '-' | '*' | '+' if digits == 0 => 1,
        _ => return None,
    };
    let rest = line.get(length..)?;
    rest.starts_with(' ').then(|| line.get(..length)).flatten()
}

fn opens(line: &str, palette: Palette) -> Option<Fence> {
    let trimmed = line.trim_start_matches(' ');
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = trimmed.chars().take_while(|c| *c == mark).count();
    let info = trimmed.get(length..)?.trim();
    if length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let name = info.split([' ', ',', '{']).next().unwrap_or_default();
    Some(Fence {
        mark,
        length,
        indent: line.len() - trimmed.len(),
        highlighter: Highlighter::new(name, palette),
    })
}

fn closes(line: &str, fence: &Fence) -> bool {
    let line = line.trim();
    line.len() >= fence.length && line.chars().all(|c| c == fence.mark)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
