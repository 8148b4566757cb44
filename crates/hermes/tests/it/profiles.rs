//! Profiles and the commands of their own.

use std::os::unix::fs::PermissionsExt;

use hermes_testkit::TreeContent;

use crate::{fresh, with_coder};

const RULE: &str = "is not a valid profile name: use lowercase letters, digits, '-' and '_', with \
                    a letter or digit first";

// check 2
#[test]
fn a_new_profile_is_private_and_has_a_command_of_its_own() {
    let home = fresh();
    let created = home
        .hermes(["profile", "create", "coder"])
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", home.alias_dir().display()),
        )
        .run();
    created.succeeds().says("").prints(
        "✓ Created profile 'coder' at ~/.hermes/profiles/coder\n  \
         6 bundled skills synced.\n  \
         Command: coder → hermes -p coder\n\
         Next:\n  \
         hermes -p coder config set model.default MODEL\n  \
         hermes -p coder config set OPENROUTER_API_KEY KEY\n  \
         hermes profile use coder\n",
    );
    let tree = home
        .tree()
        .only(|path| path.starts_with(".hermes/profiles/"));
    let mut directories = 0;
    for (path, entry) in &tree.0 {
        if entry.content == TreeContent::Directory {
            directories += 1;
            assert_eq!(entry.mode, 0o700, "{path}");
        } else {
            assert_eq!(entry.mode, 0o600, "{path}");
        }
    }
    assert!(directories >= 10, "{tree:#?}");
    for name in [
        "memories",
        "sessions",
        "skills",
        "skins",
        "logs",
        "plans",
        "workspace",
        "cron",
        "home",
    ] {
        assert!(home.path("profiles/coder").join(name).is_dir(), "{name}");
    }
    assert!(home.has("profiles/coder/SOUL.md") && home.has("profiles/coder/.env"));

    let alias = home.alias_dir().join("coder");
    let mode = std::fs::metadata(&alias).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    home.hermes(["config", "path"])
        .program(&alias)
        .run()
        .succeeds()
        .prints(&format!(
            "{}\n",
            home.path("profiles/coder/config.yaml").display()
        ));
}

// check 2
#[test]
fn a_second_profile_of_the_name_changes_nothing() {
    let home = with_coder();
    let before = home.tree();
    home.run(["profile", "create", "coder"]).refuses(
        1,
        &format!(
            "Profile 'coder' already exists at {}",
            home.path("profiles/coder").display()
        ),
    );
    before.is_still(&home.tree());
}

// check 3
#[test]
fn bad_names_are_refused_before_anything_is_made() {
    let home = fresh();
    let long = "a".repeat(65);
    for (name, message) in [
        ("Bad Name", format!("'Bad Name' {RULE}")),
        ("../x", format!("'../x' {RULE}")),
        ("a/b", format!("'a/b' {RULE}")),
        ("a\\b", format!("'a\\b' {RULE}")),
        ("a\x1b[2Jb", format!("'a\\u{{1b}}[2Jb' {RULE}")),
        ("a\nb", format!("'a\\nb' {RULE}")),
        ("a\u{202e}b", format!("'a\\u{{202e}}b' {RULE}")),
        ("-x", format!("'-x' {RULE}")),
        (".", format!("'.' {RULE}")),
        ("ß", format!("'ß' {RULE}")),
        ("", "a profile name cannot be empty".to_owned()),
        (
            &long,
            format!(
                "profile name '{}…' is too long: 65 characters, at most 64 are allowed",
                "a".repeat(64)
            ),
        ),
        (
            "hermes",
            "'hermes' is reserved and cannot be the name of a new profile".to_owned(),
        ),
        (
            "Default",
            "'default' is reserved and cannot be the name of a new profile".to_owned(),
        ),
    ] {
        home.run(["profile", "create", name]).refuses(1, &message);
    }
    assert_eq!(home.tree().paths(), Vec::<&str>::new());
}

#[test]
fn a_name_that_is_no_text_is_a_usage_error() {
    use std::os::unix::ffi::OsStrExt;
    let home = fresh();
    let name = std::ffi::OsStr::from_bytes(b"a\xffb");
    home.run([std::ffi::OsStr::new("profile"), "create".as_ref(), name])
        .exits(2)
        .prints("");
    assert_eq!(home.tree().paths(), Vec::<&str>::new());
}

// check 3
#[test]
fn names_are_used_and_printed_in_lower_case() {
    let home = fresh();
    let created = home.run(["profile", "create", "UPPER"]);
    created
        .succeeds()
        .prints_part("✓ Created profile 'upper' at ~/.hermes/profiles/upper\n")
        .never_shows("UPPER");
    assert!(home.path("profiles/upper").is_dir());
}

