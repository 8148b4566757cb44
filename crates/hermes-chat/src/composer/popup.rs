//! Completions under the text: commands after a slash, files and other references after an at sign.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::files::files_below;
use super::fuzzy::matching;
use crate::draw::{Glyphs, Line, Palette, Span, clip, cut_middle};
use crate::setup::CommandName;

/// Rows of a list.
const ROWS: usize = 8;

/// What else can follow an at sign.
const REFERENCES: [(&str, &str); 5] = [
    ("diff", "changes that are not staged"),
    ("staged", "changes that are staged"),
    ("folder:", "the files of a folder"),
    ("git:", "the last N commits"),
    ("url:", "a web page"),
];

/// What is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PopupKind {
    Command,
    Reference,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    /// What replaces the typed text.
    text: String,
    shown: String,
    help: String,
}

/// A list of completions.
#[derive(Debug)]
pub(crate) struct Popup {
    pub(crate) kind: PopupKind,
    /// Bytes before the cursor that a completion replaces.
    typed: usize,
    candidates: Vec<Candidate>,
    chosen: usize,
    more: usize,
}

/// The files of a directory, listed by another thread when first needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileList(Arc<OnceLock<Vec<String>>>);

impl FileList {
    /// What is known by now; asks for the list if nobody did.
    fn known(&self, directory: &Path, when_done: impl FnOnce() + Send + 'static) -> &[String] {
        if self.0.get().is_none() && Arc::strong_count(&self.0) == 1 {
            let list = Arc::clone(&self.0);
            let directory = directory.to_owned();
            // Without a thread there are no files to complete, and nothing else is lost.
            drop(
                std::thread::Builder::new()
                    .name("files".to_owned())
                    .spawn(move || {
                        // Nobody else sets it: there is one such thread.
                        drop(list.set(files_below(&directory)));
                        drop(list);
                        when_done();
                    }),
            );
        }
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

impl Popup {
    /// The list for what stands before the cursor; `None` if nothing is completed there.
    pub(crate) fn open(
        before: &str,
        commands: &[CommandName],
        files: &FileList,
        directory: &Path,
        when_done: impl FnOnce() + Send + 'static,
    ) -> Option<Self> {
        if let Some(typed) = before.strip_prefix('/')
            && !typed.contains(|c: char| c.is_whitespace() || c == '/')
        {
            return Self::of_commands(typed, commands);
        }
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |place| place + 1);
        let word = before.get(start..)?.strip_prefix('@')?;
        let is_other = ["folder:", "git:", "url:"]
            .iter()
            .any(|kind| word.starts_with(kind));
        if is_other {
            return None;
        }
        let typed = word.strip_prefix("file:").unwrap_or(word);
        Self::of_references(word, typed, files.known(directory, when_done))
    }

    fn of_commands(typed: &str, commands: &[CommandName]) -> Option<Self> {
        let names: Vec<&str> = commands
            .iter()
            .map(|command| command.name.as_str())
            .collect();
        let mut found = matching(typed, &names, usize::MAX);
        // What begins with the typed letters comes before what merely has them.
        found.sort_by_key(|index| {
            !names
                .get(*index)
                .is_some_and(|name| name.starts_with(typed))
        });
        if names.contains(&typed) && found.len() == 1 {
            return None;
        }
        let candidates = found.iter().filter_map(|index| {
            let command = commands.get(*index)?;
            Some(Candidate {
                text: format!("/{} ", command.name),
                shown: format!("/{} {}", command.name, command.arguments)
                    .trim_end()
                    .to_owned(),
                help: command.help.clone(),
            })
        });
        Self::of(PopupKind::Command, typed.len() + 1, candidates.collect())
    }

    fn of_references(word: &str, typed: &str, files: &[String]) -> Option<Self> {
        let others = REFERENCES
            .iter()
            .filter(|(name, _)| word.is_empty() || name.starts_with(word) && !word.is_empty());
        let others = others.map(|(name, help)| Candidate {
            text: format!("@{name}{}", if name.ends_with(':') { "" } else { " " }),
            shown: format!("@{name}"),
            help: (*help).to_owned(),
        });
        let paths = matching(typed, files, 200);
        let paths = paths
            .into_iter()
            .filter_map(|index| files.get(index))
            .map(|path| {
                let is_plain = !path.contains(|c: char| c.is_whitespace() || c == '`');
                let named = if is_plain {
                    path.clone()
                } else {
                    format!("`{path}`")
                };
                Candidate {
                    text: format!("@file:{named} "),
                    shown: hermes_text::steady(path),
                    help: String::new(),
                }
            });
        let candidates: Vec<Candidate> = others.chain(paths).collect();
        Self::of(PopupKind::Reference, word.len() + 1, candidates)
    }

    fn of(kind: PopupKind, typed: usize, candidates: Vec<Candidate>) -> Option<Self> {
        if candidates.is_empty() {
            return None;
        }
        let more = candidates.len().saturating_sub(ROWS);
        Some(Self {
            kind,
            typed,
            candidates,
            chosen: 0,
            more,
        })
    }

    /// Chooses the next or the one before.
    pub(crate) fn step(&mut self, down: bool) {
        let count = self.candidates.len();
        let by = if down { 1 } else { count - 1 };
        self.chosen = (self.chosen + by) % count.max(1);
    }

    /// What the choice replaces, and with what.
    pub(crate) fn choice(&self) -> Option<(usize, &str)> {
        let chosen = self.candidates.get(self.chosen)?;
        Some((self.typed, chosen.text.as_str()))
    }

    /// The rows of the list.
    pub(crate) fn rows(&self, width: usize, palette: Palette, glyphs: Glyphs) -> Vec<Line> {
        let first = self.chosen.saturating_sub(ROWS - 1);
        let shown: Vec<&Candidate> = self.candidates.iter().skip(first).take(ROWS).collect();
        let room = width.saturating_sub(4);
        let names = shown
            .iter()
            .map(|one| crate::draw::display_width(&one.shown));
        let column = names.max().unwrap_or(0).min(room);
        let mut rows: Vec<Line> = shown
            .iter()
            .enumerate()
            .map(|(row, candidate)| {
                let is_chosen = first + row == self.chosen;
                let style = if is_chosen {
                    palette.heading()
                } else {
                    palette.plain()
                };
                let sign = if is_chosen { glyphs.prompt } else { " " };
                let name = cut_middle(&candidate.shown, column, glyphs.ellipsis);
                let gap = column.saturating_sub(crate::draw::display_width(&name)) + 2;
                let help = clip(
                    &candidate.help,
                    room.saturating_sub(column + 2),
                    glyphs.ellipsis,
                );
                Line::from(vec![
                    Span::styled(format!("{sign} "), palette.accent()),
                    Span::styled(name, style),
                    Span::from(" ".repeat(gap)),
                    Span::styled(help, palette.faint()),
                ])
            })
            .collect();
        let left = self.candidates.len().saturating_sub(first + ROWS);
        if self.more > 0 && left > 0 {
            let text = format!("  {left} more");
            rows.push(Line::from(Span::styled(text, palette.faint())));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn commands() -> Vec<CommandName> {
        ["new", "model", "retry", "compress"]
            .map(|name| CommandName {
                name: name.to_owned(),
                arguments: String::new(),
                help: format!("does {name}"),
            })
            .to_vec()
    }

    fn first(before: &str, files: &FileList, directory: &Path) -> Option<(usize, String)> {
        let popup = Popup::open(before, &commands(), files, directory, || ())?;
        popup.choice().map(|(typed, text)| (typed, text.to_owned()))
    }

    #[test]
    fn commands_are_found_by_letters() {
        let files = FileList::default();
        let find = |text| first(text, &files, Path::new("/nonexistent"));
        assert_eq!(find("/mo"), Some((3, "/model ".to_owned())));
        assert_eq!(find("/re"), Some((3, "/retry ".to_owned())));
        assert_eq!(find("/model x"), None);
        assert_eq!(find("/etc/hosts"), None);
        assert_eq!(find("/zzz"), None);
        assert_eq!(find("say /mo"), None);
    }

    #[test]
    fn files_are_found_after_an_at_sign() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["src/main.rs", "a b.txt", "README.md"] {
            let path = directory.path().join(name);
            hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
            hermes_fs::write_atomic(&path, b"", 0o600).unwrap();
        }
        let files = FileList(Arc::new(OnceLock::from(files_below(directory.path()))));
        let find = |text| first(text, &files, directory.path());
        assert_eq!(
            find("look at @mrs"),
            Some((4, "@file:src/main.rs ".to_owned()))
        );
        assert_eq!(find("@file:rea"), Some((9, "@file:README.md ".to_owned())));
        assert_eq!(find("@ab"), Some((3, "@file:`a b.txt` ".to_owned())));
        assert_eq!(find("@di"), Some((3, "@diff ".to_owned())));
        assert_eq!(find("mail@example"), None);
        assert_eq!(find("@url:https"), None);
    }
}
