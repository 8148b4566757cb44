//! Passwords for sudo, with a stand-in that logs its calls, and with the real one.

use pretty_assertions::assert_eq;

use super::{Place, text};

const PASSWORD: &str = "open-sesame-1001";

/// Takes the password on its input, one line per call, and notes how it was called.
const STAND_IN: &str = r#"#!/bin/sh
echo "$*" >> "$LOG"
case $1 in
  -n) [ -e "$LOG.free" ] && { shift; exec "$@"; }; echo 'sudo: a password is required' >&2; exit 1 ;;
  -S) [ "$2$3" = -p ] || exit 9; shift 3
    IFS= read -r line || { echo 'sudo: no password was provided' >&2; exit 1; }
    [ "$line" = open-sesame-1001 ] || { echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }
    exec "$@" ;;
  *) [ -e "$LOG.free" ] && exec "$@"; echo 'sudo: a terminal is required to read the password' >&2; exit 1 ;;
esac
"#;

fn with_stand_in(config: &str) -> Place {
    let place = Place::with_config(config);
    place.home.put_outside("fake/sudo", STAND_IN, 0o755);
    let path = format!("{}:/usr/bin:/bin", place.home.outside("fake").display());
    // What a login does for everybody on this machine must not put the real one in front.
    let profile = place.home.user_home().join(".profile");
    std::fs::write(profile, format!("PATH={path}\n")).unwrap();
    let log = place.home.outside("calls");
    place.env("PATH", path).env("LOG", log)
}

