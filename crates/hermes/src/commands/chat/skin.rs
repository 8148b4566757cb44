//! Skins: named sets of colours, built in or the person's own in `skins/NAME.yaml` of the home.
//!
//! Files are those of the Python runtime; of what it lets them change, colours are used here.

use std::path::Path;

use hermes_chat::{Rgb, Skin};
use hermes_config::yaml::Document;

use crate::ui::one_line;

/// The skin that takes the colours of the terminal's own theme.
pub(super) const DEFAULT: &str = "default";
/// Largest file that is read.
const MAX_FILE: u64 = 256 * 1024;
/// Characters of a description or a wrong value that are shown.
const SHOWN: usize = 60;

/// The built-in skins: name, description, and colours in the order of [`Skin`].
const BUILT_IN: &str = include_str!("skins.tsv");

/// Names, descriptions and colours of the built-in skins.
fn built_in() -> impl Iterator<Item = (&'static str, &'static str, Skin)> {
    let lines = BUILT_IN.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut columns = line.split('\t');
        let (name, description) = (columns.next()?, columns.next()?);
        let mut colour = || columns.next().and_then(parsed);
        let skin = Skin {
            accent: colour(),
            heading: colour(),
            code: colour(),
            good: colour(),
            warning: colour(),
            bad: colour(),
            faint: colour(),
        };
        Some((name, description, skin))
    })
}

/// A skin in the list.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) description: String,
}

/// All skins: the built-in ones, then the person's own.
pub(super) fn all(home: &Path) -> Vec<Listed> {
    let listed = |name: &str, description: &str| Listed {
        name: name.to_owned(),
        description: description.to_owned(),
    };
    let mut all = vec![listed(DEFAULT, "the colours of the terminal")];
    all.extend(built_in().map(|(name, description, _)| listed(name, description)));
    // A directory that is missing has no skins in it.
    let mut names: Vec<String> = hermes_fs::read_dir(&directory(home))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|entry| Some(entry.name.to_str()?.strip_suffix(".yaml")?.to_owned()))
        .filter(|name| is_name(name) && !all.iter().any(|known| known.name == *name))
        .collect();
    names.sort_unstable();
    for name in names {
        let description = match own(&name, home) {
            Ok(Some((_, description))) => description,
            Ok(None) => continue,
            Err(problem) => problem,
        };
        all.push(Listed { name, description });
    }
    all
}

/// The colours of a skin; the person's own file comes before a built-in one of the same name. The
/// error says what is wrong.
pub(super) fn load(name: &str, home: &Path) -> Result<Skin, String> {
    if !is_name(name) {
        return Err(format!("no such skin: '{}'", one_line(name, SHOWN)));
    }
    if let Some((skin, _)) = own(name, home)? {
        return Ok(skin);
    }
    if name == DEFAULT {
        return Ok(Skin::default());
    }
    let found = built_in().find(|(known, ..)| *known == name);
    found
        .map(|(.., skin)| skin)
        .ok_or_else(|| format!("no such skin: '{name}'"))
}

fn directory(home: &Path) -> std::path::PathBuf {
    home.join("skins")
}

fn is_name(name: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_usual)
}

/// A skin of the person: its colours and its description; `None` without such a file.
fn own(name: &str, home: &Path) -> Result<Option<(Skin, String)>, String> {
    let path = directory(home).join(format!("{name}.yaml"));
    if !path.exists() {
        return Ok(None);
    }
    let wrong = |why: String| format!("skins/{name}.yaml: {why}");
    let text = hermes_fs::read_text_capped(&path, MAX_FILE).map_err(|error| error.to_string())?;
    let document = Document::parse(&text).map_err(|error| wrong(error.to_string()))?;
    let file = document.value();
    if !file.is_object() {
        return Err(wrong("not a mapping".to_owned()));
    }
    let colours = &file["colors"];
    if !colours.is_object() && !colours.is_null() {
        return Err(wrong("colors is not a mapping".to_owned()));
    }
    let colour = |keys: &[&str]| -> Result<Option<Rgb>, String> {
        let found = keys.iter().find(|key| !colours[**key].is_null());
        let Some(key) = found else {
            return Ok(None);
        };
        let value = &colours[*key];
        value.as_str().and_then(parsed).map(Some).ok_or_else(|| {
            let value = one_line(&value.to_string(), SHOWN);
            wrong(format!(
                "colors.{key} is {value}; a colour is written \"#RRGGBB\""
            ))
        })
    };
    let skin = Skin {
        accent: colour(&["ui_accent", "banner_accent"])?,
        heading: colour(&["banner_title"])?,
        code: colour(&["ui_label"])?,
        good: colour(&["ui_ok"])?,
        warning: colour(&["ui_warn"])?,
        bad: colour(&["ui_error"])?,
        faint: colour(&["status_bar_dim", "session_border"])?,
    };
    let description = file["description"].as_str().unwrap_or_default();
    Ok(Some((skin, one_line(description, SHOWN))))
}

/// `#RRGGBB` or `#RGB`.
fn parsed(text: &str) -> Option<Rgb> {
    let digits = text.trim().strip_prefix('#')?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        6 => Some(rgb(number)),
        3 => {
            let digit = |shift: u32| u8::try_from((number >> shift & 0xF) * 17).unwrap_or(u8::MAX);
            Some(Rgb(digit(8), digit(4), digit(0)))
        }
        _ => None,
    }
}

fn rgb(number: u32) -> Rgb {
    let [_, red, green, blue] = number.to_be_bytes();
    Rgb(red, green, blue)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colours_are_hexadecimal() {
        assert_eq!(parsed("#FFD700"), Some(Rgb(255, 215, 0)));
        assert_eq!(parsed("#f80"), Some(Rgb(255, 136, 0)));
        for wrong in ["", "#", "FFD700", "#12345", "#GGGGGG", "red", "#+12345"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_built_in_skin_can_be_loaded() {
        let home = tempfile::tempdir().unwrap();
        for listed in all(home.path()) {
            let skin = load(&listed.name, home.path()).unwrap();
            assert_eq!(skin == Skin::default(), listed.name == DEFAULT);
            let colours = [
                skin.accent,
                skin.heading,
                skin.code,
                skin.good,
                skin.warning,
                skin.bad,
                skin.faint,
            ];
            let all_set = colours.iter().all(Option::is_some);
            assert_eq!(all_set, listed.name != DEFAULT, "{}", listed.name);
        }
        assert_eq!(built_in().count(), 8);
        assert!(load("../x", home.path()).is_err());
        assert!(load("nosuch", home.path()).is_err());
    }
}
