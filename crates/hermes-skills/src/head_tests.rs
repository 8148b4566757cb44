use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

#[test]
fn declarations_end_where_the_text_begins() {
    let (head, body) = split("---\nname: a\nplatforms: [macos, Linux]\n---\nDo it.\n---\nx\n");
    assert_eq!(head.name().as_deref(), Some("a"));
    assert_eq!(head.texts("platforms"), ["macos", "Linux"]);
    assert_eq!(body, "Do it.\n---\nx\n");
    for whole in ["no head\n", "--- only", "---\nname: a\n"] {
        assert_eq!(split(whole), (SkillHead::default(), whole));
    }
    assert_eq!(split("\u{feff}---\nname: b\n--- \nx").1, "x");
}

#[test]
fn broken_declarations_are_named_and_read_as_far_as_possible() {
    let (head, body) = split("---\nname: odd\ndescription: Does: this\nx: [\n---\nText\n");
    assert_eq!(head.name().as_deref(), Some("odd"));
    assert_eq!(head.description(), "Does: this");
    assert!(
        head.problem
            .as_deref()
            .is_some_and(|text| text.contains("YAML"))
    );
    assert_eq!(body, "Text\n");
    for (text, part) in [
        ("---\n- a\n---\n".to_owned(), "not a mapping"),
        (
            format!("---\nname: a\nx: {}\n---\n", "y".repeat(70_000)),
            "longer than",
        ),
        (format!("---\nx: {}\n---\n", "[".repeat(30_000)), "YAML"),
        (
            "---\na: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n---\n".to_owned(),
            "",
        ),
    ] {
        let (head, _) = split(&text);
        assert!(head.problem.unwrap_or_default().contains(part), "{part}");
    }
    // Other types than expected count as nothing.
    let (head, _) = split("---\nname: [a]\ndescription: {b: c}\nmetadata: 7\nplatforms: 3\n---\n");
    assert_eq!((head.name(), head.description()), (None, String::new()));
    assert_eq!(head.hermes_texts("tags"), Vec::<String>::new());
}

#[test]
fn variables_are_collected_from_all_places_once() {
    let text = "---\nrequired_environment_variables:\n- A_KEY\n- {name: B_KEY, prompt: Give, help: \
                Page, optional: true}\n- {env_var: C_KEY}\n- '$(evil)'\nsetup:\n  help: See\n  \
                collect_secrets: [{env_var: D_KEY}, {env_var: A_KEY}]\nprerequisites:\n  env_vars: \
                E_KEY\n  commands: [jq]\n---\n";
    let (head, _) = split(text);
    let names: Vec<String> = head.variables().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["A_KEY", "B_KEY", "C_KEY", "D_KEY", "E_KEY"]);
    let optional = head.variables().remove(1);
    assert_eq!(optional.prompt, "Give");
    assert_eq!(optional.help.as_deref(), Some("Page"));
    assert!(optional.is_optional);
    assert_eq!(head.commands(), ["jq"]);
}

#[test]
fn lists_may_be_written_as_text() {
    let text = "---\ntags: a, b\nmetadata:\n  hermes:\n    related_skills: \"[x, 'y']\"\n    \
                config: [{key: wiki.path, default: 5}, {key: wiki.path}, {}]\n---\n";
    let (head, _) = split(text);
    assert_eq!(head.hermes_texts("tags"), ["a", "b"]);
    assert_eq!(head.hermes_texts("related_skills"), ["x", "y"]);
    assert_eq!(head.settings(), [("wiki.path".to_owned(), json!(5))]);
}

#[test]
fn credential_files_are_paths_or_mappings_with_one() {
    let (head, _) = split(
        "---\nrequired_credential_files:\n  - a.json\n  - {path: b.json, description: B}\n  \
         - {name: c.json}\n  - {other: d}\n  - ''\n---\n",
    );
    assert_eq!(head.credential_files(), ["a.json", "b.json", "c.json"]);
}
