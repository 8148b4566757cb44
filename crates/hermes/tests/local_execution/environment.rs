//! Which variables children get.

use std::os::unix::fs::PermissionsExt;

use hermes_testkit::ProgramCall;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{Place, has_variable, text};

const MARKERS: [&str; 7] = [
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "UV_PROJECT_ENVIRONMENT",
    "POETRY_ACTIVE",
    "PIPENV_ACTIVE",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
];

fn with_markers(place: Place) -> Place {
    MARKERS
        .iter()
        .fold(place, |place, name| place.env(name, "/elsewhere/venv"))
}

fn executable(place: &Place, name: &str) {
    let path = place.home.put_outside(name, "#!/bin/sh\n", 0o755);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

/// Fate of a variable in a class, as doctor tells it.
fn fate(run: ProgramCall, name: &str) -> String {
    let receipt = run.run().succeeds().json();
    let rows = receipt["variables"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name);
    row.and_then(|row| row["fate"].as_str())
        .unwrap_or("absent")
        .to_owned()
}

fn fates(place: &Place, classes: &str, name: &str) -> Vec<String> {
    let classes = classes.chars().map(|class| class.to_string());
    classes
        .map(|class| {
            fate(
                place.hermes(&["doctor", "--json", "--child-env", &class]),
                name,
            )
        })
        .collect()
}

#[test]
fn no_child_inherits_an_activated_environment() {
    // check 1
    let place = with_markers(Place::that_approves()).env("PYTHONHOME", "/elsewhere/python");
    let mut talk = place.talk();
    for (kind, output) in talk.environments() {
        assert!(has_variable(&output, "HOME"), "{kind}: {output}");
        for name in MARKERS.into_iter().chain(["PYTHONHOME"]) {
            assert!(!has_variable(&output, name), "{kind} has {name}");
        }
    }
    for name in MARKERS.into_iter().chain(["PYTHONHOME"]) {
        for fate in fates(&place, "ABCDEFG", name) {
            assert!(fate == "stripped" || fate == "absent", "{name}: {fate}");
        }
    }
}

#[test]
fn an_activated_environment_passes_through_when_it_is_named() {
    // check 2
    for key in ["terminal", "tools"] {
        let place = with_markers(Place::with_config(&format!(
            "approvals: {{noninteractive_mode: approve}}\n{key}:\n  env_passthrough: [VIRTUAL_ENV]\n"
        )));
        for (kind, output) in place.talk().environments() {
            for name in MARKERS {
                let wanted = name == "VIRTUAL_ENV";
                assert_eq!(has_variable(&output, name), wanted, "{key}, {kind}, {name}");
            }
        }
    }
}

#[test]
fn an_installation_of_the_reference_does_not_shadow_the_users_programs() {
    // check 3
    let place = Place::new();
    let venv = place.home.path("hermes-agent/venv");
    for name in ["pip", "python", "hermes"] {
        executable(
            &place,
            &format!("user/.hermes/hermes-agent/venv/bin/{name}"),
        );
    }
    for name in ["pip", "python"] {
        executable(&place, &format!("own/{name}"));
    }
    let own = place.home.outside("own");
    let bin = venv.join("bin");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), own.display());
    let python_path = format!("{}:/foreign", venv.join("lib").display());
    let place = place
        .env("VIRTUAL_ENV", venv)
        .env("PATH", &path)
        .env("PYTHONPATH", python_path);
    // Login scripts that leave the path alone, name the installation again, or forget everything.
    for (login, is_own) in [
        (String::new(), false),
        (format!("PATH={path}\n"), true),
        ("PATH=/usr/bin:/bin\n".to_owned(), false),
    ] {
        std::fs::write(place.home.user_home().join(".profile"), &login).unwrap();
        let mut talk = place.talk();
        let result = talk.run("command -v pip python");
        let found = text(&result, "output");
        assert!(!found.contains("hermes-agent"), "{login:?}: {found}");
        if is_own {
            assert_eq!(found, format!("{0}/pip\n{0}/python", own.display()));
        }
        assert_eq!(talk.output("echo $PYTHONPATH"), "/foreign");
        let hermes = talk.output("readlink -f \"$(command -v hermes)\"");
        let running = place.home.program().canonicalize().unwrap();
        assert_eq!(hermes, running.display().to_string(), "{login:?}");
    }
}

