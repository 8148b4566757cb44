//! Command substitutions inside words: what runs in them, and what that prints when it is constant.

use tree_sitter::Node;

use crate::escapes::decode_escapes;
use crate::kind::kind;
use crate::model::{Inner, InnerForm, Word, basename};

/// Names kept of one substitution.
const MAX_NAMES: usize = 16;
/// Nodes looked at for them.
const MAX_NODES: usize = 400;

/// Which commands a substitution runs, by name.
pub(crate) fn inner(source: &str, node: Node<'_>) -> Inner {
    let text = source.get(node.byte_range()).unwrap_or_default();
    let form = match kind(node) {
        "process_substitution" => InnerForm::Process,
        _ if text.starts_with('`') => InnerForm::Backtick,
        _ => InnerForm::Dollar,
    };
    let mut names = Vec::new();
    let mut stack = vec![node];
    let mut seen = 0;
    while let Some(node) = stack.pop() {
        seen += 1;
        if seen > MAX_NODES || names.len() >= MAX_NAMES {
            break;
        }
        if kind(node) == "command" {
            // Arguments count too: `sudo curl`, `base64 -d`.
            let words = source.get(node.byte_range()).unwrap_or_default();
            let words = words.split_ascii_whitespace().take(8);
            names.extend(
                words.map(|word| basename(word.trim_matches(['"', '\'', '\\'])).to_owned()),
            );
            continue;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).take(64).collect();
        stack.extend(children.into_iter().rev());
    }
    Inner {
        form,
        names,
        output: None,
    }
}

/// What a command of constant words prints, for the few that only print their words.
pub(crate) fn output(words: &[Word]) -> Option<String> {
    let (name, args) = words.split_first()?;
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    match basename(&name.text) {
        "echo" => {
            let is_flag = |text: &&&str| {
                text.len() > 1
                    && text.starts_with('-')
                    && text.chars().skip(1).all(|c| matches!(c, 'n' | 'e' | 'E'))
            };
            let flags = texts.iter().take_while(is_flag).count();
            let escapes = texts.iter().take(flags).any(|flag| flag.contains('e'));
            let text = texts.get(flags..)?.join(" ");
            Some(if escapes { decode_escapes(&text) } else { text })
        }
        "printf" => {
            let texts = match texts.split_first() {
                Some((&"--", rest)) => rest,
                _ => &texts,
            };
            let (format, args) = texts.split_first()?;
            formatted(format, args)
        }
        "dirname" => texts
            .last()
            .map(|path| match path.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/".to_owned(),
                Some((directory, _)) => directory.to_owned(),
                None if path.starts_with('/') => "/".to_owned(),
                None => ".".to_owned(),
            }),
        "basename" => texts.first().map(|&path| basename(path).to_owned()),
        "realpath" | "readlink" => texts.last().map(|&path| path.to_owned()),
        "which" => args.last().map(|word| word.text.clone()),
        "command" if texts.first() == Some(&"-v") => texts.get(1).map(|&text| text.to_owned()),
        "type"
            if texts
                .first()
                .is_some_and(|flag| matches!(*flag, "-p" | "-P")) =>
        {
            texts.get(1).map(|&text| text.to_owned())
        }
        _ => None,
    }
}

/// `printf` with `%s`, `%b` and `%c` only; the format is used again while words are left.
fn formatted(format: &str, args: &[&str]) -> Option<String> {
    let mut out = String::new();
    let mut args = args.iter();
    loop {
        let before = args.len();
        let mut parts = format.split('%');
        out.push_str(&decode_escapes(parts.next()?));
        let mut percent = false;
        for part in parts {
            if percent {
                percent = false;
                out.push_str(&decode_escapes(part));
                continue;
            }
            let mut chars = part.chars();
            match chars.next() {
                None => {
                    out.push('%');
                    percent = true;
                    continue;
                }
                Some('s') => out.push_str(args.next().unwrap_or(&"")),
                Some('b') => out.push_str(&decode_escapes(args.next().unwrap_or(&""))),
                Some('c') => out.extend(args.next().and_then(|arg| arg.chars().next())),
                Some(_) => return None,
            }
            out.push_str(&decode_escapes(chars.as_str()));
        }
        if args.len() == 0 || args.len() == before || out.len() > 1 << 16 {
            return Some(out);
        }
    }
}
