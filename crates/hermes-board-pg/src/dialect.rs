//! The statements of boards, as PostgreSQL understands them.
//!
//! They are written for SQLite and portable but for five things: how parameters are marked and compared
//! with what may be null, how a list in JSON becomes rows, how a key of an object is read, and a plus
//! before columns. Each is found by its exact form, so that a
//! new form fails in the first test that runs it.

/// Rewrites a statement.
pub(crate) fn translate(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    let mut rest = sql;
    let mut in_text = false;
    while let Some(sign) = rest.chars().next() {
        if sign == '\'' {
            in_text = !in_text;
        }
        if !in_text {
            if let Some((translated, after)) = each(rest)
                .or_else(|| extract(rest))
                .or_else(|| is_null(rest))
            {
                out.push_str(&translated);
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix(" IS ?") {
                out.push_str(" IS NOT DISTINCT FROM $");
                rest = after;
                continue;
            }
            if sign == '?' {
                out.push('$');
                rest = skip(rest, 1);
                continue;
            }
            // A plus before a column keeps SQLite from using an index; there is none for texts here.
            if sign == '+' && skip(rest, 1).starts_with(|next: char| next.is_ascii_alphabetic()) {
                rest = skip(rest, 1);
                continue;
            }
        }
        out.push(sign);
        rest = skip(rest, sign.len_utf8());
    }
    out
}

/// `json_each(?1)`, with or without the name `j` behind it.
fn each(text: &str) -> Option<(String, &str)> {
    let (argument, rest) = text.strip_prefix("json_each(")?.split_once(')')?;
    let (name, rest) = match rest.strip_prefix(" j") {
        Some(after) if !after.starts_with(|sign: char| sign.is_alphanumeric()) => ("j", after),
        _ => ("listed", rest),
    };
    let argument = argument.replace('?', "$");
    let rows = format!(
        "json_array_elements_text(CAST(CAST({argument} AS text) AS json)) \
         WITH ORDINALITY AS {name}(value, key)"
    );
    Some((rows, rest))
}

/// `json_extract(column, '$.key')`.
fn extract(text: &str) -> Option<(String, &str)> {
    let (inside, rest) = text.strip_prefix("json_extract(")?.split_once(')')?;
    let (column, path) = inside.split_once(", '$.")?;
    let key = path.strip_suffix('\'')?;
    Some((format!("(CAST({column} AS json) ->> '{key}')"), rest))
}

/// `?1 IS NULL`, which says nothing about the type; all parameters that may be missing are texts.
fn is_null(text: &str) -> Option<(String, &str)> {
    let (number, rest) = text.strip_prefix('?')?.split_once(" IS NULL")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (format!("CAST(${number} AS text) IS NULL"), rest))
}

fn skip(text: &str, bytes: usize) -> &str {
    text.get(bytes..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn parameters_lists_and_keys_are_rewritten_and_texts_are_not() {
        for (given, wanted) in [
            ("ORDER BY +e.id + 1", "ORDER BY e.id + 1"),
            ("?3 IS NULL OR a = ?3", "CAST($3 AS text) IS NULL OR a = $3"),
            (
                "a IS ?2 AND b IS NULL",
                "a IS NOT DISTINCT FROM $2 AND b IS NULL",
            ),
            ("a = ?1 AND b <> 'w?y'", "a = $1 AND b <> 'w?y'"),
            (
                "x IN (SELECT value FROM json_each(?2))",
                "x IN (SELECT value FROM json_array_elements_text(CAST(CAST($2 AS text) AS json)) \
                 WITH ORDINALITY AS listed(value, key))",
            ),
            (
                "FROM json_each(?1) j JOIN t",
                "FROM json_array_elements_text(CAST(CAST($1 AS text) AS json)) \
                 WITH ORDINALITY AS j(value, key) JOIN t",
            ),
            (
                "json_extract(e.payload, '$.status') = 'x'",
                "(CAST(e.payload AS json) ->> 'status') = 'x'",
            ),
        ] {
            assert_eq!(translate(given), wanted);
        }
    }
}
