//! `personalities`, `agent.personalities` and `display.personality`: manners in which the model
//! answers.

use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Personalities that everybody has, by the names of the reference.
const BUILT_IN: &[(&str, &str)] = &[
    (
        "helpful",
        "Answer in a friendly manner, and offer help with the next step.",
    ),
    (
        "concise",
        "Answer as briefly as the question allows: no introduction, no summary, no repetition.",
    ),
    (
        "technical",
        "Answer as an expert for experts: exact terms, numbers, versions and limits, and how things work \
         underneath.",
    ),
    (
        "creative",
        "Look for unusual solutions, and offer more than one before you recommend one.",
    ),
    (
        "teacher",
        "Answer as a patient teacher: explain step by step, with an example for each idea, and say why.",
    ),
    (
        "kawaii",
        "Answer in a cute and cheerful manner, with kaomoji such as (◕‿◕) and ♪ here and there. Code, \
         commands and files stay as they are.",
    ),
    (
        "catgirl",
        "Answer as a playful catgirl who says nya now and then, with cat kaomoji such as (=^･ω･^=). Code, \
         commands and files stay as they are.",
    ),
    (
        "pirate",
        "Answer as the captain of a pirate ship, in the words of the sea. Code, commands and files stay as \
         they are.",
    ),
    (
        "shakespeare",
        "Answer in the language and the rhythm of Shakespeare. Code, commands and files stay as they are.",
    ),
    (
        "surfer",
        "Answer as a relaxed surfer, in the slang of the beach. Code, commands and files stay as they are.",
    ),
    (
        "noir",
        "Answer as the narrator of a hard-boiled detective story: short sentences, rain, few illusions. \
         Code, commands and files stay as they are.",
    ),
    (
        "uwu",
        "Answer in uwu speech, with w for r and l, softly and kindly. Code, commands and files stay as \
         they are.",
    ),
    (
        "philosopher",
        "Answer as a philosopher: ask what is meant and what follows from it before you come to the point.",
    ),
    (
        "hype",
        "Answer with boundless enthusiasm and energy. Code, commands and files stay as they are.",
    ),
];

/// Names and texts of the personalities: the user's own, and the built-in ones that they do not
/// replace.
pub(crate) fn all(context: &Context) -> Vec<(String, String)> {
    let config = context.config();
    let mut found: Vec<(String, String)> = Vec::new();
    let own = [
        config.get("personalities"),
        config.get("agent.personalities"),
    ];
    let own = own.into_iter().flatten().filter_map(Value::as_object);
    let own = own
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), text(value)?)));
    let built_in = BUILT_IN.iter();
    let built_in = built_in.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    for (name, text) in own.chain(built_in) {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, text));
        }
    }
    found
}

/// A text, or a mapping with `system_prompt`, `tone` and `style`.
fn text(value: &Value) -> Option<String> {
    let part = |key: &str, before: &str| {
        let text = value[key]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())?;
        Some(format!("{before}{text}"))
    };
    let whole = value.as_str().map(str::to_owned).or_else(|| {
        let parts = [
            part("system_prompt", ""),
            part("tone", "Tone: "),
            part("style", "Style: "),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    });
    whole.filter(|text| !text.trim().is_empty())
}

/// The text of the personality that new conversations begin with.
pub(crate) fn configured(context: &Context, person: &dyn Person) -> Option<String> {
    let name = context.config().text("display.personality").trim();
    if name.is_empty() || ["none", "default", "neutral"].contains(&name) {
        return None;
    }
    let found = all(context).into_iter().find(|(known, _)| known == name);
    if found.is_none() {
        person.warn(
            &format!("display.personality: there is no personality '{name}'"),
            Some("`/personality` lists them; `personalities` in config.yaml has your own"),
        );
    }
    found.map(|(_, text)| text)
}
