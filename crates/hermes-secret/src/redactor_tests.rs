//! What the redactor masks, what it leaves alone, and properties over nasty text.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn shapes(text: &str) -> String {
    Redactor::default().redact(text).into_owned()
}

/// Every vendor prefix with a made-up body of the least length that counts.
const VENDOR_TOKENS: &[&str] = &[
    "sk-Ab3dEfGh1jKlMnOpQrSt",
    "ghp_Ab3dEfGh1jKlMnOpQrSt",
    "github_pat_Ab3dEfGh1jKlMnOpQrSt",
    "gho_Ab3dEfGh1jKlMnOpQrSt",
    "ghu_Ab3dEfGh1jKlMnOpQrSt",
    "ghs_Ab3dEfGh1jKlMnOpQrSt",
    "ghr_Ab3dEfGh1jKlMnOpQrSt",
    "glpat-Ab3dEfGh1jKlMnOpQrSt",
    "xoxb-Ab3dEfGh1jKlMnOpQrSt",
    "xoxa-Ab3dEfGh1jKlMnOpQrSt",
    "xoxp-Ab3dEfGh1jKlMnOpQrSt",
    "xoxr-Ab3dEfGh1jKlMnOpQrSt",
    "xoxs-Ab3dEfGh1jKlMnOpQrSt",
    "xapp-Ab3dEfGh1jKlMnOpQrSt",
    "AIzaAb3dEfGh1jKlMnOpQrStUvWxYz0123456",
    "pplx-Ab3dEfGh1jKlMnOpQrSt",
    "fal_Ab3dEfGh1jKlMnOpQrSt",
    "fc-Ab3dEfGh1jKlMnOpQrSt",
    "bb_live_Ab3dEfGh1jKlMnOpQrSt",
    "AKIAABCDEFGHIJ012345",
    "ASIAABCDEFGHIJ012345",
    "sk_live_Ab3dEfGh1jKlMnOpQrSt",
    "sk_test_Ab3dEfGh1jKlMnOpQrSt",
    "rk_live_Ab3dEfGh1jKlMnOpQrSt",
    "sk_Ab3dEfGh1jKlMnOpQrSt",
    "SG.Ab3dEfGh1jKlMnOpQrSt.Uv0WxYz12345",
    "hf_Ab3dEfGh1jKlMnOpQrSt",
    "r8_Ab3dEfGh1jKlMnOpQrSt",
    "npm_Ab3dEfGh1jKlMnOpQrSt",
    "pypi-Ab3dEfGh1jKlMnOpQrSt",
    "dop_v1_Ab3dEfGh1jKlMnOpQrSt",
    "doo_v1_Ab3dEfGh1jKlMnOpQrSt",
    "tvly-Ab3dEfGh1jKlMnOpQrSt",
    "exa_Ab3dEfGh1jKlMnOpQrSt",
    "gsk_Ab3dEfGh1jKlMnOpQrSt",
    "syt_Ab3dEfGh1jKlMnOpQrSt",
    "xai-Ab3dEfGh1jKlMnOpQrStUvWxYz0123456",
    "gAAAAAb3dEfGh1jKlMnOpQrSt==",
    "fw_Ab3dEfGh1jKlMnOpQrStUvWxYz0123456",
    "fw-Ab3dEfGh1jKlMnOpQrStUvWxYz0123456",
    "fpk_Ab3dEfGh1jKlMnOpQrStUvWxYz0123456",
    "am_Ab3dEfGh1jKlMnOpQrSt",
    "hsk-Ab3dEfGh1jKlMnOpQrSt",
    "mem0_Ab3dEfGh1jKlMnOpQrSt",
    "brv_Ab3dEfGh1jKlMnOpQrSt",
    "ntn_Ab3dEfGh1jKlMnOpQrSt",
    "retaindb_Ab3dEfGh1jKlMnOpQrSt",
    "ya29.Ab3dEfGh1jKlMnOpQrSt",
];

#[test]
fn vendor_tokens_keep_only_their_ends() {
    for token in VENDOR_TOKENS {
        let text = format!("calling with ({token}), then more");
        let wanted = format!("calling with ({}), then more", log_mask(token));
        assert_eq!(shapes(&text), wanted);
    }
}

