//! What the names of toolsets stand for. A basic set is the one its tools name; the others are made
//! of these. Names of the reference are included: a profile may name any of them.

use std::sync::LazyLock;

/// Sets that tools name themselves, and whether they are on by default. The others cost money, need an
/// account or do more than users expect, so they are off until they are named.
const BASIC: &[(&str, bool)] = &[
    ("browser", true),
    ("clarify", true),
    ("code_execution", true),
    ("computer_use", false),
    ("context_engine", false),
    ("cronjob", true),
    ("delegation", true),
    ("discord", false),
    ("discord_admin", false),
    ("feishu_doc", false),
    ("feishu_drive", false),
    ("file", true),
    ("homeassistant", false),
    ("image_gen", true),
    ("kanban", true),
    ("memory", true),
    ("messaging", true),
    ("moa", false),
    ("project", true),
    ("session_search", true),
    ("skills", true),
    ("spotify", false),
    ("terminal", true),
    ("todo", true),
    ("tts", true),
    ("video", false),
    ("video_gen", false),
    ("vision", true),
    ("web", true),
    ("x_search", false),
    ("yuanbao", false),
];

/// Sets made of others.
const COMPOSED: &[&str] = &[
    "coding",
    "debugging",
    "hermes-acp",
    "hermes-api-server",
    "hermes-bluebubbles",
    "hermes-cli",
    "hermes-cron",
    "hermes-dingtalk",
    "hermes-discord",
    "hermes-email",
    "hermes-feishu",
    "hermes-gateway",
    "hermes-homeassistant",
    "hermes-matrix",
    "hermes-mattermost",
    "hermes-qqbot",
    "hermes-signal",
    "hermes-slack",
    "hermes-sms",
    "hermes-telegram",
    "hermes-webhook",
    "hermes-wecom",
    "hermes-wecom-callback",
    "hermes-weixin",
    "hermes-whatsapp",
    "hermes-yuanbao",
    "safe",
    "search",
];

/// All names. A skill of such a name is a mistake people and models make.
pub static TOOLSET_NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| basic_toolsets().chain(COMPOSED.iter().copied()).collect());

/// Names of basic sets, in order.
pub fn basic_toolsets() -> impl Iterator<Item = &'static str> {
    BASIC.iter().map(|(name, _)| *name)
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Every set there is.
    All,
    Sets(Vec<&'static str>),
    Tool(&'static str),
    Unknown,
}

/// What a name stands for, older spellings included.
pub(super) fn meaning(name: &str) -> Meaning {
    let name = name.trim().to_lowercase();
    let sets = |names: &[&'static str]| Meaning::Sets(names.to_vec());
    let without = |excluded: &[&str]| {
        let wanted = |(name, is_default): &&(_, bool)| *is_default && !excluded.contains(name);
        let rest = BASIC.iter().filter(wanted);
        Meaning::Sets(rest.map(|(name, _)| *name).collect())
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
        name if name.starts_with("hermes-") && COMPOSED.contains(&name) => without(&[]),
        name => {
            let plain = name.strip_suffix("_tools").unwrap_or(name);
            let known = basic_toolsets().find(|basic| *basic == plain);
            known.map_or(Meaning::Unknown, |basic| Meaning::Sets(vec![basic]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_known_name_means_something() {
        for name in &*TOOLSET_NAMES {
            assert_ne!(meaning(name), Meaning::Unknown, "{name}");
            assert_eq!(*name, name.to_lowercase());
        }
        assert!(basic_toolsets().is_sorted() && COMPOSED.is_sorted());
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
