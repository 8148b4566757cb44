//! Whether Python parses, by its grammar and its indentation.
//!
//! The grammar forgives much (it reads Python 2 as well), so some faults go unseen; it is not to
//! see faults where there are none.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::Fault;

/// A parse that takes longer is given up.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The text could not be parsed in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooSlow;

/// The first fault of a text.
pub(super) fn fault(text: &str) -> Result<Option<Fault>, TooSlow> {
    let tree = parse(text).ok_or(TooSlow)?;
    let root = tree.root_node();
    if root.has_error() {
        let fault = bracket_fault(&tree).unwrap_or_else(|| first_error(text, root));
        return Ok(Some(fault));
    }
    Ok(indentation_fault(text, &tree))
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_python::LANGUAGE.into())
        .ok()?;
    let started = Instant::now();
    let mut progress = |_: &ParseState| {
        if started.elapsed() > MAX_TIME {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut progress)),
    )
}

/// Every node, in the order of the text.
fn walk<'t>(tree: &'t Tree, mut visit: impl FnMut(Node<'t>) -> ControlFlow<()>) {
    let mut cursor = tree.walk();
    loop {
        if visit(cursor.node()).is_break() {
            return;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn line_of(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// A bracket without its other half. Brackets in strings and comments are no tokens.
fn bracket_fault(tree: &Tree) -> Option<Fault> {
    let mut open: Vec<(Node<'_>, &str)> = Vec::new();
    let mut found = None;
    walk(tree, |node| {
        if node.child_count() > 0 || node.is_missing() {
            return ControlFlow::Continue(());
        }
        let kind = node.kind();
        let opener = match kind {
            "(" | "[" | "{" => {
                open.push((node, kind));
                return ControlFlow::Continue(());
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => return ControlFlow::Continue(()),
        };
        let reason = match open.pop() {
            Some((_, kind)) if kind == opener => return ControlFlow::Continue(()),
            Some((other, other_kind)) => format!(
                "'{kind}' does not match '{other_kind}' of line {}",
                line_of(other)
            ),
            None => format!("unmatched '{kind}'"),
        };
        found = Some(Fault {
            line: line_of(node),
            reason,
        });
        ControlFlow::Break(())
    });
    found.or_else(|| {
        let (node, kind) = open.pop()?;
        Some(Fault {
            line: line_of(node),
            reason: format!("'{kind}' was never closed"),
        })
    })
}

fn first_error(text: &str, root: Node<'_>) -> Fault {
    let mut node = root;
    // Down to the smallest part that is wrong.
    loop {
        let mut cursor = node.walk();
        let next = node
            .children(&mut cursor)
            .find(|child| child.has_error() || child.is_error() || child.is_missing());
        match next {
            Some(child) => node = child,
            None => break,
        }
    }
    let line = line_of(node);
    let shown: String = text
        .lines()
        .nth(line - 1)
        .unwrap_or_default()
        .trim()
        .chars()
        .take(60)
        .collect();
    let reason = if node.is_missing() && !node.is_named() {
        format!("'{}' is missing in `{shown}`", node.kind())
    } else {
        format!("invalid syntax in `{shown}`")
    };
    Fault { line, reason }
}

/// A block without statements, or statements of one block that do not start in one column.
fn indentation_fault(text: &str, tree: &Tree) -> Option<Fault> {
    let mut found = None;
    walk(tree, |node| {
        if matches!(node.kind(), "block" | "module") {
            found = block_fault(text, node);
        }
        if found.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found
}

fn block_fault(text: &str, block: Node<'_>) -> Option<Fault> {
    let mut cursor = block.walk();
    let statements = block
        .named_children(&mut cursor)
        .filter(|child| child.kind() != "comment");
    let mut indentation = None;
    let mut empty = true;
    for statement in statements {
        empty = false;
        let at = statement.start_byte();
        let line_start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
        let before = text.get(line_start..at)?;
        // One that follows another on its line, or stands behind the colon, starts no line.
        if !before.chars().all(|c| c.is_whitespace() || c == '\u{feff}') {
            continue;
        }
        // A form feed is no indentation, and a line may be continued after its first blanks.
        let before = before.trim_start_matches('\u{c}');
        match indentation {
            None => indentation = Some(before),
            Some(first) if first == before => {}
            Some(_) => {
                return Some(Fault {
                    line: line_of(statement),
                    reason: "the indentation does not fit the lines before".to_owned(),
                });
            }
        }
    }
    let is_body = block.kind() == "block";
    (is_body && empty).then(|| Fault {
        line: line_of(block.parent().unwrap_or(block)),
        reason: "an indented block is missing behind this line".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn found(text: &str) -> Option<(usize, String)> {
        let fault = fault(text).unwrap()?;
        Some((fault.line, fault.reason))
    }

    #[test]
    fn valid_python_of_all_ages_has_no_fault() {
        for text in [
            "",
            "# only a comment\n",
            "x = 1; y = 2\nif x: y = 3\nelse: pass\n",
            "def f(a, /, b, *, c: int = 1) -> None: ...\n",
            "async def f():\n    async with a as b, c:\n        await d\n",
            "match x:\n    case [1, *rest] if rest:\n        pass\n    case _:\n        pass\n",
            "class A[T]:\n    type B = list[T]\n",
            "try:\n    pass\nexcept* (A, B) as e:\n    raise\n",
            "print(f'{a!r:>{width}} {\"b\"}')\n",
            "x = f'{{not a field}}'\n",
            "x = f\"{d[\"a\"]}\"\n",
            "if (n := 10) > 5:\n\tpass\n",
            "x = [\n  1,\n    2,\n]\n",
            "def f():\n    '''doc\n  less\n'''\n    return 1\n",
            "x = 1 + \\\n  2\n",
            "@a.b(c)\nclass D(E, metaclass=F):\n    pass\n",
            "if a:\n    pass\n    # comment\n# comment\nelse:\n    pass\n",
            "with (open(a) as b, open(c) as d):\n    pass\n",
            "lambda *a, **k: (yield)\n",
            "def f():\n\n\n    # c\n    pass\n\n\n\n",
            "x = '''\n)\n'''  # (\n",
            "global_ = é = 1\n",
        ] {
            assert_eq!(found(text), None, "{text:?}");
        }
    }

    #[test]
    fn faults_are_found_with_their_line() {
        for (text, line, reason) in [
            ("x = 1\ny = (2,\nz = 3\n", 2, "'(' was never closed"),
            ("x = [1, 2)\n", 1, "')' does not match '[' of line 1"),
            ("x = 1)\n", 1, "unmatched ')'"),
            ("def f()\n    pass\n", 1, ""),
            ("def f():\npass\n", 1, "an indented block is missing"),
            (
                "def f():\n    x = 1\n      y = 2\n",
                3,
                "the indentation does not fit",
            ),
            ("x = 'abc\ny = 1\n", 1, ""),
            ("for in x:\n    pass\n", 1, ""),
            ("x = = 1\n", 1, "invalid syntax in `x = = 1`"),
            ("if x:\n    pass\nelse\n    pass\n", 3, ""),
            ("import\n", 1, ""),
        ] {
            let (at, message) = found(text).unwrap_or_else(|| panic!("{text:?} parses"));
            assert_eq!(at, line, "{text:?}: {message}");
            assert!(message.contains(reason), "{text:?}: {message}");
        }
    }
}
