//! From search text to a full-text query.
//!
//! Quoted phrases and the words AND, OR and NOT keep their meaning; everything else that FTS5 would
//! read as syntax is removed or quoted. The resulting query is never empty and never ends in an
//! operator.

/// Characters of the search text that count.
const MAX_CHARS: usize = 2048;
/// Letters that the trigram index needs.
const TRIGRAM: usize = 3;

/// How to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SearchPlan {
    Nothing,
    /// A query for the index of words.
    Words(String),
    /// A query for the index of trigrams.
    Trigrams(String),
    /// Texts to look for in every message, too short for either index.
    Scan(Vec<String>),
}

/// A piece of the search text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QueryPiece {
    /// Words in quotes, without them.
    Phrase(String),
    /// A bare word, possibly with a `*` behind it.
    Word(String),
    Operator(&'static str),
}

/// Decides how to search for a text.
pub(crate) fn plan(typed: &str) -> SearchPlan {
    let typed: String = typed.chars().take(MAX_CHARS).collect();
    let pieces = without_dangling_operators(pieces(&typed));
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            QueryPiece::Phrase(text) | QueryPiece::Word(text) => Some(text.trim_end_matches('*')),
            QueryPiece::Operator(_) => None,
        })
        .collect();
    if texts.is_empty() {
        return SearchPlan::Nothing;
    }
    if texts.iter().all(|text| cjk_count(text) == 0) {
        return SearchPlan::Words(render(&pieces, word));
    }
    let is_short = |text: &&&str| {
        let count = cjk_count(text);
        count > 0 && count < TRIGRAM
    };
    // Every text must be long enough, or the index finds nothing at all.
    if texts.iter().any(|text| is_short(&text)) || texts.iter().any(|t| t.chars().count() < TRIGRAM)
    {
        return SearchPlan::Scan(texts.into_iter().map(str::to_owned).collect());
    }
    SearchPlan::Trigrams(render(&pieces, |text| quoted(text.trim_end_matches('*'))))
}

fn pieces(typed: &str) -> Vec<QueryPiece> {
    let mut pieces = Vec::new();
    let mut rest = typed;
    while let Some((before, after)) = rest.split_once('"') {
        add_words(&mut pieces, before);
        match after.split_once('"') {
            Some((phrase, behind)) => {
                // A phrase without letters matches nothing and may be no phrase for FTS5.
                if phrase.chars().any(char::is_alphanumeric) {
                    pieces.push(QueryPiece::Phrase(phrase.trim().to_owned()));
                }
                rest = behind;
            }
            // An unclosed quote is ignored.
            None => rest = after,
        }
    }
    add_words(&mut pieces, rest);
    pieces
}

fn add_words(pieces: &mut Vec<QueryPiece>, text: &str) {
    let is_syntax = |character: char| {
        character.is_whitespace() || character.is_control() || "+{}():^".contains(character)
    };
    for word in text.split(is_syntax) {
        match word {
            "AND" => pieces.push(QueryPiece::Operator("AND")),
            "OR" => pieces.push(QueryPiece::Operator("OR")),
            "NOT" => pieces.push(QueryPiece::Operator("NOT")),
            word => {
                let bare = word.trim_matches('*');
                if bare.chars().any(char::is_alphanumeric) {
                    let star = if word.ends_with('*') { "*" } else { "" };
                    pieces.push(QueryPiece::Word(format!(
                        "{}{star}",
                        bare.replace('*', " ").trim()
                    )));
                }
            }
        }
    }
}

/// Keeps only operators that stand between two texts.
fn without_dangling_operators(pieces: Vec<QueryPiece>) -> Vec<QueryPiece> {
    let mut kept: Vec<QueryPiece> = Vec::new();
    for piece in pieces {
        let is_operator = matches!(piece, QueryPiece::Operator(_));
        if is_operator
            && !matches!(
                kept.last(),
                Some(QueryPiece::Phrase(_) | QueryPiece::Word(_))
            )
        {
            continue;
        }
        kept.push(piece);
    }
    while matches!(kept.last(), Some(QueryPiece::Operator(_))) {
        kept.pop();
    }
    kept
}

fn render(pieces: &[QueryPiece], from_word: impl Fn(&str) -> String) -> String {
    let parts: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            QueryPiece::Phrase(text) => quoted(text),
            QueryPiece::Word(text) => from_word(text),
            QueryPiece::Operator(word) => (*word).to_owned(),
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

/// Whether a character belongs to Chinese, Japanese or Korean text.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{20000}'..='\u{2a6df}')
}

/// Number of CJK characters in a text.
fn cjk_count(text: &str) -> usize {
    text.chars().filter(|character| is_cjk(*character)).count()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(query: &str) -> SearchPlan {
        SearchPlan::Words(query.to_owned())
    }

    #[test]
    fn phrases_and_operators_are_kept_and_other_syntax_removed() {
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
    fn text_without_letters_searches_nothing() {
        for typed in ["", "  ", "\"\"", "\" \"", "AND", "* - .", "()", "\0"] {
            assert_eq!(plan(typed), SearchPlan::Nothing, "{typed:?}");
        }
    }

    #[test]
    fn scripts_without_spaces_use_trigrams_or_a_scan() {
        assert_eq!(
            plan("大别山项目"),
            SearchPlan::Trigrams("\"大别山项目\"".to_owned())
        );
        assert_eq!(
            plan("大别山 OR 项目组"),
            SearchPlan::Trigrams("\"大别山\" OR \"项目组\"".to_owned())
        );
        assert_eq!(
            plan("广西 OR 桂林市"),
            SearchPlan::Scan(vec!["广西".to_owned(), "桂林市".to_owned()])
        );
        assert_eq!(
            plan("大别山 ab"),
            SearchPlan::Scan(vec!["大别山".to_owned(), "ab".to_owned()])
        );
    }
}
