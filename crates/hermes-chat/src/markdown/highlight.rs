//! Colours for code, line by line: comments, strings, numbers and keywords of common languages.
//!
//! No grammar: what stands in a fence is often a piece of a file, and a wrong colour costs less than
//! a start that loads grammars nobody needs.

use crate::draw::{Palette, Span};

/// Where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    BlockComment,
    /// A string that may go over several lines, with what ends it.
    LongString(&'static str),
}

/// How a language is written.
#[derive(Debug, Clone, Copy)]
struct Language {
    line_comments: &'static [&'static str],
    block_comments: bool,
    long_strings: &'static [&'static str],
    keywords: &'static [&'static str],
}

const C_LIKE: &[&str] = &[
    "as",
    "async",
    "await",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "crate",
    "default",
    "defer",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "export",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "float",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "int",
    "interface",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "null",
    "nullptr",
    "package",
    "private",
    "protected",
    "pub",
    "public",
    "range",
    "ref",
    "return",
    "self",
    "Self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "throws",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typename",
    "typeof",
    "undefined",
    "union",
    "unsafe",
    "unsigned",
    "use",
    "using",
    "var",
    "virtual",
    "void",
    "where",
    "while",
    "yield",
];
const PYTHON: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "None", "nonlocal", "not", "or", "pass", "raise", "return", "self", "True",
    "try", "while", "with", "yield", "end", "do", "module", "require", "then", "unless", "nil",
];
const SHELL: &[&str] = &[
    "case",
    "cd",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "esac",
    "exec",
    "exit",
    "export",
    "fi",
    "for",
    "function",
    "if",
    "in",
    "local",
    "return",
    "set",
    "source",
    "sudo",
    "then",
    "unset",
    "until",
    "while",
    "FROM",
    "RUN",
    "COPY",
    "ENV",
    "CMD",
    "ENTRYPOINT",
    "WORKDIR",
];
const SQL: &[&str] = &[
    "and", "as", "asc", "begin", "by", "case", "commit", "create", "delete", "desc", "distinct",
    "drop", "else", "end", "exists", "from", "group", "having", "in", "index", "insert", "into",
    "is", "join", "left", "like", "limit", "not", "null", "on", "or", "order", "primary", "key",
    "select", "set", "table", "then", "union", "unique", "update", "values", "when", "where",
    "with",
];
const DATA: &[&str] = &["true", "false", "null", "yes", "no", "on", "off"];

fn language(name: &str) -> Option<Language> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "rust" | "rs" | "c" | "h" | "cpp" | "c++" | "cc" | "java" | "kotlin" | "kt" | "swift"
        | "go" | "golang" | "cs" | "csharp" | "scala" | "zig" | "php" | "dart" | "proto" => {
            Language {
                line_comments: &["//"],
                block_comments: true,
                long_strings: &[],
                keywords: C_LIKE,
            }
        }
        "js" | "javascript" | "ts" | "typescript" | "jsx" | "tsx" | "css" | "scss" => Language {
            line_comments: &["//"],
            block_comments: true,
            long_strings: &["`"],
            keywords: C_LIKE,
        },
        "python" | "py" | "ruby" | "rb" | "elixir" | "lua" => Language {
            line_comments: &["#"],
            block_comments: false,
            long_strings: &["\"\"\"", "'''"],
            keywords: PYTHON,
        },
        "sh" | "bash" | "zsh" | "shell" | "console" | "fish" | "dockerfile" | "make"
        | "makefile" => Language {
            line_comments: &["#"],
            block_comments: false,
            long_strings: &[],
            keywords: SHELL,
        },
        "sql" => Language {
            line_comments: &["--"],
            block_comments: true,
            long_strings: &[],
            keywords: SQL,
        },
        "json" | "jsonc" | "yaml" | "yml" | "toml" | "ini" | "conf" | "env" => Language {
            line_comments: &["#", "//"],
            block_comments: false,
            long_strings: &[],
            keywords: DATA,
        },
        _ => return None,
    })
}

/// Colours the lines of one piece of code.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter {
    palette: Palette,
    language: Option<Language>,
    is_diff: bool,
    within: Within,
}

impl Highlighter {
    pub(crate) fn new(name: &str, palette: Palette) -> Self {
        Self {
            palette,
            language: language(name),
            is_diff: matches!(name, "diff" | "patch"),
            within: Within::Code,
        }
    }