#[test]
fn an_environment_activated_in_a_session_stays_in_that_session() {
    // check 4
    let place = Place::new();
    place.home.put_outside(
        "work/x/bin/activate",
        "export VIRTUAL_ENV=\"$PWD/x\"\nexport PATH=\"$VIRTUAL_ENV/bin:$PATH\"\n",
        0o644,
    );
    let mut talk = place.talk();
    talk.output("source x/bin/activate");
    let venv = place.work("x").display().to_string();
    assert_eq!(talk.output("echo $VIRTUAL_ENV"), venv);
    assert_eq!(talk.background("echo $VIRTUAL_ENV", false), venv);
    assert_eq!(talk.output_in("other", "echo [$VIRTUAL_ENV]"), "[]");
}

const SECRETS: [&str; 5] = [
    "OPENAI_API_KEY",
    "GH_TOKEN",
    "SUDO_PASSWORD",
    "AUXILIARY_VISION_API_KEY",
    "GATEWAY_RELAY_X_TOKEN",
];

fn with_secrets(config: &str) -> Place {
    SECRETS
        .iter()
        .fold(Place::with_config(config), |place, name| {
            place.env(name, format!("value-of-{name}"))
        })
}

#[test]
fn credentials_of_hermes_stay_with_hermes() {
    // check 5
    let place = with_secrets("approvals: {noninteractive_mode: approve}\n");
    for (kind, output) in place.talk().environments() {
        for name in SECRETS {
            assert!(!has_variable(&output, name), "{kind} has {name}");
        }
    }
    for name in SECRETS {
        for fate in fates(&place, "ABCDF", name) {
            assert!(fate == "stripped" || fate == "absent", "{name}: {fate}");
        }
    }
}

#[test]
fn a_credential_in_the_common_list_is_refused_with_one_warning() {
    // check 5
    let place = with_secrets("terminal:\n  env_passthrough: [OPENAI_API_KEY, PLAIN]\n")
        .env("PLAIN", "plain");
    let mut talk = place.talk();
    for _ in 0..2 {
        let output = talk.output("env");
        assert!(!has_variable(&output, "OPENAI_API_KEY"));
        assert!(has_variable(&output, "PLAIN"));
    }
    drop(talk);
    let log = place.log();
    let refusals = log
        .lines()
        .filter(|line| line.contains("WARN") && line.contains("OPENAI_API_KEY"));
    assert_eq!(refusals.count(), 1, "{log}");
}

#[test]
fn only_the_trusted_list_gives_a_credential_and_only_to_shells() {
    // check 5
    let place = with_secrets(
        "approvals: {noninteractive_mode: approve}\n\
         terminal: {trusted_env_passthrough: [GH_TOKEN, AUXILIARY_VISION_API_KEY]}\n",
    );
    for (kind, output) in place.talk().environments() {
        assert_eq!(
            has_variable(&output, "GH_TOKEN"),
            kind != "script",
            "{kind}"
        );
        assert!(!has_variable(&output, "AUXILIARY_VISION_API_KEY"), "{kind}");
        assert!(!output.contains("value-of-"), "values are masked: {kind}");
    }
    let kept: Vec<bool> = fates(&place, "ABCDF", "GH_TOKEN")
        .iter()
        .map(|fate| fate == "kept")
        .collect();
    assert_eq!(kept, [true, false, false, false, false]);
}

#[test]
fn general_credentials_of_the_user_are_inherited() {
    // check 6
    let place = Place::new()
        .env("CLAUDE_CODE_OAUTH_TOKEN", "oauth-value-1")
        .env("AWS_ACCESS_KEY_ID", "aws-value-1");
    let lengths = "echo ${#CLAUDE_CODE_OAUTH_TOKEN} ${#AWS_ACCESS_KEY_ID}";
    assert_eq!(place.output(lengths), "13 11");
}

#[test]
fn a_key_named_only_in_the_settings_is_a_credential() {
    // check 37
    let place = Place::with_config("custom_providers:\n  - name: own\n    api_key: ${MY_KEY}\n");
    place.home.put(".env", "MY_KEY=canary-0123456789\n");
    let place = place.env("MY_KEY", "canary-0123456789");
    let mut talk = place.talk();
    let environment = talk.output("env");
    assert!(!has_variable(&environment, "MY_KEY"), "{environment}");
    let shown = talk.run(&format!("cat {}", place.home.path(".env").display()));
    let shown = shown.to_string();
    assert!(
        shown.contains("MY_KEY") && !shown.contains("canary-0123456789"),
        "{shown}"
    );
}

