//! Running the grammar over a text, within bounds: it is C code with a quadratic corner or two.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// Bytes handed to the parser at a time, and how many in all per byte of the text, and besides,
/// before it is stopped. Ordinary text is read once or twice; there are inputs on which error
/// recovery reads to the end again and again.
const CHUNK: usize = 256;
const SERVED_PER_BYTE: usize = 48;
const SERVED: usize = 1 << 18;
/// Pipe characters on one line from which on the text is not parsed: at the end of a long broken
/// pipeline, recovery takes quadratic time in a single step.
const MAX_PIPES: usize = 400;

/// Texts from this length on get a parser of their own, so that what theirs needed is not kept.
const MOST_FOR_KEPT: usize = 1 << 16;

thread_local! {
    /// The parser of a thread: setting one up takes as long as reading a short command.
    static KEPT: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    Some(parser)
}

/// Parses a text; `None` when the parser would take too long, or is known to have misread it.
pub(crate) fn parse(text: &str) -> Option<Tree> {
    let tree = parse_bytes(text, &masked(text))?;
    // Only behind two pipes are line ends lost.
    let lines = text.trim_end();
    if !lines.contains('\n') || lines.bytes().filter(|&byte| byte == b'|').count() < 2 {
        return Some(tree);
    }
    let lost = lost_line_ends(&tree, text);
    if lost.is_empty() {
        return Some(tree);
    }
    let mut bytes = masked(text).into_owned();
    for Lost { comment, line_end } in lost {
        bytes.get_mut(comment)?.fill(b' ');
        *bytes.get_mut(line_end)? = b';';
    }
    let tree = parse_bytes(text, &bytes)?;
    lost_line_ends(&tree, text).is_empty().then_some(tree)
}

/// A line end that the grammar has taken for a blank between two words, and the comment before it.
struct Lost {
    comment: Range<usize>,
    line_end: usize,
}

/// Behind a pipeline of three commands the grammar goes on with the words of the next line if `&&`
/// follows there: `a | b | sh`, then `cd / && rm x`, is `sh cd /` to it. A line ends between words only
/// behind a backslash.
fn lost_line_ends(tree: &Tree, text: &str) -> Vec<Lost> {
    let mut lost = Vec::new();
    let mut left = vec![tree.root_node()];
    while let Some(node) = left.pop() {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        if node.kind() == "command" {
            for pair in children.windows(2) {
                let [before, after] = pair else { continue };
                let gap = before.end_byte()..after.start_byte();
                let between = text.get(gap.clone()).unwrap_or_default();
                let mut ends = between.match_indices('\n').map(|(at, _)| at);
                let end = ends.find(|at| !between.get(..*at).unwrap_or_default().ends_with('\\'));
                if let Some(at) = end {
                    let is_comment = before.kind() == "comment";
                    let comment = if is_comment {
                        before.byte_range()
                    } else {
                        0..0
                    };
                    let line_end = gap.start + at;
                    lost.push(Lost { comment, line_end });
                }
            }
        }
        left.extend(children);
    }
    lost
}

fn parse_bytes(text: &str, bytes: &[u8]) -> Option<Tree> {
    let pipes = |line: &str| line.bytes().filter(|&byte| byte == b'|').count();
    if text.split(['\n', ';']).any(|line| pipes(line) > MAX_PIPES) {
        return None;
    }
    let kept = KEPT.with(|kept| kept.try_borrow_mut().ok()?.take());
    let mut parser = kept.or_else(new_parser)?;
    let spent = Cell::new(false);
    let mut progress = |_: &ParseState| {
        if spent.get() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut left = SERVED + text.len() * SERVED_PER_BYTE;
    let tree = parser.parse_with_options(
        &mut |at, _| {
            let end = bytes.len().min(at + CHUNK);
            left = left.saturating_sub(CHUNK);
            if left == 0 {
                // Nothing more to read: whatever it is doing comes to an end.
                spent.set(true);
                return <&[u8]>::default();
            }
            bytes.get(at..end).unwrap_or_default()
        },
        None,
        Some(ParseOptions::new().progress_callback(&mut progress)),
    );
    // One that was stopped would go on where it was.
    if tree.is_some() && text.len() < MOST_FOR_KEPT {
        KEPT.with(|kept| kept.replace(Some(parser)));
    }
    tree.filter(|_| !spent.get())
}

/// The text with its last line ended. At the end of a pipeline the grammar tries two readings, and of
/// the one that fails it takes leave at once at the end of a line, but by way of its error recovery,
/// which takes ten times as long as all the rest, at the end of the text. A backslash at the end stays
/// one: with a line end behind it, it would not be there.
pub(crate) fn with_line_end(mut text: String) -> String {
    if !text.ends_with(['\n', '\\']) {
        text.push('\n');
    }
    text
}

/// The text with every byte of a character outside ASCII replaced by one that is plain in words.
///
/// Positions stay the same, and to a shell those characters are plain as well. The grammar's scanner
/// hands them to C functions that are not defined for them; a `{` before one crashes the process.
fn masked(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let plain = |byte: u8| if byte.is_ascii() { byte } else { b'%' };
    Cow::Owned(text.bytes().map(plain).collect())
}
