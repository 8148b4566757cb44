//! Scripts of sed: the commands they run and the files they write.

use crate::model::{Word, is_long};

/// The scripts a call of sed is given.
pub fn scripts(args: &[Word]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut named = false;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        let text = word.text.as_str();
        if let Some(joined) = text.strip_prefix("--expression=") {
            found.push(joined);
            named = true;
        } else if is_long(text, "--expression", 3) && text.starts_with("--") {
            found.extend(args.get(at).map(|word| word.text.as_str()));
            at += 1;
            named = true;
        } else if text.starts_with('-') && !text.starts_with("--") && text.ends_with('e') {
            found.extend(args.get(at).map(|word| word.text.as_str()));
            at += 1;
            named = true;
        } else if text == "-f" || is_long(text, "--file", 4) && text.starts_with("--") {
            at += usize::from(!text.contains('='));
            named = true;
        }
    }
    if !named {
        let first = args.iter().find(|word| !word.text.starts_with('-'));
        found.extend(first.map(|word| word.text.as_str()));
    }
    found
}

/// Shell commands in a script: those of `e`, and what a substitution with the flag `e` puts in place.
pub(crate) fn commands(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(script, |part| {
        if let Part::Runs(text) = part {
            found.push(text);
        }
    });
    found
}

/// Files a script writes to.
pub fn written_files(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(script, |part| {
        if let Part::Writes(file) = part {
            found.push(file);
        }
    });
    found
}

enum Part {
    Runs(String),
    Writes(String),
}

fn walk(script: &str, mut found: impl FnMut(Part)) {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        at = skip_address(&chars, at);
        let Some(&command) = chars.get(at) else { break };
        at += 1;
        match command {
            's' | 'y' => at = substitution(&chars, at, command, &mut found),
            'e' => {
                let (text, end) = line(&chars, at);
                found(Part::Runs(text.trim().to_owned()));
                at = end;
            }
            'w' | 'W' => {
                let (text, end) = line(&chars, at);
                found(Part::Writes(text.trim().to_owned()));
                at = end;
            }
            'a' | 'i' | 'c' => loop {
                let (text, end) = line(&chars, at);
                at = end;
                if !text.ends_with('\\') {
                    break;
                }
            },
            'r' | 'R' | ':' | '#' => at = line(&chars, at).1,
            'b' | 't' | 'T' | 'q' | 'Q' | 'l' | 'L' => {
                while chars
                    .get(at)
                    .is_some_and(|c| !matches!(c, ';' | '\n' | '}'))
                {
                    at += 1;
                }
            }
            _ => {}
        }
    }
}

/// Line numbers, patterns and what stands between them and the command.
fn skip_address(chars: &[char], mut at: usize) -> usize {
    while let Some(&c) = chars.get(at) {
        match c {
            '/' => at = behind_delimiter(chars, at + 1, '/'),
            '\\' => {
                let Some(&delimiter) = chars.get(at + 1) else {
                    return chars.len();
                };
                at = behind_delimiter(chars, at + 2, delimiter);
            }
            'I' | 'M' if at > 0 && chars.get(at - 1) == Some(&'/') => at += 1,
            '0'..='9' | '$' | ',' | '~' | '+' | '!' | ' ' | '\t' | '\n' | ';' | '{' | '}' => {
                at += 1;
            }
            _ => break,
        }
    }
    at
}

/// Behind the next delimiter that is not escaped.
fn behind_delimiter(chars: &[char], mut at: usize, delimiter: char) -> usize {
    while let Some(&c) = chars.get(at) {
        at += 1;
        if c == '\\' {
            at += 1;
        } else if c == delimiter {
            break;
        }
    }
    at
}

fn substitution(chars: &[char], at: usize, command: char, found: &mut impl FnMut(Part)) -> usize {
    let Some(&delimiter) = chars.get(at) else {
        return chars.len();
    };
    let replacement = behind_delimiter(chars, at + 1, delimiter);
    let mut end = behind_delimiter(chars, replacement, delimiter);
    let text: String = chars
        .get(replacement..end.saturating_sub(1))
        .unwrap_or_default()
        .iter()
        .collect();
    while command == 's'
        && let Some(&flag) = chars.get(end)
    {
        match flag {
            'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => end += 1,
            'e' => {
                found(Part::Runs(text.clone()));
                end += 1;
            }
            'w' => {
                let (file, next) = line(chars, end + 1);
                found(Part::Writes(file.trim().to_owned()));
                return next;
            }
            _ => break,
        }
    }
    end
}

/// The rest of the line, and where the next begins.
fn line(chars: &[char], at: usize) -> (String, usize) {
    let rest = chars.get(at..).unwrap_or_default();
    let length = rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
    let text = rest.iter().take(length).collect();
    (text, at + length + 1)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn commands_and_files_of_scripts_are_found() {
        for (script, runs, writes) in [
            ("1e id", vec!["id"], vec![]),
            ("/x/e id; ls", vec!["id; ls"], vec![]),
            ("s/a/id/e", vec!["id"], vec![]),
            ("s|.*|rm x|ge;p", vec!["rm x"], vec![]),
            ("s/a/b/w out", vec![], vec!["out"]),
            ("$!{w a b\n}", vec![], vec!["a b"]),
            ("s/e id/x/", vec![], vec![]),
            ("s/\\/e/x/g; p", vec![], vec![]),
            ("/e id/d", vec![], vec![]),
            ("a\\\ne id", vec![], vec![]),
            ("y/abc/efg/", vec![], vec![]),
            ("s,a,b,;$d", vec![], vec![]),
            ("\\,x,e id", vec!["id"], vec![]),
            ("s/", vec![], vec![]),
            ("", vec![], vec![]),
        ] {
            assert_eq!(commands(script), runs, "{script}");
            assert_eq!(written_files(script), writes, "{script}");
        }
    }
}
