//! What an install does and leaves.

use std::fs;

use pretty_assertions::assert_eq;

use crate::{ABI, Desk, FEATURE, error_code, names};

// check 1
#[test]
fn a_list_in_an_empty_home_starts_nothing_and_makes_nothing() {
    let desk = Desk::new();
    let list = desk.addons(&["list", "--json"]);
    let json = list.succeeds().json();
    assert_eq!(json["store"]["path"], desk.store().to_str().unwrap());
    assert_eq!(json["gate"]["allowed"], true);
    assert_eq!(json["addons"].as_array().unwrap().len(), 0);
    assert_eq!(json["interpreter"], serde_json::Value::Null);
    desk.addons(&["list"])
        .succeeds()
        .prints("No add-ons are installed.\n")
        .says("`hermes addons list --all` shows what can be installed.\n");
    desk.addons(&["list", "--all"])
        .succeeds()
        .prints_part("platform.feishu          absent");
    assert_eq!(desk.installs(), 0);
    assert!(!desk.home.root().exists());
}

// check 2
#[test]
fn a_native_feature_needs_nothing() {
    let desk = Desk::new();
    desk.addons(&["install", "provider.anthropic"])
        .succeeds()
        .prints("✓ provider.anthropic needs no add-on: nothing to install\n");
    let json = desk.addons(&["install", "provider.anthropic", "--json"]);
    assert_eq!(json.succeeds().json()["installed"][0]["state"], "native");
    assert_eq!(desk.state("provider.anthropic"), "native");
    desk.addons(&["show", "provider.anthropic"])
        .succeeds()
        .prints_part("nothing has to be installed");
    assert_eq!(desk.installs(), 0);
    assert!(!desk.store().exists());
}

/// Ours is a part of what the chapter calls native; the rest must not claim to be there.
#[test]
fn what_this_version_does_not_do_says_so() {
    let desk = Desk::new();
    let list = desk.addons(&["list", "--all", "--json"]);
    let rows = list.succeeds().json()["addons"].clone();
    let native: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["state"] == "native")
        .map(|row| row["feature"].as_str().unwrap())
        .collect();
    assert_eq!(
        native,
        ["provider.anthropic", "tool.dashboard", "tool.vision"]
    );
    for feature in ["search.exa", "tts.edge", "platform.telegram"] {
        let row = desk.row(feature);
        assert_eq!(
            (&row["state"], &row["kind"]),
            (&"planned".into(), &"none".into())
        );
        let refused = desk.addons(&["install", feature, "--json"]);
        refused.exits(3);
        assert_eq!(error_code(&refused), "unsupported");
        desk.addons(&["install", feature]).refuses(
            3,
            &format!(
                "Feature '{feature}' unavailable: it is not part of this version of Hermes, \
                 natively or as an add-on"
            ),
        );
        desk.addons(&["show", feature])
            .succeeds()
            .prints_part("not part of this version of Hermes");
        desk.addons(&["install", feature, "--dry-run"])
            .succeeds()
            .prints(&format!("{feature}: nothing to install (planned)\n"));
    }
    assert_eq!(desk.installs(), 0);
}

// check 3
#[test]
fn only_names_of_the_catalog_can_be_installed() {
    let desk = Desk::new();
    desk.addons(&["install", "platform.fieshu"])
        .refuses(
            2,
            "Feature 'platform.fieshu' unavailable: not in the add-on catalog",
        )
        .says_part(
            "hint: did you mean platform.feishu? `hermes addons list --all` shows all features\n",
        );
    for name in ["nope.x", "evil; rm -rf x", "git+https://host/x", "../x", ""] {
        let outcome = desk.addons(&["install", name, "--json"]);
        outcome.exits(2);
        assert_eq!(error_code(&outcome), "unknown_feature");
    }
    desk.addons(&["install", "platform.teams"])
        .exits(3)
        .says_part("it is not part of this version of Hermes");
    assert_eq!(desk.installs(), 0);
    assert!(!desk.store().exists());
}

