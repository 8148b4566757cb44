//! From typed text to a full-text query.
//!
//! Quoted phrases and the words AND, OR and NOT keep their meaning; everything else that FTS5 would
//! take for syntax is removed or quoted. What is left is never empty and never ends in an operator.

use super::script;

/// Longest text that is looked at.
const LONGEST: usize = 2048;
/// Letters that a trigram index needs.
const TRIGRAM: usize = 3;

/// How to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing is asked for.
    Nothing,
    /// A query for the index of words.
    Words(String),
    /// A query for the index of trigrams.
    Trigrams(String),
    /// Texts to look for in every message: too short for either index.
    Scan(Vec<String>),
}

/// A piece of what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Words in quotes, without them.
    Phrase(String),
    /// A bare word, possibly with a `*` behind it.
    Word(String),
    Operator(&'static str),
}

/// Says how to search for what was typed.
pub(crate) fn plan(typed: &str) -> Plan {
    let typed: String = typed.chars().take(LONGEST).collect();
    let pieces = without_dangling_operators(pieces(&typed));
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Phrase(text) | Piece::Word(text) => Some(text.trim_end_matches('*')),
            Piece::Operator(_) => None,
        })
        .collect();
    if texts.is_empty() {
        return Plan::Nothing;
    }
    if texts.iter().all(|text| script::count(text) == 0) {
        return Plan::Words(render(&pieces, word));
    }
    let is_short = |text: &&&str| {
        let count = script::count(text);
        count > 0 && count < TRIGRAM
    };
    // Every text must be long enough, or the index finds nothing at all.
    if texts.iter().any(|text| is_short(&text)) || texts.iter().any(|t| t.chars().count() < TRIGRAM)
    {
        return Plan::Scan(texts.into_iter().map(str::to_owned).collect());
    }
    Plan::Trigrams(render(&pieces, |text| quoted(text.trim_end_matches('*'))))
}

fn pieces(typed: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = typed;
    while let Some((before, after)) = rest.split_once('"') {
        add_words(&mut pieces, before);
        match after.split_once('"') {
            Some((phrase, behind)) => {
                // A phrase without letters matches nothing and may be no phrase for FTS5.
                if phrase.chars().any(char::is_alphanumeric) {
                    pieces.push(Piece::Phrase(phrase.trim().to_owned()));
                }
                rest = behind;
            }
            // A quote that is never closed is no quote.
            None => rest = after,
        }
    }
    add_words(&mut pieces, rest);
    pieces
}

fn add_words(pieces: &mut Vec<Piece>, text: &str) {
    let is_syntax = |character: char| {
        character.is_whitespace() || character.is_control() || "+{}():^".contains(character)
    };
    for word in text.split(is_syntax) {
        match word {
            "AND" => pieces.push(Piece::Operator("AND")),
            "OR" => pieces.push(Piece::Operator("OR")),
            "NOT" => pieces.push(Piece::Operator("NOT")),
            word => {
                let bare = word.trim_matches('*');
                if bare.chars().any(char::is_alphanumeric) {
                    let star = if word.ends_with('*') { "*" } else { "" };
                    pieces.push(Piece::Word(format!(
                        "{}{star}",
                        bare.replace('*', " ").trim()
                    )));
                }
            }
        }
    }
}

/// Operators stand between two texts, one at a time.
fn without_dangling_operators(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut kept: Vec<Piece> = Vec::new();
    for piece in pieces {
        let is_operator = matches!(piece, Piece::Operator(_));
        if is_operator && !matches!(kept.last(), Some(Piece::Phrase(_) | Piece::Word(_))) {
            continue;
        }
        kept.push(piece);
    }
    while matches!(kept.last(), Some(Piece::Operator(_))) {
        kept.pop();
    }
    kept
}

fn render(pieces: &[Piece], of_word: impl Fn(&str) -> String) -> String {
    let parts: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Phrase(text) => quoted(text),
            Piece::Word(text) => of_word(text),
            Piece::Operator(word) => (*word).to_owned(),
        })
        .collect();
    parts.join(" ")
}

/// A word as FTS5 takes it: bare if it can be, else as a phrase.
fn word(text: &str) -> String {
    let bare = text.strip_suffix('*');
    let is_plain = |text: &str| {
        text.chars()
            .all(|character| character.is_ascii_alphanumeric() || !character.is_ascii())
    };
    match bare {
        Some(bare) if is_plain(bare) => format!("{bare}*"),
        Some(bare) => format!("{}*", quoted(bare)),
        None if is_plain(text) => text.to_owned(),
        None => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', ""))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(query: &str) -> Plan {
        Plan::Words(query.to_owned())
    }

    #[test]
    fn meaning_is_kept_and_syntax_is_not() {
        for (typed, query) in [
            ("docker deploy", "docker deploy"),
            ("\"exact phrase\" more", "\"exact phrase\" more"),
            ("docker OR podman NOT lxc", "docker OR podman NOT lxc"),
            ("deploy*", "deploy*"),
            ("my-app.config.ts", "\"my-app.config.ts\""),
            ("chat-send*", "\"chat-send\"*"),
            ("(a) + {b} ^c", "a b c"),
            ("TODO: fix", "TODO fix"),
            ("AND hello OR", "hello"),
            ("a AND OR b", "a AND b"),
            ("** a*b ***", "\"a b\""),
            ("un\"closed quote", "un closed quote"),
            ("NEAR(a b)", "NEAR a b"),
            ("größe", "größe"),
            ("it's", "\"it's\""),
        ] {
            assert_eq!(plan(typed), words(query), "{typed}");
        }
    }

    #[test]
    fn nothing_asks_for_nothing() {
        for typed in ["", "  ", "\"\"", "\" \"", "AND", "* - .", "()", "\0"] {
            assert_eq!(plan(typed), Plan::Nothing, "{typed:?}");
        }
    }

    #[test]
    fn scripts_without_spaces_use_trigrams_or_a_scan() {
        assert_eq!(
            plan("大别山项目"),
            Plan::Trigrams("\"大别山项目\"".to_owned())
        );
        assert_eq!(
            plan("大别山 OR 项目组"),
            Plan::Trigrams("\"大别山\" OR \"项目组\"".to_owned())
        );
        assert_eq!(
            plan("广西 OR 桂林市"),
            Plan::Scan(vec!["广西".to_owned(), "桂林市".to_owned()])
        );
        assert_eq!(
            plan("大别山 ab"),
            Plan::Scan(vec!["大别山".to_owned(), "ab".to_owned()])
        );
    }
}
