//! The three searches over all messages that were not undone.
//!
//! Parameters: 1 the query, 2 sources, 3 sources left out, 4 roles (each a JSON array), 5 order
//! (1 newest first, 2 oldest first, 0 best first), 6 limit, 7 offset.

/// The part that all searches share.
macro_rules! hits {
    ($snippet:literal, $from:literal, $condition:literal, $rank:literal) => {
        concat!(
            // Not the whole message: sorting keeps every selected column in memory.
            "SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, m.compacted, ",
            $snippet,
            " AS snippet, s.source AS source, s.model AS model, s.started_at AS session_started
             FROM ",
            $from,
            " JOIN sessions s ON s.id = m.session_id
             WHERE ",
            $condition,
            " AND (m.active IS NOT 0 OR m.compacted = 1)
              AND (?2 = '[]' OR s.source IN (SELECT value FROM json_each(?2)))
              AND s.source NOT IN (SELECT value FROM json_each(?3))
              AND (?4 = '[]' OR m.role IN (SELECT value FROM json_each(?4)))
             ORDER BY CASE ?5 WHEN 1 THEN -m.timestamp WHEN 2 THEN m.timestamp END, ",
            $rank,
            " LIMIT ?6 OFFSET ?7"
        )
    };
}

/// Search in the index of words.
pub(super) const WORDS: &str = hits!(
    "snippet(messages_fts, 0, '>>>', '<<<', '...', 40)",
    "messages_fts JOIN messages m ON m.id = messages_fts.rowid",
    "messages_fts MATCH ?1",
    "messages_fts.rank"
);

/// Search in the index of trigrams.
pub(super) const TRIGRAMS: &str = hits!(
    "snippet(messages_fts_trigram, 0, '>>>', '<<<', '...', 40)",
    "messages_fts_trigram JOIN messages m ON m.id = messages_fts_trigram.rowid",
    "messages_fts_trigram MATCH ?1",
    "messages_fts_trigram.rank"
);

/// Scan of every message; the query is a JSON array of patterns of which one must match.
pub(super) const SCAN: &str = hits!(
    "m.content",
    "messages m",
    "EXISTS (SELECT 1 FROM json_each(?1) wanted
         WHERE COALESCE(m.content, '') || ' ' || COALESCE(m.tool_name, '') || ' '
             || COALESCE(m.tool_calls, '') LIKE wanted.value ESCAPE '\\')",
    "m.id"
);
