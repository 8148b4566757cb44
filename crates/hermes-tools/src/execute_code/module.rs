//! The Python module `hermes_tools`: a fixed part, and one function per tool the script may call.

use crate::argument::Argument;
use crate::tool::ToolRegistry;

const HEAD: &str = include_str!("python/head.py");
const HELPERS: &str = include_str!("python/helpers.py");

/// How requests of a script reach us: through a socket, on this machine.
pub(super) const BY_SOCKET: &str = include_str!("python/by_socket.py");
/// The same from a remote host: as files that are fetched.
pub(super) const BY_FILES: &str = include_str!("python/by_files.py");

/// The module for these tools. Names and documentation come from the tables of the tools.
pub(super) fn render(client: &str, registry: &ToolRegistry, allowed: &[&str]) -> String {
    let mut out = [HEAD, "\n\n", client, "\n\n", HELPERS].concat();
    for tool in allowed.iter().filter_map(|name| registry.get(name)) {
        let spec = tool.spec();
        out.push_str(&function(spec.name, spec.arguments));
    }
    out
}

fn function(name: &str, arguments: &[Argument]) -> String {
    let required = arguments.iter().filter(|argument| argument.required);
    let optional = arguments.iter().filter(|argument| !argument.required);
    let parameters: Vec<String> = required
        .map(|argument| argument.name.to_owned())
        .chain(optional.map(|argument| format!("{}=None", argument.name)))
        .collect();
    let passed: Vec<String> = arguments
        .iter()
        .map(|argument| format!("\"{0}\": {0}", argument.name))
        .collect();
    let mut lines = vec![format!("\n\ndef {name}({}):", parameters.join(", "))];
    lines.push(format!("    \"\"\"Calls the tool {name}."));
    lines.push(String::new());
    for argument in arguments {
        // Rust literals without quotes or backslashes of their own, but a table is data all the
        // same.
        let doc = argument.doc.replace('\\', "\\\\").replace('"', "'");
        lines.push(format!("    {}: {doc}", argument.name));
    }
    lines.push("    \"\"\"".to_owned());
    lines.push(format!(
        "    return _call(\"{name}\", {{{}}})",
        passed.join(", ")
    ));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::ArgKind;
    use pretty_assertions::assert_eq;

    #[test]
    fn required_parameters_come_first() {
        let arguments = [
            Argument::optional("limit", ArgKind::Flag, "How \"many\"."),
            Argument::required("path", ArgKind::Text, "Where."),
        ];
        assert_eq!(
            function("look", &arguments),
            "\n\ndef look(path, limit=None):\n    \"\"\"Calls the tool look.\n\n    limit: How \
             'many'.\n    path: Where.\n    \"\"\"\n    return _call(\"look\", {\"limit\": limit, \
             \"path\": path})\n"
        );
    }
}