    /// One line without its end.
    pub(crate) fn line(&mut self, text: &str) -> Vec<Span> {
        if self.is_diff {
            let style = match text.chars().next() {
                Some('+') => self.palette.good(),
                Some('-') => self.palette.bad(),
                Some('@') => self.palette.accent(),
                _ => self.palette.plain(),
            };
            return vec![Span::styled(text.to_owned(), style)];
        }
        let Some(language) = self.language else {
            return vec![Span::from(text.to_owned())];
        };
        let mut spans = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (length, style) = self.token(rest, &language);
            let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            spans.push(Span::styled(token.to_owned(), style));
            rest = after;
        }
        spans
    }

    /// Bytes and style of the first token.
    fn token(&mut self, rest: &str, language: &Language) -> (usize, ratatui::style::Style) {
        let palette = self.palette;
        match self.within {
            Within::BlockComment => return (self.until(rest, "*/"), palette.comment()),
            Within::LongString(end) => return (self.until(rest, end), palette.string()),
            Within::Code => {}
        }
        if language
            .line_comments
            .iter()
            .any(|mark| rest.starts_with(mark))
        {
            return (rest.len(), palette.comment());
        }
        if language.block_comments && rest.starts_with("/*") {
            self.within = Within::BlockComment;
            let inner = rest.get(2..).unwrap_or_default();
            return (2 + self.until(inner, "*/"), palette.comment());
        }
        if let Some(mark) = language
            .long_strings
            .iter()
            .find(|mark| rest.starts_with(**mark))
        {
            self.within = Within::LongString(mark);
            let inner = rest.get(mark.len()..).unwrap_or_default();
            return (mark.len() + self.until(inner, mark), palette.string());
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first == '"' || first == '\'' {
            if let Some(length) = quoted(rest, first) {
                return (length, palette.string());
            }
            return (1, palette.plain());
        }
        if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            return (run(rest, is_part), palette.number());
        }
        if first.is_alphabetic() || first == '_' {
            let length = run(rest, |c| c.is_alphanumeric() || c == '_');
            let word = rest.get(..length).unwrap_or_default();
            let is_keyword = language.keywords.contains(&word)
                || (language.keywords == SQL && SQL.contains(&word.to_ascii_lowercase().as_str()));
            let style = if is_keyword {
                palette.keyword()
            } else {
                palette.plain()
            };
            return (length, style);
        }
        let marks = language.line_comments;
        let is_other = |c: char| {
            !c.is_alphanumeric()
                && c != '_'
                && c != '"'
                && c != '\''
                && c != '`'
                && c != '/'
                && !marks.iter().any(|mark| mark.starts_with(c))
        };
        (run(rest, is_other).max(first.len_utf8()), palette.plain())
    }

    /// Bytes up to and with `end`, or all; what it ends is over then.
    fn until(&mut self, text: &str, end: &str) -> usize {
        match text.find(end) {
            Some(place) => {
                self.within = Within::Code;
                place + end.len()
            }
            None => text.len(),
        }
    }
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Bytes of a string that ends in this line; a quote that never ends is an apostrophe.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(place + character.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn coloured(name: &str, lines: &[&str]) -> Vec<Vec<(String, bool)>> {
        let palette = Palette::plain_theme(true);
        let mut highlighter = Highlighter::new(name, palette);
        lines
            .iter()
            .map(|line| {
                let spans = highlighter.line(line);
                assert_eq!(
                    spans.iter().map(|span| &*span.content).collect::<String>(),
                    **line
                );
                spans
                    .into_iter()
                    .map(|span| (span.content.into_owned(), span.style == palette.comment()))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn block_comment_goes_over_lines() {
        let lines = coloured("rust", &["let a = 1; /* b", "still", "end */ let c"]);
        assert_eq!(lines[0].last().unwrap(), &("/* b".to_owned(), true));
        assert_eq!(lines[1], [("still".to_owned(), true)]);
        assert_eq!(lines[2][0], ("end */".to_owned(), true));
    }

    #[test]
    fn text_is_kept_whatever_the_language() {
        for name in [
            "rust", "python", "sql", "bash", "yaml", "nosuch", "diff", "ts",
        ] {
            coloured(
                name,
                &["it's \"a\" 日本 #x -- /* y", "'''", "`", "\\\"", "a/b // c"],
            );
        }
    }

    #[test]
    fn keywords_and_strings_are_told_apart() {
        let palette = Palette::plain_theme(true);
        let spans = Highlighter::new("py", palette).line("return \"if\" # 1");
        let styles: Vec<_> = spans
            .iter()
            .map(|span| (&*span.content, span.style))
            .collect();
        assert!(styles.contains(&("return", palette.keyword())));
        assert!(styles.contains(&("\"if\"", palette.string())));
        assert!(styles.contains(&("# 1", palette.comment())));
    }
}