/// How the stand-in was called, in order.
fn calls(place: &Place) -> Vec<String> {
    let log = std::fs::read_to_string(place.home.outside("calls")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn every_sudo_gets_a_line() {
    // check 31
    for in_file in [false, true] {
        let mut place = with_stand_in("");
        if in_file {
            place
                .home
                .put(".env", format!("SUDO_PASSWORD={PASSWORD}\n"));
        } else {
            place = place.env("SUDO_PASSWORD", PASSWORD);
        }
        let mut talk = place.talk();
        assert_eq!(
            talk.output("sudo echo one && sudo echo two; cat"),
            "one\ntwo"
        );
        assert_eq!(calls(&place), ["-S -p  echo one", "-S -p  echo two"]);
        // In every door, and nowhere but on that input.
        let outcome = place.hermes(&["exec", "--", "sudo env; cat"]).run();
        outcome.succeeds().never_shows(PASSWORD);
        let call = r#"{"command": "sudo echo three"}"#;
        let result = place.hermes(&["tools", "call", "terminal", call]).run();
        assert_eq!(result.succeeds().json()["output"], "three");
    }
}

#[test]
fn what_is_left_of_the_input_is_not_shown() {
    // check 31: nothing reads the lines of a sudo that does not want them
    let place = with_stand_in("").env("SUDO_PASSWORD", PASSWORD);
    let result = place.talk().run("true || sudo never; cat");
    assert_eq!(text(&result, "output"), "***");
}

#[test]
fn a_rejected_password_is_told() {
    // check 31
    let place = with_stand_in("").env("SUDO_PASSWORD", "something-else");
    let result = place.talk().run("sudo id");
    assert_eq!(result["exit_code"], 1, "{result}");
    assert_eq!(result["sudo_auth_failed"], true, "{result}");
    // It came from the settings, not from somebody's fingers: there is nothing to forget.
    assert_eq!(result.get("sudo_cache_cleared"), None);
}

#[test]
fn nobody_is_asked_where_nobody_is() {
    // check 31
    let place = with_stand_in("");
    let result = place.talk().run("sudo id");
    assert!(text(&result, "output").contains("a terminal is required"));
    assert_eq!(result.get("sudo_auth_failed"), None);
    // Not even the question whether one is needed is put.
    assert_eq!(calls(&place), ["id"]);
}

#[test]
fn somebody_at_the_terminal_types_it_once_per_session() {
    // check 31
    let place = with_stand_in("");
    // Two commands in one program: only a script makes them without a second door.
    let code = "from hermes_tools import terminal\n\
                for name in ['one', 'two']: print(terminal('sudo echo ' + name)['output'])";
    let call = serde_json::json!({ "code": code }).to_string();
    let mut hermes = place
        .hermes(&["tools", "call", "execute_code", &call])
        .start_at_terminal();
    hermes.wait_for("[d]eny");
    hermes.press("o\r");
    hermes.wait_for("Password (hidden, times out after 45 s, Enter to continue without): ");
    hermes.press(&format!("{PASSWORD}\r"));
    let outcome = hermes.wait();
    outcome
        .succeeds()
        .never_shows(PASSWORD)
        .prints_part(r#""output":"one\ntwo\n""#);
    assert_eq!(outcome.stdout.matches("Password").count(), 1, "{outcome}");
    assert_eq!(
        calls(&place),
        ["-n true", "-S -p  echo one", "-S -p  echo two"]
    );
}

#[test]
fn a_wrong_one_is_forgotten_and_asked_for_again() {
    // check 31
    let place = with_stand_in("");
    let code = "from hermes_tools import terminal\n\
                first = terminal('sudo echo in')\n\
                print([first.get(n) for n in ['sudo_auth_failed', 'sudo_cache_cleared']])\n\
                print(terminal('sudo echo in')['output'])";
    let call = serde_json::json!({ "code": code }).to_string();
    let mut hermes = place
        .hermes(&["tools", "call", "execute_code", &call])
        .start_at_terminal();
    hermes.wait_for("[d]eny");
    hermes.press("o\r");
    for password in ["wrong", PASSWORD] {
        hermes.wait_for("continue without): ");
        hermes.press(&format!("{password}\r"));
    }
    let outcome = hermes.wait();
    outcome
        .succeeds()
        .prints_part(r#""output":"[True, True]\nin\n""#);
}

#[test]
fn enter_and_ctrl_c_type_nothing_and_none_is_asked_for_that_is_not_needed() {
    // check 31
    let place = with_stand_in("");
    let start = || {
        place
            .hermes(&["exec", "--", "sudo echo in"])
            .start_at_terminal()
    };
    let mut hermes = start();
    hermes.wait_for("continue without): ");
    hermes.press("\r");
    hermes.wait().exits(1).prints_part("a terminal is required");
    let mut hermes = start();
    hermes.wait_for("continue without): ");
    hermes.press("\u{3}");
    hermes.wait().exits(130);
    // The terminal shows again what is typed.
    let mut shell = place
        .hermes(&[
            "-c",
            "\"$HERMES\" exec -- 'sudo true'; stty -a | tr ' ' '\\n' | grep -x -e echo -e -echo",
        ])
        .program("/bin/sh")
        .env("HERMES", place.home.program())
        .start_at_terminal();
    shell.wait_for("continue without): ");
    shell.press("\r");
    let outcome = shell.wait();
    assert_eq!(outcome.stdout.lines().last(), Some("echo"), "{outcome}");
    std::fs::write(place.home.outside("calls.free"), "").unwrap();
    let outcome = start().wait();
    outcome.succeeds().prints("in\n");
}

/// Gives the machine a user with a password who may use sudo, for this program only: `/etc` is a
/// copy.
const USER: &str = r#"
cp -a /etc "$WHERE/etc"
mount --bind "$WHERE/etc" /etc
echo 'tester:x:4711:4711::/nonexistent:/bin/sh' >> /etc/passwd
echo 'tester:x:4711:' >> /etc/group
echo 'tester:*:19000:0:99999:7:::' >> /etc/shadow
echo 'tester:open-sesame-1001' | chpasswd
printf 'Defaults lecture=never\ntester ALL=(ALL) ALL\n' > /etc/sudoers
chmod 0440 /etc/sudoers
rm -rf /etc/sudoers.d
chown -R 4711:4711 "$HOME" "$TMPDIR" "$PWD"
exec setpriv --reuid 4711 --regid 4711 --clear-groups "$0" "$@"
"#;

#[test]
fn the_real_sudo_takes_it() {
    // check 31
    assert!(
        rustix::process::geteuid().is_root(),
        "only root can make a user with a password"
    );
    let place = Place::new();
    let scratch = place.home.outside("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let place = place.env("WHERE", &scratch);
    let run = |password: &str, command: &str| {
        place
            .hermes(&["exec", "--json", "--", command])
            .reachable_by_all()
            .env("SUDO_PASSWORD", password)
            .in_mount_namespace(USER)
            .run()
            .json()
    };
    let result = run(PASSWORD, "id -un; sudo id -un && sudo -k id -un");
    assert_eq!(result["output"], "tester\nroot\nroot", "{result}");
    let result = run("certainly-not-it", "sudo id -un");
    assert_eq!(result["exit_code"], 1, "{result}");
    assert_eq!(result["sudo_auth_failed"], true, "{result}");
}