// check 5
#[test]
fn the_installer_gets_the_lock_and_none_of_the_secrets() {
    let desk = Desk::new();
    let install = desk.call(&["install", FEATURE]);
    let outside = [
        ("OPENAI_API_KEY", "sk-secret"),
        ("VIRTUAL_ENV", "/venv"),
        ("PYTHONPATH", "/evil"),
        ("UV_EXTRA_INDEX_URL", "https://evil"),
        ("PIP_EXTRA_INDEX_URL", "https://evil"),
        ("UV_INDEX", "https://evil"),
        ("PIP_INDEX_URL", "https://mirror.of.the.account/simple"),
    ];
    let install = outside
        .iter()
        .fold(install, |call, (name, value)| call.env(name, value));
    install.run().succeeds();
    let cwd = fs::read_to_string(desk.home.outside("calls.cwd")).unwrap();
    let stage = cwd.trim();
    assert!(
        stage.starts_with(desk.store().join("@stage").to_str().unwrap()),
        "{stage}"
    );
    assert_eq!(
        fs::read_to_string(desk.home.outside("calls"))
            .unwrap()
            .trim(),
        format!(
            "pip install --python {} --target {stage}/site --require-hashes --only-binary :all: \
             --no-deps --link-mode copy -r {stage}/requirements.lock",
            desk.home.outside("bin/python-of-the-test").display()
        )
    );
    let env = fs::read_to_string(desk.home.outside("calls.env")).unwrap();
    let mut given: Vec<&str> = env
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    given.sort_unstable();
    // The shell that plays the installer adds the last three.
    given.retain(|name| !["OLDPWD", "PWD", "SHLVL", "_"].contains(name));
    assert_eq!(
        given,
        [
            "HOME",
            "LANG",
            "NO_COLOR",
            "PATH",
            "PIP_CACHE_DIR",
            "PIP_INDEX_URL",
            "TMPDIR",
            "UV_CACHE_DIR",
            "UV_HTTP_RETRIES",
            "UV_HTTP_TIMEOUT",
            "UV_NO_PROGRESS",
            "UV_PYTHON_DOWNLOADS",
        ]
    );
}

#[test]
fn an_install_is_recorded_and_comes_into_service() {
    let desk = Desk::new();
    desk.install()
        .succeeds()
        .prints_part("✓ debug.selftest is installed: ");
    desk.addons(&["list"])
        .succeeds()
        .prints("No add-ons are installed, but the one for tests of the installation.\n");
    assert_eq!(
        fs::read_to_string(desk.store().join(".python-abi")).unwrap(),
        ABI
    );
    assert_eq!(
        names(&desk.store()),
        [
            ".hermes-addons.json",
            ".hermes-addons.lock",
            ".python-abi",
            "@envs",
            "@node",
            "@shim",
            "@stage",
            "@trash"
        ]
    );
    assert_eq!(desk.home.mode("lazy-packages"), 0o700);
    assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
    let row = desk.row(FEATURE);
    assert_eq!(row["state"], "installed");
    assert_eq!(row["version"], "0.7.2");
    let environment = desk.current(FEATURE);
    assert_eq!(names(&environment), [".lease", "record.json", "site"]);
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(environment.join("record.json")).unwrap()).unwrap();
    assert_eq!(record["abi"], ABI);
    assert_eq!(record["installer"]["tool"], "uv");
    assert_eq!(record["packages"][0]["name"], "isodate");
    assert_eq!(record["files"], 2);
    desk.addons(&["verify"])
        .succeeds()
        .prints("✓ debug.selftest: 2 files as recorded\n");

    // Nothing is done twice.
    desk.install()
        .succeeds()
        .prints("✓ debug.selftest is installed already\n");
    assert_eq!(desk.installs(), 1);
    assert_eq!(desk.current(FEATURE), environment);
    desk.addons(&["install", FEATURE, "--force"]).succeeds();
    assert_eq!(desk.installs(), 2);
    // The old one has gone.
    assert_eq!(names(environment.parent().unwrap()).len(), 1);
    assert_ne!(desk.current(FEATURE), environment);
}

