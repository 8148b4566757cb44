//! Which profile a command is about.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hermes_config::vars;
use hermes_home::{
    HomeKind, SelectError, Selection, SelectionSource, SystemFacts, command_of, select,
};
use pretty_assertions::assert_eq;

use crate::test_root::{TestRoot, args, name, system, write};

fn place_with(profiles: &[&str]) -> TestRoot {
    let test = TestRoot::new();
    for profile in profiles {
        std::fs::create_dir_all(test.profile(profile)).unwrap();
    }
    test
}

fn run(test: &TestRoot, words: &[&str]) -> Result<Selection, SelectError> {
    select(&args(words), &test.env(), &system())
}

/// The label of the profile, what decided, and the arguments that are left.
fn outcome(test: &TestRoot, words: &[&str]) -> (String, SelectionSource, Vec<OsString>) {
    let selection = run(test, words).unwrap();
    (
        selection.location.profile_label().to_owned(),
        selection.source,
        selection.args,
    )
}

#[test]
fn the_flag_is_found_anywhere_and_taken_out() {
    let test = place_with(&["coder"]);
    for words in [
        &["-p", "coder", "chat", "x"][..],
        &["chat", "-p", "coder", "x"],
        &["chat", "x", "--profile", "coder"],
        &["--profile=coder", "chat", "x"],
        &["chat", "--profile=Coder", "x"],
        &["chat", "x", "-p", " CODER "],
    ] {
        assert_eq!(
            outcome(&test, words),
            (
                "coder".to_owned(),
                SelectionSource::Flag,
                args(&["chat", "x"])
            ),
            "{words:?}"
        );
    }
    let selection = run(&test, &["-p", "coder"]).unwrap();
    assert_eq!(selection.location.home, test.profile("coder"));
}

#[test]
fn arguments_of_others_are_left_alone() {
    let test = place_with(&["coder", "x"]);
    for words in [
        &["chat", "--", "-p", "coder"][..],
        &["mcp", "add", "x", "--args", "cmd", "--profile", "coder"],
        &["-p", "no:xdist", "status"],
        &["status", "-p"],
        &["-z", "-p", "chat"],
        &["--oneshot", "--profile=coder"],
        &[
            "-m",
            "-p",
            "--provider",
            "-p",
            "-t",
            "-p",
            "-r",
            "-p",
            "-s",
            "-p",
        ],
        &["--usage-file", "--profile=../x"],
        &["-c", "--", "-p", "coder"],
    ] {
        assert_eq!(
            outcome(&test, words),
            ("default".to_owned(), SelectionSource::Default, args(words)),
            "{words:?}"
        );
    }
}

#[test]
fn stops_and_skips_end_where_they_should() {
    let test = place_with(&["coder"]);
    for (words, left) in [
        // `--args` elsewhere is nobody's business.
        (
            &["chat", "--args", "-p", "coder"][..],
            &["chat", "--args"][..],
        ),
        (
            &["add", "mcp", "--args", "-p", "coder"],
            &["add", "mcp", "--args"],
        ),
        // A value that is skipped is one argument, not two.
        (&["-z", "x", "-p", "coder"], &["-z", "x"]),
        (&["-c", "-p", "coder"], &["-c"]),
        (&["-c", "name", "-p", "coder"], &["-c", "name"]),
        (&["--model=x", "-p", "coder"], &["--model=x"]),
        // Somebody else's `-p` does not hide ours.
        (&["-p", "no:xdist", "-p", "coder"], &["-p", "no:xdist"]),
        // The first one counts; the second is left for the usage error.
        (&["-p", "coder", "-p", "other"], &["-p", "other"]),
    ] {
        let (label, source, rest) = outcome(&test, words);
        assert_eq!(
            (label.as_str(), source),
            ("coder", SelectionSource::Flag),
            "{words:?}"
        );
        assert_eq!(rest, args(left), "{words:?}");
    }
}

