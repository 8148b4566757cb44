//! SQL fragments that several queries share.

/// Whether a child session continues a compacted parent (older files). Clocks and races put a few
/// seconds between the end of one and the start of the other.
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
            crate::store::sql_fragments::session_mark!($child, "_branched_from"),
            " IS NULL AND ",
            crate::store::sql_fragments::session_mark!($child, "_delegate_from"),
            " IS NULL)"
        )
    };
}

/// A mark in the settings of a session, which may not be valid JSON.
macro_rules! session_mark {
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

pub(crate) use {continues, session_mark};

/// A pattern for `LIKE … ESCAPE '\'` that matches texts beginning with `text`.
pub(super) fn like_prefix(text: &str) -> String {
    format!("{}%", escaped(text))
}

/// A pattern for `LIKE … ESCAPE '\'` that matches texts containing `text`.
pub(super) fn like_within(text: &str) -> String {
    format!("%{}%", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('%', r"\%")
        .replace('_', r"\_")
}
