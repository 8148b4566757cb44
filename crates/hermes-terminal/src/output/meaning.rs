//! What an exit code means where it is no failure, or a failure of a known kind.
//!
//! The code of a list is that of its last command. Finding that command here is good enough for a
//! hint and must never be used for a decision: where the text is not simple, there is no hint.

/// A hint for the exit code of a command; `None` for 0 and for codes nobody can explain.
pub fn exit_code_meaning(command: &str, exit_code: i32) -> Option<&'static str> {
    if exit_code == 0 {
        return None;
    }
    let general = match exit_code {
        126 => Some("the command or its directory cannot be executed or entered"),
        127 => Some("command not found"),
        137 => Some("killed by SIGKILL, perhaps for want of memory"),
        -9 => Some("the shell was killed by SIGKILL, perhaps for want of memory"),
        -15 => Some("the shell was ended by SIGTERM"),
        _ => None,
    };
    general.or_else(|| of_program(last_program(command)?, exit_code))
}

fn of_program(program: &str, exit_code: i32) -> Option<&'static str> {
    let meaning = match (program, exit_code) {
        ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", 1) => "no matches (not an error)",
        ("diff" | "colordiff", 1) => "the files differ (not an error)",
        ("find", 1) => "some directories could not be read; the results may be partial",
        ("test" | "[", 1) => "the condition is false (not an error)",
        ("curl", 6) => "the host name could not be resolved",
        ("curl", 7) => "the connection failed",
        ("curl", 22) => "the server answered with an HTTP error",
        ("curl", 28) => "the request timed out",
        ("git", 1) => "often normal: for example, git diff found changes",
        _ => return None,
    };
    Some(meaning)
}

/// The program of the last command in a list, without its directory.
fn last_program(command: &str) -> Option<&str> {
    // The body of a here-document is no command.
    if command.contains("<<") {
        return None;
    }
    let mut words = words_of_last_command(command)?.into_iter();
    let program = words.find(|word| !is_assignment(word))?;
    program.rsplit('/').next().filter(|name| !name.is_empty())
}

/// The words of the text after the last operator outside quotes; `None` for unfinished quotes.
fn words_of_last_command(command: &str) -> Option<Vec<&str>> {
    let mut words: Vec<&str> = Vec::new();
    let mut start: Option<usize> = None;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut fresh = false;
    let mut characters = command.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        if escaped {
            escaped = false;
            continue;
        }
        let in_word = !matches!(
            (quote, character),
            (None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')')
        );
        if in_word && start.is_none() {
            if std::mem::take(&mut fresh) {
                words.clear();
            }
            start = Some(place);
        }
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"') | None, '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(character),
            (None, '#') if start == Some(place) => {
                // A comment runs to the end of its line.
                start = None;
                while characters.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            (None, _) if !in_word => {
                let word = start.take().and_then(|start| command.get(start..place));
                // `>&` and `&>` join descriptors, not commands.
                let joins = character == '&'
                    && (word.is_some_and(|word| word.ends_with('>'))
                        || characters.peek().is_some_and(|(_, next)| *next == '>'));
                words.extend(word);
                fresh |= !joins && !matches!(character, ' ' | '\t');
            }
            (None | Some(_), _) => {}
        }
    }
    if quote.is_some() || escaped {
        return None;
    }
    words.extend(start.and_then(|start| command.get(start..)));
    Some(words)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn the_last_command_of_a_list_decides() {
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
            ("ls # ; grep", Some("ls")),
            ("ls \\; grep", Some("ls")),
            ("cat <<E\ngrep\nE", None),
            ("echo 'open", None),
            ("A=1", None),
            ("", None),
        ] {
            assert_eq!(last_program(command), expected, "{command:?}");
        }
    }

    #[test]
    fn codes_get_their_meaning() {
        assert!(exit_code_meaning("grep x f", 1).is_some());
        assert_eq!(exit_code_meaning("grep x f", 2), None);
        assert_eq!(exit_code_meaning("grep x f", 0), None);
        assert_eq!(exit_code_meaning("echo grep", 1), None);
        assert_eq!(exit_code_meaning("x", 127), Some("command not found"));
        assert!(exit_code_meaning("x", -9).is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-z'\"\\\\ ;|&()#<>\\n=é]{0,40}") {
            let _: Option<&str> = last_program(&text);
        }
    }
}
