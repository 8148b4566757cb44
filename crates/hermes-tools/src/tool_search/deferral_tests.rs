use pretty_assertions::assert_eq;

use super::*;

const OWN: ToolSpec<'static> = ToolSpec {
    name: "terminal",
    toolset: "terminal",
    description: "Ours.",
    ..ToolSpec::DEFAULT
};

/// Tools of a server whose schemas make up about this many tokens.
fn offered(names: &[String], tokens: usize) -> Vec<String> {
    let text = "x".repeat(tokens * 4);
    let share = hermes_text::cut(&text, text.len() / names.len().max(1));
    let foreign = names.iter().map(|name| ToolSpec {
        name,
        toolset: "mcp-other",
        description: share,
        is_deferrable: true,
        ..ToolSpec::DEFAULT
    });
    let mut offer = ToolOffer {
        tools: std::iter::once(OWN).chain(foreign).collect(),
        ..ToolOffer::default()
    };
    offer.defer(&ToolSearchSettings::default(), 100_000);
    offer
        .tools
        .iter()
        .map(|tool| tool.name.to_owned())
        .collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("mcp__other__{number}"))
        .collect()
}

const STANDING_IN: [&str; 4] = ["terminal", "tool_search", "tool_describe", "tool_call"];

#[test]
fn tools_of_others_are_listed_up_to_a_share_of_the_window() {
    let names = names(10);
    assert_eq!(offered(&names, 9_000).len(), 11);
    assert_eq!(offered(&names, 10_000), STANDING_IN);
}

#[test]
fn tools_of_our_own_are_always_listed() {
    let large = "x".repeat(1_000_000);
    let own = ToolSpec {
        description: &large,
        ..OWN
    };
    for mode in [SearchMode::Auto, SearchMode::Always, SearchMode::Never] {
        let mut offer = ToolOffer {
            tools: vec![own],
            ..ToolOffer::default()
        };
        let settings = ToolSearchSettings {
            mode,
            ..ToolSearchSettings::default()
        };
        offer.defer(&settings, 1_000);
        assert_eq!(offer.tools, [own]);
        assert!(offer.deferred.is_empty());
    }
}

#[test]
fn settings_decide_whether_and_from_when_on() {
    let settings = |mode, threshold_percent| ToolSearchSettings {
        mode,
        threshold_percent,
        ..ToolSearchSettings::default()
    };
    assert!(defers(&settings(SearchMode::Always, 100.0), 1, 1_000_000));
    assert!(!defers(&settings(SearchMode::Never, 0.0), 1_000_000, 1_000));
    assert!(defers(&settings(SearchMode::Auto, 0.5), 500, 100_000));
    assert!(!defers(&settings(SearchMode::Auto, 0.5), 499, 100_000));
    // Nobody knows the window.
    assert!(defers(&settings(SearchMode::Auto, 10.0), 20_000, 0));
    assert!(!defers(&settings(SearchMode::Auto, 10.0), 19_999, 0));
}

#[test]
fn settings_are_read_and_kept_within_bounds() {
    let read = |text: &str| {
        let home = tempfile::tempdir().unwrap();
        hermes_fs::write_atomic(&home.path().join("config.yaml"), text.as_bytes(), 0o600).unwrap();
        let env = hermes_config::Environment::from_pairs([("HOME", "/nowhere")]);
        let sources = hermes_config::Sources::new(&env, home.path());
        ToolSearchSettings::resolve(&hermes_config::Config::load_read_only(&sources))
    };
    assert_eq!(read(""), ToolSearchSettings::default());
    for (text, mode) in [
        ("true", SearchMode::Always),
        ("on", SearchMode::Always),
        ("false", SearchMode::Never),
        ("off", SearchMode::Never),
        ("auto", SearchMode::Auto),
        ("sometimes", SearchMode::Auto),
    ] {
        let settings = read(&format!("tools:\n  tool_search:\n    enabled: {text}\n"));
        assert_eq!(settings.mode, mode, "{text}");
    }
    let settings = read(
        "tools:\n  tool_search:\n    threshold_pct: 250\n    search_default_limit: 40\n    \
         max_search_limit: 1000\n",
    );
    let expected = ToolSearchSettings {
        mode: SearchMode::Auto,
        threshold_percent: 100.0,
        usual_results: 40,
        most_results: 50,
    };
    assert_eq!(settings, expected);
}

#[test]
fn characters_are_those_of_the_request() {
    let schema = std::sync::Arc::new(serde_json::json!({"type": "object", "x": "é\n\"🦀"}));
    let tool = ToolSpec {
        name: "mcp__a__b",
        description: "Zählt \"alles\".",
        given_schema: Some(&schema),
        ..ToolSpec::DEFAULT
    };
    let sent = serde_json::json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema(),
        },
    });
    let expected = u64::try_from(sent.to_string().chars().count()).unwrap();
    assert_eq!(characters(&tool), expected);
}
