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

#[test]
fn references_to_other_variables_are_filled_in() {
    let home = configured("");
    home.put(
        ".env",
        "REAL=sk-or-real\nOPENROUTER_API_KEY=${REAL}\nA_NAME='${OUTSIDE}/${NO:-x}'\n",
    );
    home.hermes(["config", "get", "OPENROUTER_API_KEY"])
        .env("OUTSIDE", "process")
        .run()
        .succeeds()
        .prints("sk-or-real\n")
        .says("");
    home.hermes(["config", "get", "A_NAME"])
        .env("OUTSIDE", "process")
        .run()
        .succeeds()
        .prints("process/x\n")
        .says("");
    // Writing one variable leaves the others as they are written.
    home.run(["config", "set", "B_TOKEN", "two"]).succeeds();
    assert!(
        home.read(".env").contains("OPENROUTER_API_KEY=${REAL}\n"),
        "{}",
        home.read(".env")
    );
}

#[test]
fn what_is_left_out_of_the_file_is_told_once_and_never_the_value() {
    let home = configured("");
    home.put(
        ".env",
        "OPENAI_API_KEY=sk-canaryOPENROUTER_API_KEY=sk-or\u{200b}-canary\nA_TOKEN=x${GONE}\nodd \
         line\n",
    );
    let file = home.path(".env").display().to_string();
    let got = home.run(["config", "get", "A_TOKEN"]);
    got.succeeds().prints("x\n").never_shows("canary");
    for told in [
        ":1: 2 variables on one line; read as OPENAI_API_KEY, OPENROUTER_API_KEY\n",
        ":1: OPENROUTER_API_KEY contains 1 non-ASCII character (U+200B); removed, because keys are \
         ASCII\n",
        ":2: A_TOKEN refers to ${GONE}, which is not set; nothing stands in its place\n",
        ":3: not an assignment; the line is ignored\n",
    ] {
        let told = format!("warning: {file}{told}");
        assert_eq!(got.stderr.matches(&told).count(), 1, "{told}{got}");
    }
    home.run(["config", "get", "OPENROUTER_API_KEY"])
        .prints("sk-or-canary\n");
    home.run(["doctor"])
        .says("")
        .prints_part(":3: not an assignment; the line is ignored\n");
}

#[test]
fn a_latin_1_file_is_read_and_kept_as_utf8() {
    let home = configured("");
    home.put(
        ".env",
        b"# Stra\xdfe\rA_NAME=Gr\xfc\xdfe\r\xa0B_TOKEN=one\r",
    );
    home.run(["config", "get", "A_NAME"])
        .succeeds()
        .prints("Grüße\n")
        .says("");
    home.run(["config", "get", "B_TOKEN"]).prints("one\n");
    home.run(["config", "set", "B_TOKEN", "two"]).succeeds();
    assert_eq!(home.read(".env"), "# Straße\rA_NAME=Grüße\rB_TOKEN=two\n");
}
