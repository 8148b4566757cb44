//! The names that tools of servers have here.

/// What every name of a tool of a server begins with.
const PREFIX: &str = "mcp__";

/// `mcp__<server>__<tool>`, with everything but letters, digits and `_` as `_`.
pub fn tool_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{}__{}", component(server), component(tool))
}

/// The toolset of a server.
pub fn toolset_name(server: &str) -> String {
    format!("mcp-{server}")
}

/// A part of a name that every provider accepts.
pub(crate) fn component(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let letters = text.chars();
    letters.map(|c| if is_plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_providers_refuse_become_underscores() {
        assert_eq!(
            tool_name("my-server", "read.file"),
            "mcp__my_server__read_file"
        );
        assert_eq!(tool_name("é", "a b"), "mcp_____a_b");
        assert_eq!(toolset_name("my-server"), "mcp-my-server");
    }
}