#[cfg(debug_assertions)]
mod homes {
    use pretty_assertions::assert_eq;

    use super::Place;

    fn homes(place: &Place) -> String {
        place.talk_on_host().output("echo $HOME $HERMES_REAL_HOME")
    }

    fn with_profile_home(mode: &str) -> Place {
        let place = Place::with_config(&format!("terminal: {{home_mode: {mode}}}\n"));
        std::fs::create_dir(place.home.path("home")).unwrap();
        place
    }

    #[test]
    fn home_is_what_the_mode_says() {
        // check 8
        for (mode, container, profile) in [
            ("profile", false, true),
            ("isolated", false, true),
            ("real", false, false),
            ("real", true, false),
            ("auto", false, false),
            ("auto", true, true),
        ] {
            let place = with_profile_home(mode);
            if container {
                place.home.put_outside("fake-root/.dockerenv", "", 0o644);
            }
            let real = place.home.user_home();
            let wanted = if profile {
                place.home.path("home")
            } else {
                real.clone()
            };
            assert_eq!(
                homes(&place),
                format!("{} {}", wanted.display(), real.display()),
                "{mode}, container: {container}"
            );
        }
    }

    #[test]
    fn the_first_shell_makes_a_missing_profile_home() {
        use std::os::unix::fs::PermissionsExt;

        let place = Place::with_config("terminal: {home_mode: profile}\n");
        let home = place.home.path("home");
        assert!(!home.exists());
        let real = place.home.user_home();
        assert_eq!(
            homes(&place),
            format!("{} {}", home.display(), real.display())
        );
        let mode = std::fs::metadata(&home).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // A profile that somebody made by hand has none either.
        let by_hand = place.home.path("profiles/byhand");
        std::fs::create_dir_all(&by_hand).unwrap();
        place.home.put(
            "profiles/byhand/config.yaml",
            "terminal: {home_mode: profile}\n",
        );
        let outcome = place
            .home
            .run(["-p", "byhand", "exec", "--", "printenv", "HOME"]);
        let wanted = by_hand.join("home");
        outcome
            .succeeds()
            .prints(&format!("{}\n", wanted.display()));
        assert!(wanted.is_dir());
    }

    #[test]
    fn a_home_that_was_replaced_is_found_again() {
        // check 8
        let place = with_profile_home("real");
        let root = place.home.root();
        let place = place
            .env("HERMES_HOME", root.clone())
            .env("HOME", root.join("home"));
        let uid = rustix::process::getuid().as_raw().to_string();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap();
        let account = accounts
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.get(2) == Some(&uid.as_str()));
        // A user without an entry has no home to go back to.
        if let Some(fields) = account {
            assert_eq!(homes(&place), format!("{0} {0}", fields[5]));
        }
    }
}

/// A user whose login shell resets PATH, as Debian's does, and whose caller has three directories
/// more: one of an activated environment, one that the login shell knows too, and one of its own.
fn with_reset_path(config: &str) -> Place {
    let place = Place::with_config(config);
    for name in ["tools/only-here", "venv/bin/only-active", "both/shared"] {
        let text = format!("#!/bin/sh\necho {name}\n");
        place.home.put_outside(name, text, 0o755);
    }
    let at = |name: &str| place.home.outside(name).display().to_string();
    let profile = format!("PATH={}:/usr/bin:/bin\nexport PATH\n", at("both"));
    std::fs::write(place.home.user_home().join(".profile"), profile).unwrap();
    let path = format!(
        "{}:{}:{}:/usr/bin:/bin",
        at("venv/bin"),
        at("tools"),
        at("both")
    );
    let venv = at("venv");
    place.env("PATH", path).env("VIRTUAL_ENV", venv)
}

