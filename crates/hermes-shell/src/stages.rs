//! A pipeline of the grammar taken apart as a shell does it.

use tree_sitter::Node;

use crate::kind::kind;

/// The stages of a pipeline, and what follows it. The grammar takes `a | b | c && d` for `a | b |
/// { c && d; }`: a list without braces is never a stage, so what stands in it behind the first operator
/// comes after the pipeline.
pub(crate) fn stages(node: Node<'_>) -> (Vec<Node<'_>>, Vec<Node<'_>>) {
    let (mut found, mut followers) = (Vec::new(), Vec::new());
    let mut left = vec![node];
    while let Some(next) = left.pop() {
        // Only the last one can have more in it.
        if !left.is_empty() || !matches!(kind(next), "pipeline" | "list") {
            found.push(next);
            continue;
        }
        let mut cursor = next.walk();
        let children = next.named_children(&mut cursor);
        let mut children: Vec<Node<'_>> =
            children.filter(|child| kind(*child) != "comment").collect();
        if kind(next) == "list" && !children.is_empty() {
            followers.extend(children.drain(1..).rev());
        }
        left.extend(children.into_iter().rev());
    }
    // Those of the inner lists come first, and were found last.
    followers.reverse();
    (found, followers)
}
