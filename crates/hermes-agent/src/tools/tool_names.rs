//! Recognises tool names that a model writes slightly differently.

/// Minimum similarity of names, of 1.
const MIN_SIMILARITY: f32 = 0.7;

/// The known tool that `written` refers to, if any.
pub(crate) fn intended_tool<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let find = |name: &str| known.iter().copied().find(|tool| *tool == name);
    if let Some(exact) = find(written) {
        return Some(exact);
    }
    // Version 0.15 had `mcp_server_tool` for what is `mcp__server__tool` now.
    if written.starts_with("mcp_") {
        let old = |tool: &&'a str| tool.starts_with("mcp__") && tool.replace("__", "_") == written;
        if let Some(found) = known.iter().copied().find(old) {
            return Some(found);
        }
    }
    let mut plain = snake_case(written);
    if let Some(found) = find(&plain) {
        return Some(found);
    }
    for _ in 0..2 {
        let Some(shorter) = plain.strip_suffix("_tool") else {
            break;
        };
        plain = shorter.to_owned();
        if let Some(found) = find(&plain) {
            return Some(found);
        }
    }
    closest(&plain, known)
}

fn closest<'a>(plain: &str, known: &[&'a str]) -> Option<&'a str> {
    // Long texts are not names and expensive to compare.
    if plain.is_empty() || plain.len() > 64 {
        return None;
    }
    let ratio = |tool: &'a str| (similar::TextDiff::from_chars(plain, tool).ratio(), tool);
    // The first of equally similar ones.
    let similar = known.iter().rev().copied().map(ratio);
    let similar = similar.filter(|(ratio, _)| *ratio >= MIN_SIMILARITY);
    let best = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, tool)| tool)
}

/// `ReadFile`, `read-file` and `Read File` are `read_file`.
fn snake_case(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for letter in name.trim().chars() {
        match letter {
            '-' | ' ' | '.' => {
                plain.push('_');
                after_lower = false;
            }
            letter if letter.is_uppercase() => {
                if after_lower {
                    plain.push('_');
                }
                plain.extend(letter.to_lowercase());
                after_lower = false;
            }
            letter => {
                plain.push(letter);
                after_lower = letter.is_lowercase() || letter.is_ascii_digit();
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn spellings_of_a_tool_name_are_recognised() {
        let known = ["terminal", "read_file", "search_files", "write_file"];
        for (written, expected) in [
            ("terminal", Some("terminal")),
            ("Terminal_Tool", Some("terminal")),
            ("TerminalTool_tool", Some("terminal")),
            ("ReadFile", Some("read_file")),
            ("read-file", Some("read_file")),
            ("read file", Some("read_file")),
            ("READ_FILE", Some("read_file")),
            ("search_file", Some("search_files")),
            ("nosuchtool", None),
            ("", None),
            ("_tool_tool_tool", None),
        ] {
            assert_eq!(intended_tool(written, &known), expected, "{written}");
        }
        assert_eq!(intended_tool(&"x".repeat(100_000), &known), None);
    }
}