#[test]
fn programs_of_the_caller_are_found_though_the_login_shell_resets_path() {
    let place = with_reset_path("approvals:\n  noninteractive_mode: approve\n");
    let outcome = place.hermes(&["exec", "--", "only-here"]).run();
    outcome.succeeds().prints("tools/only-here\n");
    let outcome = place.hermes(&["exec", "--", "shared"]).run();
    outcome.succeeds().prints("both/shared\n");
    let outcome = place.hermes(&["exec", "--", "only-active"]).run();
    // An activation is not inherited by halves.
    outcome.exits(127);
    // A session that changes PATH has what it set, with nothing of the caller's added again.
    let mut talk = place.talk();
    talk.output("export PATH=/usr/bin:/bin");
    assert_eq!(talk.output("command -v only-here || echo gone"), "gone");

    let passed = with_reset_path("terminal: {env_passthrough: [VIRTUAL_ENV]}\n");
    let outcome = passed.hermes(&["exec", "--", "only-active"]).run();
    outcome.succeeds().prints("venv/bin/only-active\n");
}

#[test]
fn receipt_says_which_entry_of_path_came_from_where() {
    let place = with_reset_path("");
    let outcome = place.hermes(&["doctor", "--child-env", "--json"]).run();
    let receipt: Value = outcome.succeeds().json();
    let at = |name: &str| place.home.outside(name).display().to_string();
    let found = |list: &str, key: &str| {
        let entries = receipt["search_path"][list].as_array().unwrap();
        let pair = |entry: &Value| {
            let directory = text(entry, "directory").to_owned();
            (directory, text(entry, key).to_owned())
        };
        entries.iter().map(pair).collect::<Vec<_>>()
    };
    let of = |name: &str, from: &str| (name.to_owned(), from.to_owned());
    let link = place.home.path("cache/bin");
    let entries = found("entries", "from");
    let expected = [
        of(&link.display().to_string(), "hermes-link"),
        of(&at("both"), "login-shell"),
        of("/usr/bin", "login-shell"),
        of("/bin", "login-shell"),
        of(&at("tools"), "caller"),
    ];
    assert_eq!(entries[..5], expected);
    assert!(
        entries[5..].iter().all(|(_, from)| from == "system"),
        "{entries:?}"
    );
    assert_eq!(
        found("dropped", "rule"),
        [of(&at("venv/bin"), "t3-activation")]
    );
    let outcome = place.hermes(&["doctor", "--child-env"]).run();
    outcome
        .succeeds()
        .prints_part("PATH that Hermes started with");
    assert!(!link.exists(), "doctor makes nothing");
}

#[test]
fn doctor_lists_names_and_no_values() {
    let place = with_secrets("");
    let outcome = place.hermes(&["doctor", "--child-env", "--json"]).run();
    let receipt: Value = outcome.succeeds().never_shows("value-of-").json();
    assert_eq!(receipt["class"], "A");
}

#[test]
fn the_keychain_is_linked_by_the_first_command_however_many_come_first() {
    // check 9
    let keychain = |place: &Place| place.home.user_home().join("Library/Keychains");
    let link = |place: &Place| place.home.path("home/Library/Keychains");
    let prepared = |config: &str| {
        let place = Place::with_config(config);
        std::fs::create_dir_all(keychain(&place)).unwrap();
        std::fs::create_dir_all(place.home.path("home")).unwrap();
        place
    };
    let place = prepared("terminal: {home_mode: profile}\n");
    std::thread::scope(|scope| {
        for _ in 0..20 {
            let place = &place;
            scope.spawn(move || {
                let outcome = place.hermes(&["exec", "--", "echo ok"]).run();
                outcome.succeeds().prints("ok\n").says("");
            });
        }
    });
    let target = |place: &Place| std::fs::read_link(link(place)).unwrap();
    assert_eq!(target(&place), keychain(&place));
    let library = std::fs::read_dir(place.home.path("home/Library")).unwrap();
    assert_eq!(library.count(), 1);
    // A link that leads nowhere is mended, a directory of the user's own is left alone.
    std::fs::remove_file(link(&place)).unwrap();
    std::os::unix::fs::symlink("/no/such/place", link(&place)).unwrap();
    place.output("true");
    assert_eq!(target(&place), keychain(&place));
    std::fs::remove_file(link(&place)).unwrap();
    std::fs::create_dir(link(&place)).unwrap();
    std::fs::write(link(&place).join("mine"), "").unwrap();
    place.output("true");
    assert!(link(&place).join("mine").exists());
    let declined = prepared("terminal: {home_mode: profile, profile_home_keychain: false}\n");
    declined.output("true");
    assert!(!link(&declined).exists());
}
