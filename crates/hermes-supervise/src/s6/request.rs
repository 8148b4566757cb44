//! What is said between the registrar and those who ask it: one line each way.

use hermes_home::ProfileName;

/// Longest line of either side.
pub(super) const LONGEST: usize = 1024;

/// What the registrar is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(super) profile: ProfileName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Add the slot of a profile.
    Register,
    /// Remove it.
    Unregister,
    /// Let it be down or up at the next start of its supervisor, as its operator wants it, and have
    /// `s6-svscan` look again.
    Rescan,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Unregister => "unregister",
            Self::Rescan => "rescan",
        }
    }
}

impl Request {
    /// Reads a line without its end.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let not_understood =
            || "the message is not `register`, `unregister` or `rescan` and a profile".to_owned();
        let text = std::str::from_utf8(line).map_err(|_| not_understood())?;
        let (word, name) = text.split_once(' ').ok_or_else(not_understood)?;
        let verbs = [Verb::Register, Verb::Unregister, Verb::Rescan];
        let verb = verbs.into_iter().find(|verb| verb.word() == word);
        let verb = verb.ok_or_else(not_understood)?;
        let profile = ProfileName::parse(name).map_err(|error| error.to_string())?;
        if profile.as_str() != name {
            return Err(format!(
                "'{}' is not how the name of a profile is written",
                hermes_text::shown(name, 80)
            ));
        }
        Ok(Self { verb, profile })
    }

    pub(super) fn line(&self) -> String {
        format!("{} {}\n", self.verb.word(), self.profile)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_request_is_read_as_it_is_written() {
        for verb in [Verb::Register, Verb::Unregister, Verb::Rescan] {
            let request = Request {
                verb,
                profile: ProfileName::parse("coder").unwrap(),
            };
            let line = request.line();
            let read = Request::parse(line.trim_end_matches('\n').as_bytes());
            assert_eq!(read, Ok(request));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("register {}", "a".repeat(65));
        let others: [&[u8]; 13] = [
            b"",
            b"register",
            b"register ",
            b"register ../x",
            b"register /etc",
            b"register a/b",
            b"register Coder",
            b"register  coder",
            b"register coder now",
            b"remove coder",
            b"REGISTER coder",
            b"register \xff\xfe",
            long.as_bytes(),
        ];
        for line in others {
            assert!(Request::parse(line).is_err(), "{line:?}");
        }
    }
}
