//! Names of the nodes of a syntax tree. Asking a node measures and checks its name anew each time, and
//! the walk asks several times for every node.

use std::sync::LazyLock;

use tree_sitter::{Language, Node};

static LANGUAGE: LazyLock<Language> = LazyLock::new(|| Language::from(tree_sitter_bash::LANGUAGE));

/// All names, by the number of the kind.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let language: &'static Language = &LANGUAGE;
    let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
    let name = |id: u16| language.node_kind_for_id(id).unwrap_or_default();
    (0..count).map(name).collect()
});

/// The name of a node's kind.
pub(crate) fn kind(node: Node<'_>) -> &str {
    match NAMES.get(usize::from(node.kind_id())) {
        Some(&name) => name,
        // What the grammar does not fit has a number of its own, far behind all others.
        None => node.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn names_are_those_that_nodes_give_themselves() {
        let text = "f() { cd \"$HOME\" && a=(1 2); }; if [[ -n ${x:-y} ]]; then cat <<E | sort >&2; fi\n\
                    $(f `g`)\nE\nfor x in {a,b}; do ((x++)); done & case x in y) ;; esac ) ) \\\n <<< 'z'\n";
        let tree = parse(text).unwrap();
        let mut stack = vec![tree.root_node()];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(node) = stack.pop() {
            assert_eq!(kind(node), node.kind());
            seen.insert(kind(node));
            let mut cursor = node.walk();
            stack.extend(node.children(&mut cursor));
        }
        assert!(seen.len() > 30 && seen.contains("ERROR"), "{seen:?}");
    }
}
