use super::*;
use pretty_assertions::assert_eq;

fn read(text: &str, env: &[(&'static str, &'static str)]) -> (DotEnv, Vec<DotEnvNote>) {
    let lookup = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    DotEnv::parse(text).resolved(&lookup)
}

#[track_caller]
fn values(text: &str, env: &[(&'static str, &'static str)], expected: &[(&str, &str)]) {
    let (env, _) = read(text, env);
    let found: Vec<_> = expected
        .iter()
        .map(|(name, _)| (*name, env.get(name).unwrap_or("(none)")))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn references_are_filled_in_from_earlier_lines_then_the_process_then_the_default() {
    let env = &[("REAL", "outside"), ("ONLY", "process")];
    values(
        "REAL=inside\nA=Bearer ${REAL}\nB='${ONLY}'\nC=\"${NO:-d e}\"\nD=${ONLY:-x}${NO:-}\n",
        env,
        &[
            ("A", "Bearer inside"),
            ("B", "process"),
            ("C", "d e"),
            ("D", "process"),
        ],
    );
    values(
        "A=${B}\nB=${A}x${\nC=$ONLY ${ONLY:x} ${a\nD=${EMPTY:-no}\nEMPTY=\nE=${EMPTY:-no}|\n",
        env,
        &[
            ("A", ""),
            ("B", "x${"),
            ("C", "$ONLY ${ONLY:x} ${a"),
            ("D", "no"),
            ("E", "|"),
        ],
    );
}

#[test]
fn what_is_not_used_as_it_stands_is_noted_with_its_line() {
    let (env, notes) = read(
        "# x\nA_TOKEN=${GONE}\nodd line\nOPENAI_API_KEY=abOPENROUTER_API_KEY=c\u{200b}d\n\n\
         B_KEY=é\u{2011}é\u{2011}x\nNAME=grüß\n",
        &[],
    );
    let told: Vec<String> = notes
        .iter()
        .map(|note| format!("{}: {}", note.line, note.kind))
        .collect();
    assert_eq!(
        told,
        [
            "3: not an assignment; the line is ignored",
            "4: 2 variables on one line; read as OPENAI_API_KEY, OPENROUTER_API_KEY",
            "2: A_TOKEN refers to ${GONE}, which is not set; nothing stands in its place",
            "4: OPENROUTER_API_KEY contains 1 non-ASCII character (U+200B); removed, because keys \
             are ASCII",
            "6: B_KEY contains 4 non-ASCII characters (U+00E9, U+2011, U+00E9, …); removed, because \
             keys are ASCII",
        ]
    );
    let value = |name| env.get(name).unwrap();
    assert_eq!(
        [
            "A_TOKEN",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "B_KEY",
            "NAME"
        ]
        .map(value),
        ["", "ab", "cd", "x", "grüß"]
    );
    assert_eq!(env.line_of("NAME"), Some(7));
}

#[test]
fn a_known_name_inside_an_address_or_a_sentence_starts_no_line() {
    for text in [
        "OPENAI_BASE_URL=https://x/?OPENAI_API_KEY=1\n",
        "OPENAI_API_KEY=see OPENROUTER_API_KEY=1\n",
        "MINE=aOPENAI_API_KEY=1\n",
    ] {
        let (env, notes) = read(text, &[]);
        assert_eq!((env.names().count(), notes), (1, Vec::new()), "{text}");
    }
}
