//! What hooks add to messages, when it is long: a file has the whole text, the message its beginning and
//! its end (`hooks.output_spill`).

use std::path::{Path, PathBuf};

use hermes_fs::{create_dir_all, random_hex, write_atomic_exact};
use hermes_text::cut;
use serde_json::Value;

/// Characters of an addition that is put into a message as it is.
const MAX_CHARS: u64 = 10_000;
/// Characters that are shown of the beginning and of the end of a longer one.
const PREVIEW: u64 = 500;

/// Where long additions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpill {
    is_enabled: bool,
    max_chars: usize,
    head: usize,
    tail: usize,
    directory: PathBuf,
}

impl OutputSpill {
    /// As the setting `hooks` has it. `user_home` is what `~` stands for.
    pub fn resolve(hooks: Option<&Value>, home: &Path, user_home: &Path) -> Self {
        let setting = |name: &str| hooks?.get("output_spill")?.get(name);
        let number = |name: &str, least: u64, otherwise: u64| {
            let number = setting(name).and_then(Value::as_u64);
            let number = number.filter(|number| *number >= least);
            usize::try_from(number.unwrap_or(otherwise)).unwrap_or(usize::MAX)
        };
        let directory = setting("directory").and_then(Value::as_str);
        Self {
            is_enabled: setting("enabled").and_then(Value::as_bool) != Some(false),
            max_chars: number("max_chars", 1, MAX_CHARS),
            head: number("preview_head", 0, PREVIEW),
            tail: number("preview_tail", 0, PREVIEW),
            directory: match directory.map(str::trim).filter(|text| !text.is_empty()) {
                Some(text) => match text.strip_prefix("~/") {
                    Some(rest) => user_home.join(rest),
                    None => home.join(text),
                },
                None => home.join("hook_outputs"),
            },
        }
    }

    /// The text as it goes into a message of this session.
    pub(crate) fn shortened(&self, text: String, session: &str) -> String {
        let count = text.chars().count();
        if !self.is_enabled || count <= self.max_chars {
            return text;
        }
        let place = match self.save(&text, session) {
            Ok(path) => format!("all of it is in {}", path.display()),
            Err(error) => {
                tracing::warn!(%error, "what a hook added could not be kept");
                "the rest could not be kept".to_owned()
            }
        };
        let mut shown = format!("[A hook added {count} characters; {place}]");
        let before_tail = cut(&text, count.saturating_sub(self.tail));
        let tail = text.strip_prefix(before_tail).unwrap_or_default();
        let head = cut(&text, self.head);
        for (name, part) in [("beginning", head), ("end", tail)] {
            if !part.is_empty() {
                shown.push_str(&format!("\n--- {name} ---\n{part}"));
            }
        }
        shown
    }

    fn save(&self, text: &str, session: &str) -> hermes_fs::Result<PathBuf> {
        let session = session.replace(['/', '\\'], "_").replace("..", "_");
        let session = if session.is_empty() {
            "no-session"
        } else {
            &session
        };
        let directory = self.directory.join(session);
        create_dir_all(&directory, 0o700)?;
        let path = directory.join(format!("{}.txt", random_hex(32)));
        let ending = if text.ends_with('\n') { "" } else { "\n" };
        write_atomic_exact(&path, format!("{text}{ending}").as_bytes(), 0o600)?;
        Ok(path)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests read files directly")]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn long_text_is_kept_in_a_file_and_shown_in_part() {
        let home = tempfile::tempdir().unwrap();
        let hooks =
            json!({"output_spill": {"max_chars": 10, "preview_head": 3, "preview_tail": 2}});
        let spill = OutputSpill::resolve(Some(&hooks), home.path(), home.path());
        assert_eq!(spill.shortened("äöü 123456".into(), "s"), "äöü 123456");
        let shown = spill.shortened("äöü 1234567".into(), "../s");
        let (first, rest) = shown.split_once('\n').unwrap();
        assert_eq!(rest, "--- beginning ---\näöü\n--- end ---\n67");
        let path = first.split(" is in ").nth(1).unwrap().trim_end_matches(']');
        assert!(Path::new(path).starts_with(home.path().join("hook_outputs/__s")));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "äöü 1234567\n");
    }

    #[test]
    fn settings_of_the_wrong_kind_mean_the_usual_values() {
        let home = Path::new("/h");
        let usual = OutputSpill::resolve(None, home, Path::new("/u"));
        let odd = json!({"output_spill": {"max_chars": 0, "preview_head": "x", "directory": 3}});
        assert_eq!(
            OutputSpill::resolve(Some(&odd), home, Path::new("/u")),
            usual
        );
        let off = json!({"output_spill": {"enabled": false, "directory": "~/x"}});
        let off = OutputSpill::resolve(Some(&off), home, Path::new("/u"));
        assert_eq!(off.directory, Path::new("/u/x"));
        let long = "x".repeat(20_000);
        assert_eq!(off.shortened(long.clone(), "s"), long);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_text_short() {
        let hooks = json!({"output_spill": {"max_chars": 10}});
        let spill = OutputSpill::resolve(Some(&hooks), Path::new("/proc/nothing"), Path::new("/"));
        let shown = spill.shortened("x".repeat(5_000), "s");
        assert!(shown.contains("could not be kept"), "{shown}");
        assert!(shown.len() < 1_200);
    }
}
