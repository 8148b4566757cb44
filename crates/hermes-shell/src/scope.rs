//! What is known while a text is read: values of variables, positional parameters, aliases, the
//! directory, and how much may still be filled in.

use std::collections::HashMap;
use std::rc::Rc;

use crate::known_shell::KnownShell;
use crate::model::Word;

/// Longest value remembered for a variable.
const MAX_VALUE: usize = 4096;

/// What is known at one place of a text. What the text does not say is asked of the shell that will
/// run it.
pub(crate) struct Scope<'s> {
    pub(crate) shell: &'s dyn KnownShell,
    /// `None` for a variable that has been set to something unknown.
    variables: HashMap<String, Option<Vec<String>>>,
    /// Aliases the text defines, and names it gives to programs with `hash -p`.
    pub(crate) aliases: HashMap<String, String>,
    /// `$1` and the following, where they are known.
    pub(crate) positional: Option<Rc<Vec<String>>>,
    /// The current directory, where it is known; may begin with `~`.
    pub(crate) cwd: Option<Rc<str>>,
    budget: usize,
    pub(crate) exhausted: bool,
}

impl<'s> Scope<'s> {
    pub(crate) fn new(shell: &'s dyn KnownShell, budget: usize) -> Self {
        Self {
            shell,
            variables: HashMap::new(),
            aliases: HashMap::new(),
            positional: None,
            cwd: shell.directory().map(Rc::from),
            budget,
            exhausted: false,
        }
    }

    /// Remembers a value; of one that is not constant, that it is unknown.
    pub(crate) fn assign(&mut self, name: &str, words: &[Word]) {
        let size: usize = words.iter().map(|word| word.text.len()).sum();
        let known = !words.iter().any(|word| word.dynamic) && size <= MAX_VALUE;
        let values = || words.iter().map(|word| word.text.clone()).collect();
        self.variables.insert(name.to_owned(), known.then(values));
    }

    /// From here on, nothing is known about a variable.
    pub(crate) fn forget(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), None);
    }

    /// Sets the positional parameters.
    pub(crate) fn set_positional(&mut self, words: &[Word]) {
        let known = !words.iter().any(|word| word.dynamic);
        let values = || Rc::new(words.iter().map(|word| word.text.clone()).collect());
        self.positional = known.then(values);
    }

    /// Drops the first positional parameters, as `shift` does.
    pub(crate) fn shift(&mut self, count: usize) {
        if let Some(values) = self.positional.take() {
            let rest = values.iter().skip(count).cloned().collect();
            self.positional = Some(Rc::new(rest));
        }
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known(name).is_some()
    }

    fn known(&self, name: &str) -> Option<Vec<String>> {
        if let Some(values) = self.positional_value(name) {
            return Some(values);
        }
        if let Some(known) = self.variables.get(name) {
            return known.clone();
        }
        match name {
            // Shown by the sign for the home directory, whichever it is.
            "HOME" | "HERMES_HOME" | "IFS" => None,
            "PWD" => self.cwd.as_deref().map(|cwd| vec![cwd.to_owned()]),
            _ => {
                let value = self.shell.variable(name)?;
                (value.len() <= MAX_VALUE).then(|| vec![value])
            }
        }
    }

    fn positional_value(&self, name: &str) -> Option<Vec<String>> {
        let first = name.bytes().next()?;
        if !matches!(first, b'@' | b'*' | b'#' | b'0'..=b'9') {
            return None;
        }
        let values = self.positional.as_ref()?;
        Some(match name {
            "@" | "*" => values.to_vec(),
            "#" => vec![values.len().to_string()],
            _ => {
                let at = name.parse::<usize>().ok()?.checked_sub(1)?;
                vec![values.get(at).cloned().unwrap_or_default()]
            }
        })
    }

    pub(crate) fn value(&mut self, name: &str) -> Option<Vec<String>> {
        let values = self.known(name)?;
        let size = values.iter().map(|value| value.len() + 1).sum();
        self.spend(size).then_some(values)
    }

    /// Characters besides blanks at which a value is split, where the text says so.
    pub(crate) fn separators(&self) -> Option<&str> {
        let values = self.variables.get("IFS")?.as_ref()?;
        values.first().map(String::as_str)
    }

    /// A text with the variables in it that have one known value.
    pub(crate) fn filled_in(&mut self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let braced = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let (name, rest) = braced.unwrap_or_else(|| {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()))
            });
            match self.value(name).as_deref() {
                Some([value]) => {
                    out.push_str(value);
                    out.push_str(rest);
                }
                _ => {
                    out.push('$');
                    out.push_str(part);
                }
            }
        }
        out
    }

    /// Goes to another directory, as `cd` does; `None` to one that is not known.
    pub(crate) fn enter(&mut self, directory: Option<&str>) {
        self.cwd = match (directory, &self.cwd) {
            (Some(path), _) if path.starts_with(['/', '~']) => Some(path.into()),
            (Some(path), Some(cwd)) => Some(format!("{cwd}/{path}").into()),
            _ => None,
        };
    }

    /// Takes from what may still be read; false when nothing is left.
    pub(crate) fn spend(&mut self, amount: usize) -> bool {
        if amount > self.budget {
            self.exhausted = true;
            return false;
        }
        self.budget -= amount;
        true
    }
}
