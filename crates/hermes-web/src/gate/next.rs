//! Where to go after a login: a page of this dashboard, and nowhere else.

/// A path of this dashboard, or its first page.
pub(crate) fn safe_next(wanted: Option<&str>) -> String {
    let is_safe = |path: &str| {
        let starts = |prefix: &str| {
            let rest = path.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
        };
        // Browsers read a backslash as a slash, and drop tabs and line ends.
        path.starts_with('/')
            && !path.starts_with("//")
            && path.len() <= 2_048
            && !path.contains('\\')
            && !path
                .chars()
                .any(|letter| letter.is_control() || letter == ' ')
            && !path.split(['/', '?', '#']).any(|part| part == "..")
            && !["/login", "/auth", "/api"]
                .iter()
                .any(|prefix| starts(prefix))
    };
    match wanted {
        Some(path) if is_safe(path) => path.to_owned(),
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_own_pages_are_gone_to() {
        for own in ["/", "/sessions?q=a%20b", "/board#card", "/loginx", "/apix"] {
            assert_eq!(safe_next(Some(own)), own);
        }
        let others = [
            "",
            "//evil.com",
            "/\\evil.com",
            "/\t/evil.com",
            "https://evil.com",
            "evil.com",
            "/login",
            "/login?next=/",
            "/auth/logout",
            "/api/status",
            "/a/../api/x",
            "/\r\nX: y",
            "javascript:alert(1)",
            "/%5Cevil\\",
            "\\/evil",
        ];
        for other in others {
            assert_eq!(safe_next(Some(other)), "/", "{other:?}");
        }
        assert_eq!(safe_next(None), "/");
    }
}
