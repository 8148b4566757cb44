//! Pieces of SQL that several queries share, each with its reason.

/// Whether a child goes on where a compacted parent ended (older files). Clocks and races put a few
/// seconds between the two.
macro_rules! continues {
    ($child:literal, $parent:literal) => {
        concat!(
            "(",
            $parent,
            ".end_reason = 'compression' AND ",
            $child,
            ".started_at >= COALESCE(",
            $parent,
            ".ended_at, 0) - 5.0 AND COALESCE(",
            $child,
            ".source, '') <> 'tool' AND ",
            crate::store::fragments::marked!($child, "_branched_from"),
            " IS NULL AND ",
            crate::store::fragments::marked!($child, "_delegate_from"),
            " IS NULL)"
        )
    };
}

/// A mark that the maker of a session left in its settings, which may be no JSON at all.
macro_rules! marked {
    ($session:literal, $mark:literal) => {
        concat!(
            "CASE WHEN json_valid(",
            $session,
            ".model_config) THEN json_extract(",
            $session,
            ".model_config, '$.",
            $mark,
            "') END"
        )
    };
}

pub(crate) use {continues, marked};

/// A pattern for `LIKE … ESCAPE '\'` that means texts beginning with `text`.
pub(super) fn like_prefix(text: &str) -> String {
    format!("{}%", escaped(text))
}

/// A pattern for `LIKE … ESCAPE '\'` that means texts holding `text`.
pub(super) fn like_within(text: &str) -> String {
    format!("%{}%", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '%' | '_') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