#[test]
fn a_second_feature_leaves_the_first_alone() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    desk.install().succeeds();
    let first = desk.current(FEATURE);
    let record = fs::read(first.join("record.json")).unwrap();
    desk.addons(&["install", "skill.youtube"]).succeeds();
    assert_eq!(desk.current(FEATURE), first);
    assert_eq!(fs::read(first.join("record.json")).unwrap(), record);
    assert_eq!(desk.served("skill.youtube"), "VERSION = '0.7.1'\n");
    desk.addons(&["list"])
        .succeeds()
        .prints_part("skill.youtube  installed");
}

#[test]
fn several_features_are_all_tried_and_the_first_failure_counts() {
    let desk = Desk::new();
    let outcome = desk.addons(&["install", "nope.x", FEATURE, "platform.teams"]);
    outcome
        .exits(2)
        .prints_part("✓ debug.selftest is installed")
        .says_part("'nope.x'")
        .says_part("'platform.teams'");
}

// check 29
#[test]
fn a_moved_pin_is_stale_and_serves_until_the_new_one_is_proven() {
    let desk = Desk::new();
    desk.install().succeeds();
    desk.lock(FEATURE, "0.7.3");
    assert_eq!(desk.state(FEATURE), "stale");
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.2'\n");
    desk.uv("echo 'the mirror is on fire' >&2; exit 1");
    desk.install().exits(1).says_part("the mirror is on fire");
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.2'\n");
    desk.addons(&["verify"]).succeeds();
    desk.uv("");
    desk.install().succeeds();
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.3'\n");
    assert_eq!(desk.row(FEATURE)["version"], "0.7.3");
    assert_eq!(desk.state(FEATURE), "installed");
}

#[test]
fn another_interpreter_gets_an_environment_of_its_own_before_the_old_one_goes() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    desk.install().succeeds();
    desk.addons(&["install", "skill.youtube"]).succeeds();
    let old = desk.current(FEATURE);
    desk.python(13);
    desk.uv("echo 'no such luck'; exit 1");
    desk.install().exits(1);
    assert_eq!(desk.current(FEATURE), old);
    assert_eq!(
        fs::read_to_string(desk.store().join(".python-abi")).unwrap(),
        ABI
    );

    desk.uv("");
    desk.install().succeeds();
    assert_ne!(desk.current(FEATURE), old);
    assert!(!old.exists());
    let stamp = fs::read_to_string(desk.store().join(".python-abi")).unwrap();
    assert_eq!(stamp, "3.13:.cpython-313-x86_64-linux-gnu.so");
    // What was made for the old one goes with it, and comes back when asked for.
    assert_eq!(desk.state("skill.youtube"), "absent");
    desk.addons(&["install", "skill.youtube"]).succeeds();
    assert_eq!(desk.state("skill.youtube"), "installed");
}

