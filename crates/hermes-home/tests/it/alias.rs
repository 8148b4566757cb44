//! Wrapper commands.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_home::{AliasError, AliasRules, Aliases};
use pretty_assertions::assert_eq;

use crate::test_root::{TestRoot, mode, name, names_in, read, set_mode, write};

const HERMES: &str = "/opt/it's here/hermes";

fn rules(path: Option<&OsStr>) -> AliasRules<'_> {
    AliasRules {
        subcommands: &["chat", "gateway"],
        path,
    }
}

fn make(test: &TestRoot, alias: &str, profile: &str) -> Result<PathBuf, AliasError> {
    let aliases = Aliases::of(&test.location());
    let checked = aliases.check(alias, rules(None))?;
    let alias = aliases.write(&checked, &name(profile), Path::new(HERMES))?;
    Ok(alias.path)
}

#[test]
fn a_wrapper_runs_hermes_for_its_profile() {
    let test = TestRoot::new();
    // A program that tells what it was given.
    let hermes = test.path("my bin/hermes");
    write(
        &hermes,
        "#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done\n",
    );
    set_mode(&hermes, 0o755);
    let aliases = Aliases::of(&test.location());
    let checked = aliases.check("Coder", rules(None)).unwrap();
    let alias = aliases.write(&checked, &name("coder"), &hermes).unwrap();

    assert_eq!(alias.path, test.path(".local/bin/coder"));
    assert_eq!(mode(&alias.path), 0o755);
    assert_eq!(
        read(&alias.path),
        format!("#!/bin/sh\nexec '{}' -p coder \"$@\"\n", hermes.display())
    );
    let output = std::process::Command::new(&alias.path)
        .args(["chat", "two words"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "<-p>\n<coder>\n<chat>\n<two words>\n"
    );
}

#[test]
fn collisions_are_found_in_order_and_nothing_is_written() {
    let test = TestRoot::new();
    let path = OsString::from("/usr/bin:/bin");
    let aliases = Aliases::of(&test.location());
    let check = |raw: &str| aliases.check(raw, rules(Some(&path))).unwrap_err();
    assert!(matches!(check("../../evil"), AliasError::Characters(_)));
    assert!(matches!(check("a b"), AliasError::Characters(_)));
    assert!(matches!(check(""), AliasError::Characters(_)));
    assert!(matches!(check("Hermes"), AliasError::Reserved(_)));
    assert!(matches!(check("sudo"), AliasError::Reserved(_)));
    assert!(matches!(check("chat"), AliasError::Subcommand(_)));
    assert!(matches!(check("ls"), AliasError::OnPath { .. }));
    assert!(matches!(
        aliases.remove("../../evil").unwrap_err(),
        AliasError::Characters(_)
    ));
    assert!(!test.path(".local").exists());
}

#[test]
fn files_of_others_are_never_replaced_or_removed() {
    let test = TestRoot::new();
    let script = "#!/bin/sh\necho hermes -p coder\n";
    let wrapper = "#!/bin/sh\nexec hermes -p coder \"$@\"\n";
    write(&test.path(".local/bin/mine"), script);
    write(&test.path("elsewhere"), wrapper);
    symlink("../../elsewhere", test.path(".local/bin/link")).unwrap();
    symlink("nowhere", test.path(".local/bin/dangling")).unwrap();
    std::fs::create_dir(test.path(".local/bin/dir")).unwrap();
    let aliases = Aliases::of(&test.location());
    for taken in ["mine", "link", "dangling", "dir"] {
        assert!(
            matches!(make(&test, taken, "coder"), Err(AliasError::Foreign { .. })),
            "{taken}"
        );
        assert!(
            matches!(aliases.remove(taken), Err(AliasError::Foreign { .. })),
            "{taken}"
        );
    }
    assert_eq!(read(&test.path(".local/bin/mine")), script);
    assert_eq!(read(&test.path("elsewhere")), wrapper);
    assert!(test.path(".local/bin/link").is_symlink());
    assert_eq!(aliases.scan(), []);
    assert!(matches!(
        aliases.remove("absent"),
        Err(AliasError::Missing(_))
    ));
}

#[test]
fn our_own_may_be_replaced_also_when_it_is_on_the_path() {
    let test = TestRoot::new();
    let bin = test.path(".local/bin");
    // As the reference writes them.
    write(
        &bin.join("coder"),
        "#!/bin/sh\nexec hermes -p writer \"$@\"\n",
    );
    set_mode(&bin.join("coder"), 0o755);
    let aliases = Aliases::of(&test.location());
    let path = bin.into_os_string();
    let checked = aliases.check("coder", rules(Some(&path))).unwrap();
    aliases
        .write(&checked, &name("coder"), Path::new(HERMES))
        .unwrap();
    assert_eq!(aliases.scan().first().unwrap().profile, name("coder"));
    assert!(aliases.is_on_path(Some(&path)));
    assert!(!aliases.is_on_path(Some(OsStr::new("/usr/bin"))));
    assert!(!aliases.is_on_path(None));
    aliases.remove("CODER").unwrap();
    assert_eq!(aliases.scan(), []);
}

#[test]
fn a_custom_alias_is_shown_before_the_profile_name() {
    let test = TestRoot::new();
    for alias in ["coder", "aa", "zz"] {
        make(&test, alias, "coder").unwrap();
    }
    make(&test, "writer", "writer").unwrap();
    // Big and binary files next to them are looked at by their head only.
    let mut big = vec![0; 100_000];
    big.extend_from_slice(b"\nexec hermes -p coder\n");
    std::fs::write(test.path(".local/bin/ffmpeg"), big).unwrap();
    let late = format!("#!/bin/sh\n{}\nexec hermes -p coder\n", "#".repeat(9000));
    write(&test.path(".local/bin/late"), &late);

    let aliases = Aliases::of(&test.location());
    let map = aliases.by_profile();
    let shown: Vec<_> = map.values().map(|alias| alias.name.as_str()).collect();
    assert_eq!(shown, ["zz", "writer"]);
    assert_eq!(aliases.scan().len(), 4);
}

#[test]
fn a_rename_moves_what_was_there_and_makes_nothing_new() {
    let test = TestRoot::new();
    let aliases = Aliases::of(&test.location());
    let follow = |new: &str| {
        aliases.follow_rename(&name("coder"), &name(new), Path::new(HERMES), rules(None))
    };
    assert!(follow("dev").is_empty());
    assert!(!test.path(".local").exists());

    make(&test, "coder", "coder").unwrap();
    make(&test, "cc", "coder").unwrap();
    make(&test, "other", "other").unwrap();
    let moved = follow("dev");
    assert_eq!(moved.len(), 2);
    assert!(moved.iter().all(|one| one.new.is_ok()));
    assert_eq!(names_in(&test.path(".local/bin")), ["cc", "dev", "other"]);
    let profiles: Vec<_> = aliases
        .scan()
        .iter()
        .map(|a| a.profile.to_string())
        .collect();
    assert_eq!(profiles, ["dev", "dev", "other"]);
}

#[test]
fn where_the_new_name_is_taken_the_old_command_follows() {
    let test = TestRoot::new();
    make(&test, "coder", "coder").unwrap();
    let aliases = Aliases::of(&test.location());
    let moved = aliases.follow_rename(
        &name("coder"),
        &name("chat"),
        Path::new(HERMES),
        rules(None),
    );
    let [only] = moved.as_slice() else {
        panic!("{moved:?}")
    };
    assert!(matches!(only.new, Err(AliasError::Subcommand(_))));
    let left = aliases.scan();
    assert_eq!(left.len(), 1);
    assert_eq!(left.first().unwrap().name, "coder");
    assert_eq!(left.first().unwrap().profile, name("chat"));
}
