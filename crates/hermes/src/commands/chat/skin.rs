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

/// A built-in skin: name, description, and colours in the order of [`Skin`].
type BuiltIn = (&'static str, &'static str, [u32; 7]);

const BUILT_IN: [BuiltIn; 8] = [
    (
        "ares",
        "crimson and bronze",
        [
            0xDD_4A3A, 0xC7_A96B, 0xC7_A96B, 0x4C_AF50, 0xFF_A726, 0xEF_5350, 0x8F_7463,
        ],
    ),
    (
        "mono",
        "shades of grey",
        [
            0xAA_AAAA, 0xE6_EDF3, 0xC9_D1D9, 0x88_8888, 0x99_9999, 0xCC_CCCC, 0x77_7777,
        ],
    ),
    (
        "slate",
        "cool blue",
        [
            0x7E_B8F6, 0x7E_B8F6, 0x8E_A8FF, 0x63_D0A6, 0xE6_A855, 0xF7_A072, 0x6B_7585,
        ],
    ),
    (
        "daylight",
        "for light terminals, blue",
        [
            0x25_63EB, 0x0F_172A, 0x0F_766E, 0x15_803D, 0xB4_5309, 0xB9_1C1C, 0x64_748B,
        ],
    ),
    (
        "warm-lightmode",
        "for light terminals, brown and gold",
        [
            0x8B_4513, 0x5C_3D11, 0x5C_3D11, 0x2E_7D32, 0xE6_5100, 0xC6_2828, 0x8B_7355,
        ],
    ),
    (
        "poseidon",
        "deep blue and seafoam",
        [
            0x5D_B8F5, 0xA9_DFFF, 0xA9_DFFF, 0x4C_AF50, 0xFF_A726, 0xEF_5350, 0x5F_83A4,
        ],
    ),
    (
        "sisyphus",
        "austere grey",
        [
            0xE7_E7E7, 0xF5_F5F5, 0xD3_D3D3, 0x91_9191, 0xB7_B7B7, 0xE7_E7E7, 0x80_8080,
        ],
    ),
    (
        "charizard",
        "burnt orange and ember",
        [
            0xF2_9C38, 0xFF_D39A, 0xFF_D39A, 0x4C_AF50, 0xFF_A726, 0xEF_5350, 0x93_6A3F,
        ],
    ),
];

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
    all.extend(
        BUILT_IN
            .iter()
            .map(|(name, description, _)| listed(name, description)),
    );
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
    let found = BUILT_IN.iter().find(|(known, ..)| *known == name);
    let Some((_, _, colours)) = found else {
        return Err(format!("no such skin: '{name}'"));
    };
    let [accent, heading, code, good, warning, bad, faint] =
        colours.map(|colour| Some(rgb(colour)));
    Ok(Skin {
        accent,
        heading,
        code,
        good,
        warning,
        bad,
        faint,
    })
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
        }
        assert!(load("../x", home.path()).is_err());
        assert!(load("nosuch", home.path()).is_err());
    }
}
