//! Emphasis, code and links within a block.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;

use crate::draw::{Line, Palette, Span};

/// The lines of a text, each styled; line ends of the source are kept.
pub(super) fn inline(text: &str, palette: Palette, base: Style) -> Vec<Line> {
    let mut builder = Builder {
        palette,
        lines: vec![Vec::new()],
        styles: vec![base],
        link: None,
    };
    for event in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH) {
        builder.event(event);
    }
    builder.lines.into_iter().map(Line::from).collect()
}

struct Builder {
    palette: Palette,
    lines: Vec<Vec<Span>>,
    styles: Vec<Style>,
    /// Address of the link, and its text so far.
    link: Option<(String, String)>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text, self.style()),
            Event::Code(text) => self.text(&text, self.style().patch(self.palette.code())),
            Event::SoftBreak | Event::HardBreak => self.lines.push(Vec::new()),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Rule => self.text("---", self.palette.faint()),
            Event::TaskListMarker(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some((_, shown)) = &mut self.link {
            shown.push_str(text);
        }
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                self.lines.push(Vec::new());
            }
            if let Some(line) = self.lines.last_mut()
                && !part.is_empty()
            {
                line.push(Span::styled(part.to_owned(), style));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let more = match tag {
            Tag::Strong => self.palette.strong(),
            Tag::Emphasis => self.palette.emphasis(),
            Tag::Strikethrough => self.palette.struck(),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), String::new()));
                self.palette.link()
            }
            _ => Style::new(),
        };
        self.styles.push(self.style().patch(more));
    }

    fn end(&mut self, tag: TagEnd) {
        self.styles.pop();
        if matches!(tag, TagEnd::Link | TagEnd::Image)
            && let Some((address, shown)) = self.link.take()
            && address != shown
            && address.strip_prefix("mailto:") != Some(shown.as_str())
        {
            self.text(&format!(" ({address})"), self.palette.faint());
        }
        // A paragraph within the block: rare, and only in text that was cut apart.
        if matches!(tag, TagEnd::Paragraph | TagEnd::Item) {
            self.lines.push(Vec::new());
        }
        let is_trailing = |line: &Vec<Span>| line.is_empty();
        while self.lines.len() > 1 && self.lines.last().is_some_and(is_trailing) {
            self.lines.pop();
        }
    }
}