// check 6
#[test]
fn an_alias_stays_in_its_directory_and_hides_no_program() {
    let home = with_coder();
    let before = home.tree();
    let alias = |name: &str| home.run(["profile", "alias", "coder", "--name", name]);
    alias("../../evil").refuses(
        1,
        "'../../evil' is not a valid alias: use lowercase letters, digits, '-' and '_', with a \
         letter or digit first",
    );
    let ls = alias("ls");
    ls.exits(1).says_part("Error: 'ls' would hide the program ");
    alias("config").refuses(1, "'config' is a hermes subcommand and cannot be an alias");
    alias("gateway").refuses(1, "'gateway' is a hermes subcommand and cannot be an alias");
    before.is_still(&home.tree());
    assert!(!home.outside("evil").exists() && !home.user_home().join("evil").exists());
}

// check 6
#[test]
fn files_of_others_are_neither_overwritten_nor_removed() {
    let home = with_coder();
    let mine = home.alias_dir().join("mine");
    std::fs::write(&mine, "#!/bin/sh\necho mine\n").unwrap();
    std::os::unix::fs::symlink("coder", home.alias_dir().join("linked")).unwrap();
    let before = home.tree();
    for name in ["mine", "linked"] {
        let message = format!(
            "{} exists and is not a hermes alias",
            home.alias_dir().join(name).display()
        );
        home.run(["profile", "alias", "coder", "--name", name])
            .refuses(1, &message);
        home.run(["profile", "alias", "coder", "--remove", "--name", name])
            .refuses(1, &message);
    }
    before.is_still(&home.tree());
    // A profile of the name is made; it goes without a command.
    let created = home.run(["profile", "create", "mine"]);
    created
        .succeeds()
        .says_part("warning: could not create a command for the profile: ");
    assert_eq!(
        std::fs::read_to_string(&mine).unwrap(),
        "#!/bin/sh\necho mine\n"
    );
}

#[test]
fn a_custom_alias_is_written_shown_and_removed() {
    let home = with_coder();
    home.run(["profile", "alias", "coder", "--name", "cdr"])
        .succeeds()
        .prints("✓ cdr → hermes -p coder  (~/.local/bin/cdr)\n");
    home.run(["profile", "show", "coder"])
        .succeeds()
        .prints_part("Alias:   cdr → hermes -p coder\n");
    home.run(["profile", "alias", "coder", "--remove"])
        .succeeds();
    assert_eq!(std::fs::read_dir(home.alias_dir()).unwrap().count(), 0);
    home.run(["profile", "alias", "coder", "--remove"])
        .refuses(1, "Profile 'coder' has no alias");
}

#[test]
fn clones_take_what_their_flag_says() {
    let home = fresh();
    home.put(
        "config.yaml",
        "_config_version: 33\nterminal:\n  timeout: 5 # mine\n",
    );
    home.put(".env", "TELEGRAM_BOT_TOKEN=123:abc\n");
    home.put("memories/MEMORY.md", "remember");
    home.put("sessions/one.json", "{}");
    home.put("cron/jobs.json", "[]");
    home.put("notes/own.txt", "mine");

    let clone = home.run(["profile", "create", "light", "--clone"]);
    clone
        .succeeds()
        .says_part("warning: the clone shares TELEGRAM_BOT_TOKEN with its source\n")
        .never_shows("123:abc");
    let light = home.path("profiles/light");
    for there in ["config.yaml", ".env", "memories/MEMORY.md", "SOUL.md"] {
        assert!(light.join(there).is_file(), "{there}");
    }
    for not_there in ["sessions/one.json", "cron/jobs.json", "notes"] {
        assert!(!light.join(not_there).exists(), "{not_there}");
    }
    assert_eq!(
        home.read("profiles/light/config.yaml"),
        home.read("config.yaml")
    );

    home.run(["profile", "create", "full", "--clone-all"])
        .succeeds();
    let full = home.path("profiles/full");
    assert!(full.join("notes/own.txt").is_file() && full.join("cron/jobs.json").is_file());
    assert!(!full.join("sessions/one.json").exists() && !full.join("profiles").exists());

    home.run(["profile", "create", "more", "--clone-from", "light"])
        .succeeds()
        .prints_part("from ~/.hermes/profiles/light\n");
    home.run(["profile", "create", "none", "--clone", "--no-skills"])
        .refuses(
            1,
            "--no-skills cannot be combined with a clone: cloning copies the skills of the source",
        );
    home.run(["profile", "create", "none", "--clone-from", "gone"])
        .exits(1);
    assert!(!home.has("profiles/none"));
}

