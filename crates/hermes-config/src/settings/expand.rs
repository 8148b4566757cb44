//! `${NAME}` in values.

/// Replaces every `${NAME}` whose name is known; others stay as written.
pub(super) fn expand<'v>(text: &str, lookup: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
    if !text.contains("${") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let known = after
            .split_once('}')
            .and_then(|(name, tail)| Some((lookup(name)?, tail)));
        match known {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
                changed = true;
            }
            None => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let lookup = |name: &str| match name {
            "HOME" => Some("/h"),
            "K" => Some("${HOME}"),
            _ => None,
        };
        let expanded = |text| expand(text, lookup);
        assert_eq!(expanded("${HOME}/x").as_deref(), Some("/h/x"));
        assert_eq!(
            expanded("a${NOPE}b${HOME}${").as_deref(),
            Some("a${NOPE}b/h${")
        );
        assert_eq!(
            expanded("${K}").as_deref(),
            Some("${HOME}"),
            "values are not expanded again"
        );
        assert_eq!(expanded("${NOPE}"), None);
        assert_eq!(expanded("plain"), None);
    }
}
