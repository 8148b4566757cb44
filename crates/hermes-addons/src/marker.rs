//! Environment markers of locked packages, such as `python_full_version < '3.12'`.
//!
//! Only what locks contain is understood: comparisons of a name with a quoted word, `and`, `or` and
//! parentheses. A marker that is not understood is an error, never a guess.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What an interpreter says of itself, by the names that markers use.
pub(crate) type MarkerValues = BTreeMap<String, String>;

/// Names whose values are compared as versions.
const VERSIONS: [&str; 3] = [
    "python_version",
    "python_full_version",
    "implementation_version",
];

/// Whether a package with this marker is for an interpreter with these values. `None` for a marker
/// that cannot be understood.
pub(crate) fn applies(marker: &str, values: &MarkerValues) -> Option<bool> {
    let tokens = tokens(marker)?;
    let mut parser = Parser {
        tokens: &tokens,
        values,
    };
    let result = parser.any()?;
    parser.tokens.is_empty().then_some(result)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
    Operator(String),
    Open,
    Close,
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => {
                tokens.push(if first == '(' {
                    Token::Open
                } else {
                    Token::Close
                });
                1
            }
            '\'' | '"' => {
                let inner = rest.get(1..)?;
                let end = inner.find(first)?;
                tokens.push(Token::Quoted(inner.get(..end)?.to_owned()));
                end + 2
            }
            '=' | '!' | '<' | '>' => {
                let end = rest.find(|c| !matches!(c, '=' | '!' | '<' | '>'));
                let end = end.unwrap_or(rest.len());
                tokens.push(Token::Operator(rest.get(..end)?.to_owned()));
                end
            }
            _ => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let end = end.unwrap_or(rest.len());
                if end == 0 {
                    return None;
                }
                tokens.push(Token::Word(rest.get(..end)?.to_owned()));
                end
            }
        };
        rest = rest.get(length..)?.trim_start();
    }
    Some(tokens)
}

struct Parser<'a> {
    tokens: &'a [Token],
    values: &'a MarkerValues,
}

impl Parser<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut result = self.all()?;
        while self.takes_word("or") {
            result |= self.all()?;
        }
        Some(result)
    }

    fn all(&mut self) -> Option<bool> {
        let mut result = self.one()?;
        while self.takes_word("and") {
            result &= self.one()?;
        }
        Some(result)
    }

    fn one(&mut self) -> Option<bool> {
        match self.tokens {
            [Token::Open, rest @ ..] => {
                self.tokens = rest;
                let result = self.any()?;
                let [Token::Close, rest @ ..] = self.tokens else {
                    return None;
                };
                self.tokens = rest;
                Some(result)
            }
            [
                Token::Word(name),
                Token::Operator(operator),
                Token::Quoted(wanted),
                rest @ ..,
            ] => {
                self.tokens = rest;
                let value = self.values.get(name)?;
                let order = if VERSIONS.contains(&name.as_str()) {
                    compare_versions(value, wanted)
                } else {
                    value.cmp(wanted)
                };
                holds(operator, order)
            }
            _ => None,
        }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        match self.tokens {
            [Token::Word(found), rest @ ..] if found == word => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}

fn holds(operator: &str, order: Ordering) -> Option<bool> {
    Some(match operator {
        "==" => order == Ordering::Equal,
        "!=" => order != Ordering::Equal,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        ">=" => order != Ordering::Less,
        _ => return None,
    })
}

/// By numbers; a missing one counts as zero.
fn compare_versions(one: &str, other: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        let part = |part: &str| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap_or(0)
        };
        text.split('.').map(part).collect()
    };
    let (mut one, mut other) = (numbers(one), numbers(other));
    let length = one.len().max(other.len());
    one.resize(length, 0);
    other.resize(length, 0);
    one.cmp(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> MarkerValues {
        [
            ("python_full_version", "3.11.9"),
            ("sys_platform", "linux"),
            ("platform_machine", "x86_64"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    #[test]
    fn comparisons_and_their_combinations() {
        for (marker, expected) in [
            ("python_full_version < '3.12'", Some(true)),
            ("python_full_version >= '3.12'", Some(false)),
            ("python_full_version >= '3.9'", Some(true)),
            ("sys_platform == 'win32'", Some(false)),
            ("sys_platform != 'emscripten'", Some(true)),
            (
                "platform_machine == 'arm64' or platform_machine == 'x86_64'",
                Some(true),
            ),
            (
                "python_full_version >= '3.12' and sys_platform == 'linux'",
                Some(false),
            ),
            (
                "sys_platform == 'linux' and (python_full_version < '3.9' or platform_machine == 'x86_64')",
                Some(true),
            ),
            ("unknown_name == 'x'", None),
            ("sys_platform ~= 'x'", None),
            ("sys_platform == 'linux", None),
            ("sys_platform == 'linux' extra", None),
            ("", None),
        ] {
            assert_eq!(applies(marker, &values()), expected, "{marker}");
        }
    }
}
