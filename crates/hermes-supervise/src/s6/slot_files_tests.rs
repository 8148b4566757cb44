use pretty_assertions::assert_eq;

use super::*;

fn slot(profile: &str, is_down: bool) -> SlotDefinition {
    SlotDefinition {
        profile: ProfileName::parse(profile).unwrap(),
        program: "/opt/hermes/bin/hermes".to_owned(),
        stop_limit: Duration::from_secs(210),
        is_down,
    }
}

fn content(slot: &SlotDefinition, path: &str) -> String {
    let files = slot.files();
    let file = files.iter().find(|file| file.path == path);
    file.unwrap().content.clone()
}

#[test]
fn a_slot_has_these_files_with_these_modes() {
    let named = slot("coder", true);
    let shown: Vec<(&str, u32)> = named
        .files()
        .iter()
        .map(|file| (file.path, file.mode))
        .collect();
    assert_eq!(
        shown,
        [
            ("type", 0o644),
            ("run", 0o755),
            ("finish", 0o755),
            ("notification-fd", 0o644),
            ("timeout-finish", 0o644),
            ("timeout-kill", 0o644),
            ("max-death-tally", 0o644),
            ("log/run", 0o755),
            ("down", 0o644),
        ]
    );
    let wanted = slot("coder", false);
    assert!(wanted.files().iter().all(|file| file.path != "down"));
    for (path, text) in [
        ("type", "longrun\n"),
        ("notification-fd", "3\n"),
        ("timeout-finish", "5000\n"),
        ("timeout-kill", "210000\n"),
        ("max-death-tally", "100\n"),
    ] {
        assert_eq!(content(&named, path), text, "{path}");
    }
}

const BEGIN: &str = r#"exec 2>&1
if [ "$1" != loaded ] && [ -d /run/s6/container_environment ]; then
  PATH=/command:/usr/sbin:/usr/bin:/sbin:/bin
  exec s6-envdir /run/s6/container_environment /bin/sh ./run loaded
fi
path=$PATH
PATH=/command:/usr/sbin:/usr/bin:/sbin:/bin
drop=
if [ "$(id -u)" = 0 ]; then
  drop="$(command -v s6-setuidgid) hermes"
fi
home=~hermes
[ ! -d "$home" ] || export HOME="$home"
"#;

#[test]
fn the_run_script_of_a_named_profile() {
    let expected = format!(
        r#"#!/bin/sh
# The gateway of profile coder. Written by hermes, and again at every boot.
{BEGIN}# These are for the default profile.
unset API_SERVER_ENABLED API_SERVER_HOST API_SERVER_KEY API_SERVER_PORT
export HERMES_S6_SUPERVISED_CHILD=1
cd "$HOME" || cd /
PATH=$path
exec $drop /opt/hermes/bin/hermes -p coder gateway run --ready-fd 3
"#
    );
    assert_eq!(content(&slot("coder", false), "run"), expected);
}

#[test]
fn the_run_script_of_the_default_profile() {
    let expected = format!(
        r#"#!/bin/sh
# The gateway of profile default. Written by hermes, and again at every boot.
{BEGIN}export HERMES_S6_SUPERVISED_CHILD=1
cd "$HOME" || cd /
PATH=$path
exec $drop /opt/hermes/bin/hermes gateway run --ready-fd 3
"#
    );
    assert_eq!(content(&slot("default", false), "run"), expected);
}

#[test]
fn the_logger_prints_the_line_and_stamps_the_file() {
    let expected = format!(
        r#"#!/bin/sh
# The output of the gateway of profile coder. Written by hermes, and again at every boot.
{BEGIN}logs=${{HERMES_HOME:-$HOME/.hermes}}/logs/gateways/coder
# Lines as they are for the container, then stamped for the file.
exec $drop $(command -v s6-log) 1 n10 s1000000 T "$logs"
"#
    );
    assert_eq!(content(&slot("coder", false), "log/run"), expected);
}

#[test]
fn a_program_with_an_unusual_path_is_one_word() {
    let unusual = SlotDefinition {
        program: "/opt/my 'agents'/hermes".to_owned(),
        ..slot("coder", false)
    };
    let run = content(&unusual, "run");
    let word = r"exec $drop '/opt/my '\''agents'\''/hermes' -p coder gateway run";
    assert!(run.contains(word), "{run}");
}

#[test]
fn only_names_as_they_are_written_are_slots() {
    let name = |text: &str| profile_of_slot(text).map(|profile| profile.to_string());
    assert_eq!(name("gateway-coder").as_deref(), Some("coder"));
    assert_eq!(name("gateway-default").as_deref(), Some("default"));
    for other in [
        "gateway-",
        "gateway-Coder",
        "gateway- a",
        "main-hermes",
        "gateway-../x",
    ] {
        assert_eq!(name(other), None, "{other}");
    }
}
