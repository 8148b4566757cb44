//! Secrets go to `.env`, whatever it was written with.

use crate::configured;

// check 13
#[test]
fn a_key_goes_to_dotenv_alone_and_is_not_printed() {
    let home = configured("terminal: {timeout: 5}\n");
    let set = home.run(["config", "set", "OPENROUTER_API_KEY", "sk-or-canary"]);
    set.succeeds()
        .prints("✓ Set OPENROUTER_API_KEY in ~/.hermes/.env\n")
        .says("")
        .never_shows("canary");
    assert_eq!(home.read(".env"), "OPENROUTER_API_KEY=sk-or-canary\n");
    assert_eq!(home.mode(".env"), 0o600);
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 5}\n");
    // The log says that something was set, not what.
    assert!(!home.read("logs/agent.log").contains("canary"));
}

// check 13
#[test]
fn names_that_steer_programs_are_refused() {
    let home = configured("");
    let state = || {
        let tree = home.tree().without_directory_times();
        tree.without_extensions(&["lock"])
    };
    let before = state();
    for name in [
        "PATH",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "PYTHONPATH",
        "HERMES_HOME",
        "EDITOR",
    ] {
        let outcome = home.run(["config", "set", name, "/x"]);
        outcome.exits(1).prints("").says_part(name);
    }
    before.is_still(&state());
}

#[test]
fn other_lines_survive_and_the_environment_wins() {
    let home = configured("");
    home.put(
        ".env",
        "# mine\nexport A_TOKEN='one' # note\n\nnot a line\nOPENROUTER_API_KEY=old\n",
    );
    home.run(["config", "set", "openrouter_api_key", "new"])
        .succeeds();
    assert_eq!(
        home.read(".env"),
        "# mine\nexport A_TOKEN='one' # note\n\nnot a line\nOPENROUTER_API_KEY=new\n"
    );
    home.hermes(["config", "get", "OPENROUTER_API_KEY"])
        .env("OPENROUTER_API_KEY", "from-outside")
        .run()
        .prints("from-outside\n");
    home.run(["config", "unset", "OPENROUTER_API_KEY"])
        .succeeds();
    assert!(!home.read(".env").contains("OPENROUTER"));
}

#[test]
fn characters_that_no_key_has_are_dropped_with_a_warning() {
    let home = configured("");
    home.run([
        "config",
        "set",
        "OPENROUTER_API_KEY",
        "sk\u{2013}a\u{200b}b\nc",
    ])
    .succeeds()
    .says_part("warning: OPENROUTER_API_KEY: removed non-ASCII characters at ");
    assert_eq!(home.read(".env"), "OPENROUTER_API_KEY=skabc\n");
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(|unit: u16| {
            if big_endian {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        })
        .collect()
}

#[test]
fn utf16_is_read_and_rewritten_as_utf8() {
    for big_endian in [false, true] {
        let home = configured("");
        let bytes = utf16("# Schlüssel\r\nA_TOKEN=one\r\n", big_endian);
        home.put(".env", &bytes);
        home.run(["config", "get", "A_TOKEN"])
            .succeeds()
            .prints("one\n");
        // Reading rewrites nothing.
        assert_eq!(std::fs::read(home.path(".env")).unwrap(), bytes);
        home.run(["config", "set", "B_TOKEN", "two"]).succeeds();
        let text = home.read(".env");
        assert!(text.starts_with("# Schlüssel"), "{text:?}");
        assert!(text.contains("A_TOKEN=one"), "{text:?}");
        assert!(text.contains("B_TOKEN=two"), "{text:?}");
        assert!(
            !text.contains('\u{feff}') && !text.contains('\0'),
            "{text:?}"
        );
    }
}

#[test]
fn utf32_is_refused_untouched() {
    let home = configured("");
    let mut bytes = vec![0xff, 0xfe, 0, 0];
    bytes.extend(
        "A_TOKEN=one\n"
            .chars()
            .flat_map(|c| (c as u32).to_le_bytes()),
    );
    home.put(".env", &bytes);
    let before = home.tree().only(|path| path == ".hermes/.env");
    home.run(["config", "set", "B_TOKEN", "two"]).refuses(
        1,
        &format!(
            "{} is not changed: the text is UTF-32, which cannot be read",
            home.path(".env").display()
        ),
    );
    home.run(["config", "get", "A_TOKEN"]).exits(1);
    before.is_still(&home.tree().only(|path| path == ".hermes/.env"));
    home.run(["doctor"])
        .exits(1)
        .prints_part("cannot be used: the text is UTF-32, which cannot be read");
}