#[test]
fn values_of_secret_names_are_masked() {
    for (text, wanted) in [
        ("OPENAI_API_KEY=hunter2", "OPENAI_API_KEY=***"),
        (
            "export DB_PASSWORD='p w, x' next",
            "export DB_PASSWORD='***' next",
        ),
        (
            "token=abcdefghijklmnopqrstuvwxyz, n=1",
            "token=abcdef...wxyz, n=1",
        ),
        ("login(password=hunter2)", "login(password=***)"),
        ("client_secret = \"hunter2\"", "client_secret = \"***\""),
        (
            r#"{"api_key": "hunter2", "n": 1}"#,
            r#"{"api_key": "***", "n": 1}"#,
        ),
        (
            r#"{\"access_token\": \"hunter2\", \"n\": 1}"#,
            r#"{\"access_token\": \"***\", \"n\": 1}"#,
        ),
        (
            r#"{"password": "a\"b", "n": 1}"#,
            r#"{"password": "***", "n": 1}"#,
        ),
        (
            "{'botToken': 'hunter2', 'x': 1}",
            "{'botToken': '***', 'x': 1}",
        ),
        (r#"{"password": 12345678}"#, r#"{"password": ***}"#),
        ("x-api-key: ab12cd34ef", "x-api-key: ***"),
        ("X-Api-Key:ab12cd34ef", "X-Api-Key:***"),
        ("password: hunter2", "password: ***"),
        ("run --api-key ab12cd34ef -v", "run --api-key *** -v"),
        ("token=abc123,user=somebody-else-entirely", "token=***"),
        (
            "PASSPHRASE='correct horse battery staple'",
            "PASSPHRASE='***'",
        ),
        ("run --api-key=ab12 -v", "run --api-key=*** -v"),
    ] {
        assert_eq!(shapes(text), wanted);
    }
}

#[test]
fn secret_headers_are_masked() {
    for (text, wanted) in [
        ("Authorization: Bearer abc", "Authorization: Bearer ***"),
        (
            "authorization: basic dXNlcjpwYXNzd29yZA==",
            "authorization: basic dXNlcj...ZA==",
        ),
        (
            r#"-H "Authorization: token ab12cd34ef" url"#,
            r#"-H "Authorization: token ***" url"#,
        ),
        (
            r#"{"Authorization": "Bearer abc"}"#,
            r#"{"Authorization": "Bearer ***"}"#,
        ),
        (
            "Authorization: Digest username=\"bob\", response=\"x\"",
            "Authorization: Digest ***",
        ),
        ("Cookie: sid=ab12cd", "Cookie: ***"),
        (
            "sent Bearer abcdefgh12345678 to the host",
            "sent Bearer *** to the host",
        ),
    ] {
        assert_eq!(shapes(text), wanted);
    }
}

#[test]
fn credentials_in_urls_are_masked() {
    for (text, wanted) in [
        (
            "postgres://bob:hunter2@db:5432/x",
            "postgres://bob:***@db:5432/x",
        ),
        (
            "postgresql+asyncpg://bob:hu/nt@db/x",
            "postgresql+asyncpg://bob:***@db/x",
        ),
        ("https://bob:hunter2@host/x", "https://bob:***@host/x"),
        (
            "https://a1b2c3d4e5f6a7b8c9d0@host/x.git",
            "https://a1b2c3...c9d0@host/x.git",
        ),
        (
            "https://h/x?access_token=abc&n=1",
            "https://h/x?access_token=***&n=1",
        ),
        ("https://h/x?n=1&key=abc#top", "https://h/x?n=1&key=***"),
        (
            "https://h/x?sig=abc&code=def&n=1",
            "https://h/x?sig=***&code=***&n=1",
        ),
        (
            "grant_type=refresh&client_secret=abc&n=1",
            "grant_type=refresh&client_secret=***&n=1",
        ),
        (
            "https://api.telegram.org/bot123456789:AAEabcdefghijklmnopqrstuvwxyz_0123456/getMe",
            "https://api.telegram.org/bot123456...3456/getMe",
        ),
    ] {
        assert_eq!(shapes(text), wanted);
    }
}

#[test]
fn jwts_bot_tokens_and_phone_numbers() {
    assert_eq!(
        shapes("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123 back"),
        "got eyJhbG..._123 back"
    );
    assert_eq!(
        shapes("bot 12345678:AAEabcdefghijklmnopqrstuvwxyz_0123456 up"),
        "bot 123456...3456 up"
    );
    assert_eq!(
        shapes("call +4915112345678 or (+15551234567)."),
        "call *** or (***)."
    );
}

#[test]
fn private_keys_over_several_lines() {
    let key = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----\nb";
    assert_eq!(
        shapes(key),
        "a\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nb"
    );
    let cut = "-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEA\\nab";
    assert_eq!(shapes(cut), "-----BEGIN PRIVATE KEY-----***");
    let armored =
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----";
    assert!(!shapes(armored).contains("lQOYBF"));
}

#[test]
fn ordinary_text_is_borrowed_unchanged() {
    for text in [
        "",
        "started in 12 ms, 3 tokens left, max_tokens=4096 and tokens=17",
        "the secret: be kind. token: expired; password: required, auth: failed",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b on task-runner-abcdefghij",
        "uuid 6f1ed002-ab56-4b1c-9f3e-2a7d1c0e4b5a at 2026-11-02T10:20:30.123+02:00",
        "2026-11-02 10:20:30,123 INFO gateway.auth: ready",
        "/home/bob/.hermes/profiles/coder/logs/agent.log and C:\\Users\\bob\\key.txt",
        "git clone ssh://git@github.com/a/b.git https://host:8080/a@b",
        "npm_config_registry and hf_hub_download and pypi-attestations and fc-list-matches",
        "am_i_authorized sk_some_function ask-something-longer risk-management-plan",
        "key=session:abc index=3 exit code=1 author=alice public_key=abc",
        "use std::auth::Token; if token == other { key::new() }",
        "api_key: ${OPENAI_API_KEY} token=$BOT_TOKEN api_key_env: OPENAI_API_KEY",
        "password=none token=null api_key=*** secret=abcdef...wxyz",
        "1 + 1 = 2, +5 points, +02:00, a+12345678b, C++17",
        "redis://localhost:6379/0 and postgres://localhost:5432/db?email=a@b",
        "Bearer authentication is required by the authorization server",
        "a key: value pair and the primary key: id; Basic settings",
        "héllo wörld, 日本語のログ, emoji 🎉 done",
    ] {
        assert!(
            matches!(Redactor::default().redact(text), Cow::Borrowed(same) if same == text),
            "{text:?} became {:?}",
            shapes(text)
        );
    }
}

#[test]
fn known_values_go_wherever_they_stand() {
    let redactor = Redactor::new([
        "correct horse",
        "ab\"cd\"ef/gh",
        "short",
        "  padded-value  ",
    ]);
    assert_eq!(
        redactor.redact("xcorrect horsey short padded-value"),
        "x***y short ***"
    );
    assert_eq!(
        redactor.redact(r#"["ab\"cd\"ef/gh"] ?q=ab%22cd%22ef%2Fgh"#),
        r#"["***"] ?q=***"#
    );
}

#[test]
fn secret_added_later_is_masked() {
    let first = Redactor::new(["known-from-the-start"]);
    let second = first.that_knows(&"known-since-now".into());
    let text = "known-from-the-start known-since-now";
    assert_eq!(first.redact(text), "*** known-since-now");
    assert_eq!(second.redact(text), "*** ***");
    let off = Redactor::disabled().that_knows(&"known-since-now".into());
    assert_eq!(off.redact(text), text);
}

#[test]
fn known_values_that_contain_or_overlap_each_other() {
    let redactor = Redactor::new(["abcdefgh", "abcdefghijkl", "ghijklmnop"]);
    assert_eq!(redactor.redact("1abcdefghijkl2"), "1***2");
    assert_eq!(redactor.redact("1abcdefghijklmnop2"), "1***2");
}

#[test]
fn a_known_value_inside_a_token_takes_the_whole_token() {
    let redactor = Redactor::new(["EfGh1jKl"]);
    assert_eq!(redactor.redact("a sk-Ab3dEfGh1jKlMnOpQrSt b"), "a *** b");
}

#[test]
fn disabled_means_untouched() {
    let text = "OPENAI_API_KEY=sk-Ab3dEfGh1jKlMnOpQrSt";
    assert_eq!(Redactor::disabled().redact(text), text);
    assert!(!Redactor::disabled().is_enabled());
}

#[test]
fn debug_output_shows_no_value() {
    let shown = format!("{:?}", Redactor::new(["canary-value"]));
    assert!(!shown.contains("canary"), "{shown}");
}

/// Text made of pieces that shapes consist of: far nastier than random characters.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("TOKEN=".to_owned()),
        Just("\"api_key\": \"".to_owned()),
        Just("\\\"secret\\\":\\\"".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("password: ".to_owned()),
        Just("cookie: a=".to_owned()),
        Just("--api-key ".to_owned()),
        Just("https://bob:".to_owned()),
        Just("postgres://u:".to_owned()),
        Just("?key=".to_owned()),
        Just("&sig=".to_owned()),
        Just("@host/".to_owned()),
        Just("sk-".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("eyJhbGciOiJIUzI1NiJ9.eyJzdWIi".to_owned()),
        Just("12345678:".to_owned()),
        Just("+49".to_owned()),
        Just("***".to_owned()),
        Just("...".to_owned()),
        "[a-zA-Z0-9_-]{1,40}",
        "[\"'\\\\ \n,;)}&=:.@/$<>{}]{1,3}",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let redactor = Redactor::new(["known-value-1", "value-1-and-more"]);
        let once = redactor.redact(&text).into_owned();
        let twice = redactor.redact(&once).into_owned();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn a_known_value_never_survives(before in pieces(), after in pieces(), value in "[!-~]{8,40}") {
        let redactor = Redactor::new([value.as_str()]);
        let redacted = redactor.redact(&format!("{before}{value}{after}")).into_owned();
        prop_assert!(!redacted.contains(value.trim()), "{redacted}");
    }

    #[test]
    fn a_vendor_token_never_survives(
        before in "(\\PC{0,20}[ \"'(:=,])?",
        token in proptest::sample::select(VENDOR_TOKENS),
        after in "([ \"'),;]\\PC{0,20})?",
    ) {
        let redacted = shapes(&format!("{before}{token}{after}"));
        prop_assert!(!redacted.contains(token), "{redacted}");
    }

    #[test]
    fn a_named_value_never_survives(
        name in "(OPENAI_API_KEY|bot_token|client_secret|DB_PASSWORD|--auth-token)",
        value in "[a-zA-Z0-9/+_-]{6,40}",
        before in "(\\PC{0,20}[ (,])?",
        after in "([ ),]\\PC{0,20})?",
    ) {
        prop_assume!(!before.contains(&value) && !after.contains(&value) && !name.contains(&value));
        let redacted = shapes(&format!("{before}{name}={value}{after}"));
        prop_assert!(!redacted.contains(&value) || is_plain(&value), "{redacted}");
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*", value in ".{0,12}") {
        let redacted = Redactor::new([value]).redact(&text).into_owned();
        prop_assert!(redacted.len() <= text.len().max(3) * 3);
    }
}

fn is_plain(value: &str) -> bool {
    ["missing", "required", "optional"].contains(&value.to_ascii_lowercase().as_str())
}

#[test]
fn what_a_program_prints_is_not_mangled() {
    let output = Redactor::new(["correct-horse-battery"]).for_sink(Sink::Output);
    for text in [
        "https://x/?token=abc&code=z",
        "https://bob:hunter2@host/x?key=abcdef123456",
        "ssh://deployer@host and git://jenkins-bot@host",
        "const AUTH_TOKEN=getToken(); if (password == hunter2) {",
        "\"api_key\": \"value\", token: 1234abcd5678efgh",
        "MAX_TOKENS=100",
    ] {
        assert_eq!(output.redact(text), text);
    }
    for (text, wanted) in [
        ("it is correct-horse-battery", "it is ***"),
        ("sk-abcdefghijklmnopqrstuvwx", "sk-abc...uvwx"),
        (
            "https://x/?token=sk-abcdefghijklmnopqrstuvwx",
            "https://x/?token=sk-abc...uvwx",
        ),
        (
            "Authorization: Bearer abcdefgh12345678",
            "Authorization: Bearer ***",
        ),
        ("x-api-key: abcdefgh12345678", "x-api-key: ***"),
        ("postgres://bob:hunter2@db/x", "postgres://bob:***@db/x"),
        (
            "# the shop\nDB_PASSWORD=hunter2\nURL=https://x/?token=abc\nMAX_TOKENS=9",
            "# the shop\nDB_PASSWORD=***\nURL=https://x/?token=abc\nMAX_TOKENS=9",
        ),
    ] {
        assert_eq!(output.redact(text), wanted);
        assert_eq!(output.redact(wanted), wanted);
    }
    let variables = output.for_sink(Sink::Variables);
    for (text, wanted) in [
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=***"),
        (
            "URL=https://x/?token=abc&code=z",
            "URL=https://x/?token=abc&code=z",
        ),
        ("it is correct-horse-battery", "it is ***"),
    ] {
        assert_eq!(variables.redact(text), wanted);
    }
}

#[test]
fn tokens_are_masked_whatever_the_sink() {
    for (text, wanted) in [
        ("https://s3cr3tpw@host/x.git", "https://***@host/x.git"),
        (
            "https://a1b2c3d4e5f6a7b8c9d0@host/x.git",
            "https://a1b2c3...c9d0@host/x.git",
        ),
        (
            "https://oauth2:a1b2c3d4e5f6a7b8c9d0@host/x",
            "https://oauth2:a1b2c3...c9d0@host/x",
        ),
        (
            "grant_type=refresh&client_secret=abc&n=1",
            "grant_type=refresh&client_secret=***&n=1",
        ),
        (
            "curl -d 'username=bob&password=hunter2&code=xyz' https://h/x",
            "curl -d 'username=bob&password=***&code=***' https://h/x",
        ),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0=.abc-DEF_123==",
            "eyJhbG...23==",
        ),
        ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJhbG...VCJ9"),
        (
            "bot12345678:AAEabcdefghijklmnopqrstuvwxy_z",
            "bot123456...xy_z",
        ),
    ] {
        for sink in [Sink::Log, Sink::Output, Sink::Variables] {
            let redactor = Redactor::default().for_sink(sink);
            assert_eq!(redactor.redact(text), wanted, "{sink:?}");
            assert_eq!(redactor.redact(wanted), wanted, "{sink:?}");
        }
    }
}

#[test]
fn templates_are_left_alone_whatever_the_sink() {
    for text in [
        "postgresql://{user}:{password}@{host}:{port}/{db}",
        "f\"postgresql://{user}:{self.password}@{host}\"",
        "postgres://${DB_USER}:${DB_PASS}@db/x and mysql://$user:$password@h",
        "redis://:%s@%s:%d and amqp://%(user)s:%(password)s@h",
        "mongodb://<user>:<password>@host/x",
        "postgres://{{ user }}:{{ password }}@{{ host }}",
        "https://{token}@github.com/{owner}/{repo}.git",
        "https://${GITHUB_TOKEN}@github.com/a/b",
        "password={password} token=${token} api_key=<your-api-key>",
        // A cursor, not a token: no header without an algorithm.
        "next=eyJpZCI6MTIzLCJvcmRlciI6ImFzYyJ9",
    ] {
        for sink in [Sink::Log, Sink::Output, Sink::Variables] {
            let redactor = Redactor::default().for_sink(sink);
            assert_eq!(redactor.redact(text), text, "{sink:?}");
        }
    }
}

/// Whether a part of a text has a place that hints at a secret.
fn is_touched(places: &[std::ops::Range<usize>], part: &std::ops::Range<usize>) -> bool {
    places
        .iter()
        .any(|place| place.start < part.end && part.start < place.end)
}

#[test]
fn every_secret_leaves_a_trace_wherever_it_stands() {
    let redactor = Redactor::new(["known-value-1", "value-1-and-more"]);
    let known = [
        "known-value-1",
        "value-1-and-more",
        "known-value-1-and-more",
    ];
    for secret in known.iter().chain(VENDOR_TOKENS) {
        for filling in ["", &"x \"".repeat(50_000)] {
            for (before, after) in [("", ""), ("[\"", "\"]"), ("known-", "-value-1")] {
                let text = format!("{filling}{before}{secret}{after}{filling}");
                let start = filling.len() + before.len();
                let part = start..start + secret.len();
                assert!(is_touched(&redactor.traces(&text), &part), "{secret}");
            }
        }
    }
    assert!(
        Redactor::disabled()
            .traces("ghp_Ab3dEfGh1jKlMnOpQrSt")
            .is_empty()
    );
}

proptest! {
    /// What [`Redactor::traces`] promises, about texts that are read together.
    #[test]
    fn what_no_trace_touches_is_left_as_it_is(
        texts in prop::collection::vec(
            "(ghp_|sk-|token|key=|: |=|\"|[a-zA-Z0-9]{1,22}|://|@|secret-1|[ \n+])*", 1..6)
    ) {
        let redactor = Redactor::new(["secret-1"]);
        let joined = texts.concat();
        let places = redactor.traces(&joined);
        prop_assert!(places.is_sorted_by_key(|place| place.start));
        let mut start = 0;
        for text in &texts {
            let part = start..start + text.len();
            start = part.end;
            if !is_touched(&places, &part) {
                prop_assert_eq!(redactor.redact(text), text.as_str());
            }
        }
    }
}