#[test]
fn bytes_that_are_no_text_survive() {
    let test = place_with(&["coder"]);
    let odd = OsStr::from_bytes(b"-\xff=\xfe").to_owned();
    let words = [odd.clone(), "-p".into(), "coder".into(), odd.clone()];
    let selection = select(&words, &test.env(), &system()).unwrap();
    assert_eq!(selection.args, [odd.clone(), odd]);

    let unreadable = OsStr::from_bytes(b"--profile=\xff").to_owned();
    let error = select(&[unreadable], &test.env(), &system()).unwrap_err();
    assert!(matches!(error, SelectError::Name(_)), "{error}");
}

#[test]
fn a_bad_value_behind_the_equals_sign_is_an_error() {
    let test = place_with(&[]);
    for word in ["--profile=no:xdist", "--profile=../x", "--profile="] {
        let error = run(&test, &["status", word]).unwrap_err();
        assert!(matches!(error, SelectError::Name(_)), "{word}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_missing_profile_is_named_with_the_way_to_create_it() {
    let test = place_with(&[]);
    let error = run(&test, &["-p", "Nosuch", "chat"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Profile 'nosuch' does not exist. Create it with: hermes profile create nosuch"
    );
    // A file of that name is no profile.
    write(&test.profile("nosuch"), "");
    assert!(run(&test, &["-p", "nosuch", "chat"]).is_err());
}

#[test]
fn a_home_below_profiles_is_trusted_before_the_pointer() {
    let test = place_with(&["coder", "writer"]);
    write(&test.root().join("active_profile"), "writer\n");
    let env = test.env().with(&vars::HERMES_HOME, test.profile("coder"));
    let selection = select(&args(&["chat"]), &env, &system()).unwrap();
    assert_eq!(selection.source, SelectionSource::Environment);
    assert_eq!(selection.location.kind, HomeKind::Named(name("coder")));
    // The flag is stronger, and counts from the same root.
    let selection = select(&args(&["-p", "default"]), &env, &system()).unwrap();
    assert_eq!(selection.location.home, test.root());
    // A root in the variable does not keep the pointer from being read.
    let env = test.env().with(&vars::HERMES_HOME, test.root());
    let selection = select(&args(&["chat"]), &env, &system()).unwrap();
    assert_eq!(selection.source, SelectionSource::Sticky);
    assert_eq!(selection.location.home, test.profile("writer"));
    // A relative one is made absolute first.
    let facts = SystemFacts {
        start_dir: Some(test.root()),
        ..system()
    };
    let env = test.env().with(&vars::HERMES_HOME, "profiles/coder");
    let selection = select(&[], &env, &facts).unwrap();
    assert_eq!(selection.source, SelectionSource::Environment);
    assert_eq!(selection.location.home, test.profile("coder"));
}

#[test]
fn the_pointer_counts_when_nothing_else_does() {
    let test = place_with(&["coder"]);
    let pointer = test.root().join("active_profile");
    for text in ["coder\n", "  Coder ", "coder"] {
        write(&pointer, text);
        assert_eq!(outcome(&test, &["chat"]).0, "coder");
        assert_eq!(outcome(&test, &["chat"]).1, SelectionSource::Sticky);
    }
    for text in ["", "\n", "default\n", "DEFAULT"] {
        write(&pointer, text);
        assert_eq!(
            outcome(&test, &["chat"]).1,
            SelectionSource::Default,
            "{text:?}"
        );
    }
    std::fs::write(&pointer, b"\xff\xfe").unwrap();
    assert_eq!(outcome(&test, &["chat"]).1, SelectionSource::Default);
    std::fs::remove_file(&pointer).unwrap();
    std::fs::create_dir(&pointer).unwrap();
    assert_eq!(outcome(&test, &["chat"]).1, SelectionSource::Default);
}

#[test]
fn a_supervised_child_ignores_the_pointer() {
    let test = place_with(&["coder"]);
    write(&test.root().join("active_profile"), "coder\n");
    let env = test.env().with(&vars::HERMES_S6_SUPERVISED_CHILD, "1");
    let selection = select(&args(&["gateway", "run"]), &env, &system()).unwrap();
    assert_eq!(selection.location.kind, HomeKind::Default);
}

#[test]
fn a_pointer_to_nowhere_stops_all_but_the_commands_that_repair_it() {
    let test = place_with(&["coder"]);
    write(&test.root().join("active_profile"), "gone\n");
    let error = run(&test, &["status"]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("Profile 'gone' does not exist.")
    );
    assert_eq!(
        error.hint().unwrap(),
        "~/.hermes/active_profile selects it; go back with: hermes profile use default"
    );
    for words in [
        &["profile", "use", "default"][..],
        &["--verbose", "profile", "list"],
        &["-m", "x", "profile"],
    ] {
        assert_eq!(outcome(&test, words).0, "default", "{words:?}");
    }
    // The word must be the command, not a value.
    assert!(run(&test, &["-z", "profile"]).is_err());
    assert!(run(&test, &["chat", "profile"]).is_err());
    // A flag works even so.
    assert_eq!(outcome(&test, &["-p", "coder", "chat"]).0, "coder");

    write(&test.root().join("active_profile"), "../../etc\n");
    let error = run(&test, &["status"]).unwrap_err();
    assert!(matches!(error, SelectError::StickyName { .. }), "{error}");
    assert!(run(&test, &["profile"]).is_ok());
    // A container boots all the same.
    for verb in ["reconcile", "registrar"] {
        assert!(run(&test, &["internal", verb]).is_ok(), "{verb}");
    }
    assert!(run(&test, &["internal", "log"]).is_err());
}

#[test]
fn the_current_profile_of_profile_commands_is_the_sticky_one() {
    let test = place_with(&["coder"]);
    let current = |words: &[&str]| {
        let name = run(&test, words).unwrap().current_profile().unwrap();
        name.to_string()
    };
    assert_eq!(current(&["profile"]), "default");
    write(&test.root().join("active_profile"), "coder\n");
    assert_eq!(current(&["profile"]), "coder");
    assert_eq!(current(&["-p", "default", "profile"]), "default");
    write(&test.root().join("active_profile"), "gone\n");
    assert_eq!(current(&["profile"]), "default");
}

#[test]
fn under_sudo_the_profiles_of_the_user_are_found() {
    let test = place_with(&[]);
    let user = test.path("home-of-u");
    std::fs::create_dir_all(user.join(".hermes/profiles/coder")).unwrap();
    write(
        &test.path("passwd"),
        &format!("u:x:1000:1000::{}:/bin/sh\n", user.display()),
    );
    let try_as = |uid: u32, sudo_user: &str| {
        let facts = SystemFacts {
            uid,
            passwd: test.path("passwd"),
            ..system()
        };
        let env = test.env().with(&vars::SUDO_USER, sudo_user);
        select(&args(&["-p", "coder", "gateway"]), &env, &facts)
    };
    let selection = try_as(0, "u").unwrap();
    assert_eq!(selection.location.root, user.join(".hermes"));
    assert_eq!(selection.location.home, user.join(".hermes/profiles/coder"));
    assert_eq!(selection.location.kind, HomeKind::Named(name("coder")));
    assert!(try_as(1000, "u").is_err());
    assert!(try_as(0, "root").is_err());
    assert!(try_as(0, "nobody-here").is_err());
    // One's own profile comes first.
    std::fs::create_dir_all(test.profile("coder")).unwrap();
    assert_eq!(try_as(0, "u").unwrap().location.home, test.profile("coder"));
}

#[test]
fn the_command_is_the_first_word_that_is_no_option() {
    let of = |words: &[&str]| command_of(&args(words)).map(str::to_owned);
    assert_eq!(of(&["-v", "chat", "x"]), Some("chat".to_owned()));
    assert_eq!(of(&["-p", "coder", "chat"]), Some("chat".to_owned()));
    assert_eq!(of(&["--", "chat"]), None);
    assert_eq!(of(&[]), None);
}
