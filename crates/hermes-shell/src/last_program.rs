//! Whose exit code a shell line gives back, where that is plain to see.
//!
//! For hints only, never for a decision: where the answer depends on what happens (loops, branches,
//! negations) or is not a plain word, there is none.

use tree_sitter::Node;

use crate::kind::kind;
use crate::model::basename;
use crate::parse::parse;

/// The program whose exit code a command line gives back, without its directory, where that is plain
/// to see: the last of a list or pipeline.
pub fn last_program(command: &str) -> Option<&str> {
    if command.len() > crate::analysis::MAX_COMMAND_CHARS {
        return None;
    }
    let tree = parse(command)?;
    let mut node = tree.root_node();
    if node.has_error() {
        return None;
    }
    loop {
        node = match kind(node) {
            "program" | "list" | "pipeline" | "subshell" | "compound_statement" => {
                last_statement(node)?
            }
            "redirected_statement" => node.child_by_field_name("body")?,
            "command" => {
                let name = node.child_by_field_name("name")?;
                let name = command.get(name.byte_range())?;
                let is_plain = |byte: u8| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+')
                };
                return name
                    .bytes()
                    .all(is_plain)
                    .then(|| basename(name))
                    .filter(|name| !name.is_empty());
            }
            // `[ -f x ]`
            "test_command" => {
                return command
                    .get(node.byte_range())
                    .filter(|text| text.starts_with("[ "))
                    .map(|_| "[");
            }
            _ => return None,
        };
    }
}

fn last_statement(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let statements = node.named_children(&mut cursor);
    statements.filter(|child| kind(*child) != "comment").last()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn last_program_is_that_of_the_last_command() {
        for (command, expected) in [
            ("grep x file", Some("grep")),
            ("cat f | /usr/bin/grep -q 'a | b; c'", Some("grep")),
            ("cd /x && LC_ALL=C A=1 grep x", Some("grep")),
            ("grep x; echo \"a && b\"", Some("echo")),
            ("a || b\ndiff c d\n", Some("diff")),
            ("ls & test -f x", Some("test")),
            ("ls > out 2>&1", Some("ls")),
            ("ls &> out", Some("ls")),
            ("(cd x; find .)", Some("find")),
            ("{ cd x; find .; } > out", Some("find")),
            ("ls # ; grep", Some("ls")),
            ("ls \\; grep", Some("ls")),
            ("[ -f x ]", Some("[")),
            ("cat <<E\ngrep\nE", Some("cat")),
            ("echo $(grep x f)", Some("echo")),
            // What these give back depends on what happens, or is not known.
            ("[[ -f x ]]", None),
            ("if grep x f; then diff a b; fi", None),
            ("for i in a; do grep $i f; done", None),
            ("! grep x f", None),
            ("f() { grep x; }", None),
            ("$GREP x f", None),
            ("'grep' x f", None),
            ("echo 'open", None),
            ("A=1", None),
            ("", None),
        ] {
            assert_eq!(last_program(command), expected, "{command:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-z'\"\\\\ ;|&()#<>\\n=é]{0,40}") {
            let _: Option<&str> = last_program(&text);
        }
    }
}