#[test]
fn deleting_wants_the_name_and_takes_everything() {
    let home = with_coder();
    home.run(["profile", "use", "coder"]).succeeds();
    let before = home.tree();
    let no_answer = home.run(["profile", "delete", "coder"]);
    no_answer.exits(1).prints("").says_part("Cancelled.\n");
    let wrong = home.hermes(["profile", "delete", "coder"]).stdin("yes\n");
    wrong.run().exits(1).says_part("Cancelled.\n");
    before.is_still(&home.tree());

    let typed = home.hermes(["profile", "delete", "coder"]).stdin("coder\n");
    typed.run().succeeds().prints(
        "✓ Removed ~/.local/bin/coder\n\
         ✓ The default profile is active again\n\
         ✓ Deleted profile 'coder'\n",
    );
    let left = home.tree();
    assert!(!home.has("active_profile") && !home.alias_dir().join("coder").exists());
    assert!(
        !left.paths().iter().any(|path| path.contains("coder")),
        "{left:#?}"
    );
    home.run(["profile", "delete", "default", "--yes"])
        .refuses(1, "the default profile cannot be deleted");
}

#[test]
fn a_renamed_profile_keeps_its_content_and_brings_its_command() {
    let home = with_coder();
    home.run(["-p", "coder", "config", "set", "terminal.timeout", "5"])
        .succeeds();
    home.run(["profile", "use", "coder"]).succeeds();
    home.run(["profile", "rename", "coder", "writer"])
        .succeeds()
        .prints(
            "✓ Command writer → hermes -p writer\n\
             ✓ Renamed 'coder' to 'writer' (~/.hermes/profiles/writer)\n",
        );
    assert_eq!(home.read("active_profile"), "writer\n");
    home.run(["config", "get", "terminal.timeout"])
        .prints("5\n");
    assert!(!home.alias_dir().join("coder").exists());
    home.run(["profile", "rename", "writer", "Bad Name"])
        .refuses(1, &format!("'Bad Name' {RULE}"));
    home.run(["profile", "rename", "default", "x"])
        .refuses(1, "the default profile cannot be renamed");
}

#[test]
fn the_list_marks_the_current_profile_and_skips_what_is_none() {
    let home = with_coder();
    std::fs::create_dir(home.path("profiles/Not A Profile")).unwrap();
    home.put(
        "profiles/coder/config.yaml",
        "model: {default: a-model-with-a-name-of-thirty-characters}\n",
    );
    home.run(["-p", "coder", "profile", "list"])
        .succeeds()
        .prints(
            "  Profile  Model                       Gateway  Alias  Distribution\n  \
             default  —                           stopped  —      —\n\
             ◆ coder    a-model-with-a-name-of-th…  stopped  coder  —\n",
        );
}

#[test]
fn a_new_profile_takes_over_provider_and_model_and_says_so() {
    let home = fresh();
    home.put(
        "config.yaml",
        "model:\n  provider: lab\n  default: m-1\n  api_key: secret-12345\n  context_length: 9000\n\
         custom_providers:\n- name: other\n  base_url: https://other.example/v1\n\
         - name: lab\n  base_url: https://lab.example/v1\n  api_key: secret-67890\n\
         terminal:\n  timeout: 5\n",
    );
    home.run(["profile", "create", "coder", "--no-alias"])
        .succeeds()
        .says("")
        .prints(
            "✓ Created profile 'coder' at ~/.hermes/profiles/coder\n  \
             Provider and model taken over from the default profile: lab, m-1\n  \
             6 bundled skills synced.\n\
             Next:\n  \
             hermes profile use coder\n",
        );
    let written = home.read("profiles/coder/config.yaml");
    for part in [
        "_config_version:",
        "provider: lab",
        "m-1",
        "9000",
        "https://lab.example/v1",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
    for part in ["secret", "other.example", "timeout", "inherit_keys"] {
        assert!(!written.contains(part), "{part}: {written}");
    }
    let get = |key: &str| home.run(["-p", "coder", "config", "get", key]).stdout;
    assert_eq!(get("model.default"), "m-1\n");
    // Told otherwise.
    home.run(["profile", "create", "bare", "--no-alias", "--no-inherit"])
        .succeeds();
    assert!(!home.has("profiles/bare/config.yaml"));
    home.run([
        "profile",
        "create",
        "own",
        "--no-alias",
        "--provider",
        "openrouter",
        "--model",
        "x/y",
        "--inherit-keys",
    ])
    .succeeds()
    .prints_part("  Provider and model: openrouter, x/y\n")
    .prints_part("Provider keys of the default profile are used as well (nothing is copied)\n");
    let own = home.read("profiles/own/config.yaml");
    assert!(
        own.contains("inherit_keys: true") && !own.contains("lab"),
        "{own}"
    );
    home.run(["profile", "create", "c", "--clone", "--inherit-keys"])
        .exits(2);
    // A model alone keeps the provider.
    home.run(["profile", "create", "small", "--no-alias", "--model", "m-2"])
        .succeeds()
        .prints_part("taken over from the default profile: lab, m-2\n");
    // A broken file has nothing to give.
    home.put("config.yaml", "model: [broken\n");
    home.run(["profile", "create", "after", "--no-alias"])
        .succeeds();
    assert!(!home.has("profiles/after/config.yaml"));
}