#[test]
fn without_uv_and_pip_a_throw_away_environment_provides_pip() {
    let desk = Desk::new();
    let uv = desk.home.outside("bin/uv");
    let installer = desk.home.outside("bin/installer");
    fs::rename(&uv, &installer).unwrap();
    let python = desk.home.outside("bin/python-of-the-test");
    let script = fs::read_to_string(&python).unwrap();
    let installs = format!(
        "#!/bin/sh
         if [ \"$2 $3\" = '-m venv' ]; then
           mkdir -p \"$4/bin\"
           printf '#!/bin/sh\\n[ \"$4\" = --version ] && echo pip 25.0 && exit\\nexec {} \"$@\"\\n' \\
             > \"$4/bin/python\"
           chmod +x \"$4/bin/python\"
           exit
         fi
         [ \"$2 $3\" = '-m pip' ] && exit 1\n",
        installer.display()
    );
    fs::write(&python, script.replacen("#!/bin/sh\n", &installs, 1)).unwrap();
    desk.install().succeeds();
    let stage = fs::read_to_string(desk.home.outside("calls.cwd")).unwrap();
    let stage = stage.trim();
    assert_eq!(
        fs::read_to_string(desk.home.outside("calls"))
            .unwrap()
            .trim(),
        format!(
            "-I -m pip --no-input --disable-pip-version-check install --target {stage}/site \
             --require-hashes --only-binary :all: --no-deps --no-compile --timeout 15 --retries 1 \
             -r {stage}/requirements.lock"
        )
    );
    assert_eq!(
        names(&desk.current(FEATURE)),
        [".lease", "record.json", "site"]
    );
    // Nor can that one be made.
    let broken = script.replacen("#!/bin/sh\n", "#!/bin/sh\n[ \"$2\" = -m ] && exit 1\n", 1);
    fs::write(&python, broken).unwrap();
    let outcome = desk.addons(&["install", FEATURE, "--force", "--json"]);
    outcome.exits(3);
    assert_eq!(error_code(&outcome), "installer_missing");
}

// check 9
#[test]
fn a_failure_is_told_in_the_installers_own_words() {
    let desk = Desk::new();
    desk.uv("echo 'the conflict is on this stream'; echo 'and a line on that one' >&2; exit 1");
    let outcome = desk.install();
    outcome
        .exits(1)
        .prints("")
        .says_part("Error: Feature 'debug.selftest' unavailable: the installer failed: ")
        .says_part("uv 0.9.9 said:\n  and a line on that one\n  the conflict is on this stream\n")
        .says_part("hint: all of its output: ");
    let logs = desk.home.path("logs/addons");
    let log = names(&logs).pop().unwrap();
    assert_eq!(desk.home.mode(&format!("logs/addons/{log}")), 0o600);
    assert_eq!(names(&desk.store().join("@envs")), [""; 0]);
    assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
    let row = desk.row(FEATURE);
    assert_eq!(row["state"], "failed");
    assert_eq!(row["failure"]["code"], "installer_failed");
    desk.install().exits(1);
    assert_eq!(desk.row(FEATURE)["failure"]["count"], 2);
    desk.uv("");
    desk.install().succeeds();
    assert_eq!(desk.row(FEATURE)["failure"], serde_json::Value::Null);
    for _ in 0..12 {
        desk.uv("exit 1");
        desk.addons(&["install", FEATURE, "--force"]).exits(1);
    }
    assert!(names(&logs).len() <= 10, "{:?}", names(&logs));
}

#[test]
fn what_an_installer_says_becomes_a_code() {
    let desk = Desk::new();
    for (said, code, exit) in [
        (
            "error: Failed to fetch: `https://pypi.org/simple/isodate/`\n  Caused by: dns error",
            "offline",
            3,
        ),
        (
            "WARNING: Retrying after NewConnectionError('Connection refused')\n\
             ERROR: No matching distribution found for isodate==0.7.2 (from versions: none)",
            "offline",
            3,
        ),
        (
            "ERROR: No matching distribution found for isodate==0.7.2",
            "index_error",
            1,
        ),
        (
            "  × Failed to download `isodate==0.7.2`\n  ╰─▶ Hash mismatch for `isodate==0.7.2`",
            "hash_mismatch",
            1,
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "hash_mismatch",
            1,
        ),
        (
            "isodate==0.7.2 has no wheels with a matching Python ABI tag",
            "no_wheel",
            1,
        ),
        ("OSError: [Errno 28] No space left on device", "no_space", 3),
        ("something else", "installer_failed", 1),
    ] {
        desk.uv(&format!("cat >&2 <<'END'\n{said}\nEND\nexit 2"));
        let outcome = desk.addons(&["install", FEATURE, "--json"]);
        outcome.exits(exit);
        assert_eq!(error_code(&outcome), code, "{said}");
        let error = &outcome.json()["failed"][0];
        assert_eq!(error["installer"]["exit"], 2);
        assert_eq!(error["feature"], FEATURE);
        assert!(
            error["installer"]["tail"]
                .as_str()
                .unwrap()
                .contains(said.trim())
        );
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let desk = Desk::new();
    desk.addons(&["install", FEATURE, "--dry-run"])
        .succeeds()
        .prints("debug.selftest: would install 1 locked package, about 1 MB (absent now)\n");
    assert!(!desk.home.root().exists());
    desk.install().succeeds();
    desk.addons(&["install", FEATURE, "--dry-run"])
        .succeeds()
        .prints("debug.selftest: nothing to install (installed already)\n");
    desk.addons(&["install", FEATURE, "--dry-run", "--force"])
        .succeeds()
        .prints("debug.selftest: would install 1 locked package, about 1 MB (installed now)\n");
    assert_eq!(desk.installs(), 1);
}

#[test]
fn a_feature_is_shown_with_its_closure() {
    let desk = Desk::new();
    desk.home.put(".env", "MODAL_TOKEN_ID=ak-x\n");
    let json = desk.addons(&["show", "terminal.modal", "--json"]);
    let json = json.succeeds().json();
    assert_eq!(json["closure"].as_array().unwrap().len(), 37);
    assert_eq!(json["secrets"][0]["name"], "MODAL_TOKEN_ID");
    assert_eq!(json["secrets"][0]["set"], true);
    assert_eq!(json["secrets"][1]["set"], false);
    assert_eq!(json["gate"]["allowed"], true);
    desk.addons(&["info", "terminal.modal"])
        .succeeds()
        .prints_part("modal==1.3.4")
        .never_shows("ak-x");
    desk.addons(&["show", "platform.feshu"]).exits(2);
}

// check 25
#[test]
fn without_a_fitting_python_the_reason_is_given_and_everything_else_works() {
    let desk = Desk::new();
    let outcome = desk
        .call(&["install", "platform.feishu"])
        .env("HERMES_ADDON_PYTHON", "")
        .env("PATH", "/nowhere")
        .run();
    outcome
        .exits(3)
        .says_part("needs CPython 3.11 to 3.13; found: none");
    for minor in [9, 14] {
        desk.python(minor);
        let outcome = desk.addons(&["install", FEATURE, "--json"]);
        outcome.exits(3);
        assert_eq!(error_code(&outcome), "no_interpreter");
        outcome.prints_part(&format!("(3.{minor}"));
    }
    desk.addons(&["install", FEATURE, "--python", "/nowhere/python"])
        .exits(3)
        .says_part("/nowhere/python (no such program)");
    desk.home
        .put_outside("bin/python-of-the-test", "#!/bin/sh\necho hello\n", 0o755);
    desk.install()
        .exits(3)
        .says_part("does not answer as Python does");
    desk.home.run(["--version"]).succeeds();
    assert_eq!(desk.installs(), 0);
}

/// The hint of a machine without Python names `uv python install`.
#[test]
fn an_interpreter_that_uv_keeps_need_not_be_on_the_path() {
    let desk = Desk::new();
    let python = desk.home.outside("bin/python-of-the-test");
    let script = fs::read_to_string(desk.home.outside("bin/uv")).unwrap();
    let finds = format!(
        "#!/bin/sh\n[ \"$1 $2\" = 'python find' ] && {{ echo \"$*\" > {asked}; echo {python}; exit 0; }}\n",
        asked = desk.home.outside("asked").display(),
        python = python.display()
    );
    let script = script.replacen("#!/bin/sh\n", &finds, 1);
    desk.home.put_outside("bin/uv", script, 0o755);
    let install = desk.call(&["install", FEATURE]);
    install.env("HERMES_ADDON_PYTHON", "").run().succeeds();
    let asked = fs::read_to_string(desk.home.outside("asked")).unwrap();
    assert_eq!(asked, "python find --no-project >=3.11,<3.14\n");
    let record = fs::read_to_string(desk.current(FEATURE).join("record.json")).unwrap();
    assert!(record.contains(python.to_str().unwrap()), "{record}");
}

#[test]
fn settings_out_of_range_are_put_right_aloud() {
    let desk = Desk::new();
    desk.home.put(
        "config.yaml",
        "addons: {install_timeout_seconds: 5, max_store_mb: 0}\n",
    );
    desk.addons(&["list"])
        .succeeds()
        .says_part("warning: addons.install_timeout_seconds is 5; 30 is used instead")
        .says_part("warning: addons.max_store_mb is 0; 1 is used instead");
    desk.home.put("config.yaml", "addons: {max_store_mb: 20}\n");
    desk.addons(&["install", "platform.feishu"])
        .exits(3)
        .says_part("more than addons.max_store_mb (20) allows");
    desk.addons(&["install", FEATURE, "--mirror", "http://insecure"])
        .exits(2)
        .says_part("https://");
    desk.addons(&["install", FEATURE, "--wheelhouse", "nowhere"])
        .exits(1)
        .says_part("there is no directory nowhere");
}
