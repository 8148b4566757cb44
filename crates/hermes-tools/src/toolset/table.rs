//! What the names of toolsets stand for. A basic set is the one its tools name; the others are made
//! of these.

use super::names::TOOLSET_NAMES;

/// Sets that tools name themselves, and what they are for.
const BASIC: &[(&str, &str)] = &[
    ("browser", "A web browser"),
    ("clarify", "Questions to the user"),
    ("code_execution", "Python scripts that call tools"),
    ("computer_use", "Control of the screen"),
    ("context_engine", "An add-on's own context"),
    ("cronjob", "Scheduled work"),
    ("delegation", "Other agents for parts of the work"),
    ("discord", "Discord"),
    ("discord_admin", "Administration of Discord"),
    ("feishu_doc", "Documents in Feishu"),
    ("feishu_drive", "Files in Feishu"),
    ("file", "Reading, writing and searching files"),
    ("homeassistant", "Home Assistant"),
    ("image_gen", "Making images"),
    ("kanban", "The task board"),
    ("memory", "What is remembered between conversations"),
    ("messaging", "Messages to people"),
    ("moa", "Several models answering together"),
    ("project", "Projects"),
    ("session_search", "Earlier conversations"),
    ("skills", "Skills"),
    ("spotify", "Spotify"),
    ("terminal", "Commands and processes"),
    ("todo", "The list of steps of a conversation"),
    ("tts", "Speech"),
    ("video", "Understanding videos"),
    ("video_gen", "Making videos"),
    ("vision", "Understanding images"),
    ("web", "Searching and reading the web"),
    ("x_search", "Search on X"),
    ("yuanbao", "Yuanbao"),
];

/// The default sets. The others cost money, need an account or do more than users expect, so they are
/// off until they are named.
const DEFAULT_SETS: &[&str] = &[
    "browser",
    "clarify",
    "code_execution",
    "cronjob",
    "delegation",
    "file",
    "image_gen",
    "kanban",
    "memory",
    "messaging",
    "project",
    "session_search",
    "skills",
    "terminal",
    "todo",
    "tts",
    "vision",
    "web",
];

/// Names of basic sets, in order, with what they are for.
pub fn basic_toolsets() -> impl Iterator<Item = (&'static str, &'static str)> {
    BASIC.iter().copied()
}

/// What a basic set is for.
pub fn toolset_doc(name: &str) -> Option<&'static str> {
    let found = BASIC.iter().find(|(known, _)| *known == name);
    found.map(|(_, doc)| *doc)
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Every set there is.
    All,
    /// These basic sets.
    Sets(Vec<&'static str>),
    /// One tool of a set.
    Tool(&'static str),
    /// Nothing we know.
    Unknown,
}

/// What a name stands for, older spellings included.
pub(super) fn meaning(name: &str) -> Meaning {
    let name = name.trim().to_lowercase();
    let sets = |names: &[&'static str]| Meaning::Sets(names.to_vec());
    let without = |excluded: &[&str]| {
        let rest = DEFAULT_SETS
            .iter()
            .copied()
            .filter(|name| !excluded.contains(name));
        Meaning::Sets(rest.collect())
    };
    match name.as_str() {
        "all" | "*" => Meaning::All,
        "search" => Meaning::Tool("web_search"),
        "debugging" => sets(&["terminal", "web", "file"]),
        "safe" => sets(&["web", "vision", "image_gen"]),
        "coding" => without(&["cronjob", "image_gen", "messaging", "tts"]),
        // No user can answer there.
        "hermes-cron" | "hermes-api-server" | "hermes-webhook" => {
            without(&["clarify", "messaging"])
        }
        "hermes-acp" => without(&["clarify", "cronjob", "image_gen", "messaging", "tts"]),
        "image_tools" => sets(&["image_gen"]),
        name if name.starts_with("hermes-") && TOOLSET_NAMES.contains(&name) => sets(DEFAULT_SETS),
        name => {
            let plain = name.strip_suffix("_tools").unwrap_or(name);
            let known = BASIC.iter().find(|(basic, _)| *basic == plain);
            known.map_or(Meaning::Unknown, |(basic, _)| Meaning::Sets(vec![basic]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_known_name_means_something() {
        for name in TOOLSET_NAMES {
            assert_ne!(meaning(name), Meaning::Unknown, "{name}");
        }
        assert!(DEFAULT_SETS.iter().all(|name| toolset_doc(name).is_some()));
        assert!(BASIC.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn older_spellings_and_shorthands() {
        assert_eq!(meaning("web_tools"), Meaning::Sets(vec!["web"]));
        assert_eq!(meaning(" Image_Tools "), Meaning::Sets(vec!["image_gen"]));
        assert_eq!(
            meaning("debugging"),
            Meaning::Sets(vec!["terminal", "web", "file"])
        );
        assert_eq!(meaning("*"), Meaning::All);
        assert_eq!(meaning("search"), Meaning::Tool("web_search"));
        for unknown in ["", "webb", "hermes-nowhere", "tools", "_tools"] {
            assert_eq!(meaning(unknown), Meaning::Unknown, "{unknown:?}");
        }
    }

    #[test]
    fn what_costs_or_surprises_is_off_until_it_is_named() {
        let Meaning::Sets(usual) = meaning("hermes-cli") else {
            unreachable!("a list");
        };
        for name in [
            "moa",
            "homeassistant",
            "spotify",
            "discord",
            "discord_admin",
            "video",
            "video_gen",
            "x_search",
        ] {
            assert!(!usual.contains(&name), "{name}");
        }
    }
}
