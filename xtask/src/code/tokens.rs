//! Token streams as a flat list with line numbers. Macro bodies are tokens like all others, so a
//! scan of this list sees into them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword.
    Name,
    /// A string literal; the text is its value.
    Text,
    /// Punctuation, one character; delimiters are `(`, `)` and so on.
    Mark,
    /// A number, a character or a byte string.
    Other,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is_name(&self, text: &str) -> bool {
        self.kind == TokenKind::Name && self.text == text
    }

    pub(crate) fn is_mark(&self, text: &str) -> bool {
        self.kind == TokenKind::Mark && self.text == text
    }
}

/// The tokens of a stream in order, groups opened and closed by marks.
pub(crate) fn flatten(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    push(stream, &mut tokens);
    tokens
}

fn push(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let mut add = |kind, text: String| tokens.push(Token { kind, text, line });
        match tree {
            TokenTree::Ident(name) => add(TokenKind::Name, name.to_string()),
            TokenTree::Punct(mark) => add(TokenKind::Mark, mark.as_char().to_string()),
            TokenTree::Literal(literal) => match syn::Lit::new(literal) {
                syn::Lit::Str(text) => add(TokenKind::Text, text.value()),
                _ => add(TokenKind::Other, String::new()),
            },
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                add(TokenKind::Mark, open.to_owned());
                push(group.stream(), tokens);
                tokens.push(Token {
                    kind: TokenKind::Mark,
                    text: close.to_owned(),
                    line: group.span_close().start().line,
                });
            }
        }
    }
}
