//! Values that stand for another one, in the notations of shells, languages and template engines.

/// What a field of a template is written between.
const FIELDS: &[(&str, &str)] = &[
    ("{{", "}}"),
    ("${", "}"),
    ("$(", ")"),
    ("%(", ")s"),
    ("%{", "}"),
    ("{", "}"),
    ("<", ">"),
];

/// Whether a value consists of nothing but fields of a template and the signs that join them:
/// `{password}`, `${DB_PASS}`, `%(pw)s`, `<your key>`, `{{ user }}-{{ id }}`. The last closing mark may
/// be missing: it may have been taken for punctuation.
pub(super) fn is_template(value: &str) -> bool {
    let mut rest = value;
    let mut fields = 0;
    while !rest.is_empty() {
        rest = match field(rest) {
            Some(behind) => {
                fields += 1;
                behind
            }
            None => match rest.strip_prefix(['-', '_', '.', '/', ':']) {
                Some(behind) if fields > 0 => behind,
                _ => return false,
            },
        };
    }
    fields > 0
}

/// What is behind a field at the start of a text.
fn field(text: &str) -> Option<&str> {
    for (open, close) in FIELDS {
        if let Some(inner) = text.strip_prefix(open) {
            let (name, behind) = match inner.split_once(close) {
                Some(parts) => parts,
                None => (inner.trim_end_matches(['}', ')', '>']), ""),
            };
            return is_field_name(name).then_some(behind);
        }
    }
    if let Some(behind) = text.strip_prefix("%s") {
        return Some(behind);
    }
    let name = text.strip_prefix('$')?;
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    let (name, behind) = name.split_at_checked(end)?;
    // A random string can begin with a dollar sign; names of variables are words.
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && (!name.bytes().any(|byte| byte.is_ascii_lowercase())
            || !name.bytes().any(|byte| byte.is_ascii_digit()));
    is_word.then_some(behind)
}

/// Whether the inside of a field is a name or an expression rather than a random string.
fn is_field_name(name: &str) -> bool {
    let name = name.trim();
    let mut chars = name.chars();
    let starts = chars
        .next()
        .is_none_or(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.'));
    // `{}` and `{0}` are fields too.
    let is_number = name.len() <= 2 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        || starts
            && chars.all(|c| c.is_ascii_alphanumeric() || " _.-!:|()[]?".contains(c))
            && name.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_templates_are_recognised() {
        for value in [
            "{password}",
            "{password",
            "{}",
            "{0}",
            "{self.password!r}",
            "{{ .Values.password }}",
            "{{password}}",
            "${DB_PASS}",
            "${db_pass:-}",
            "$DB_PASS",
            "$password",
            "$(cat pw)",
            "%s",
            "%(password)s",
            "%{password}",
            "<your key>",
            "<password>",
            "{user}-{id}",
        ] {
            assert!(is_template(value), "{value}");
        }
        for value in [
            "",
            "password",
            "hunter2",
            "$2b$12$abcdefghij",
            "$ecret123",
            "{pa\"ss}",
            "x{y}z",
            "{a}hunter2",
            "-",
            "%d",
            "s3cr3t}",
        ] {
            assert!(!is_template(value), "{value}");
        }
    }
}
