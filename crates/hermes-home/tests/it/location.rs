//! Where homes are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_config::Environment;
use hermes_home::{HomeKind, Location, LocationError, SystemFacts};
use pretty_assertions::assert_eq;

use crate::test_root::{TestRoot, name, system};

fn resolve(user_home: &Path, hermes_home: impl AsRef<OsStr>) -> Location {
    let env = Environment::from_pairs([
        ("HOME", user_home.as_os_str()),
        ("HERMES_HOME", hermes_home.as_ref()),
    ]);
    Location::resolve(&env, &system()).unwrap()
}

#[test]
fn unset_or_blank_means_the_directory_in_the_users_home() {
    for blank in ["", "  ", "\t\n"] {
        let location = resolve(Path::new("/u"), blank);
        assert_eq!(location.root, Path::new("/u/.hermes"));
        assert_eq!(location.home, Path::new("/u/.hermes"));
        assert_eq!(location.kind, HomeKind::Default);
        assert_eq!(location.profile_label(), "default");
    }
}

#[test]
fn a_home_outside_is_its_own_root_unless_it_stands_below_profiles() {
    let data = resolve(Path::new("/u"), "/opt/data/");
    assert_eq!(data.root, Path::new("/opt/data"));
    assert_eq!(data.kind, HomeKind::Default);

    let p = resolve(Path::new("/u"), " /x/profiles/p ");
    assert_eq!(p.root, Path::new("/x"));
    assert_eq!(p.home, Path::new("/x/profiles/p"));
    assert_eq!(p.kind, HomeKind::Named(name("p")));

    for odd in ["/x/profiles/Bad Name", "/x/profiles/default"] {
        let odd = resolve(Path::new("/u"), odd);
        assert_eq!(odd.root, Path::new("/x"));
        assert_eq!(odd.kind, HomeKind::Custom);
    }
}

#[test]
fn a_home_inside_the_usual_one_has_the_usual_root() {
    let inside = resolve(Path::new("/u"), "/u/.hermes/profiles/coder");
    assert_eq!(inside.root, Path::new("/u/.hermes"));
    assert_eq!(inside.kind, HomeKind::Named(name("coder")));

    let custom = resolve(Path::new("/u"), "/u/.hermes/other");
    assert_eq!(custom.root, Path::new("/u/.hermes"));
    assert_eq!(custom.kind, HomeKind::Custom);
    assert_eq!(custom.profile_name(), None);
}

#[test]
fn links_are_followed_to_tell_homes_apart() {
    let test = TestRoot::new();
    std::fs::create_dir_all(test.profile("coder")).unwrap();
    symlink(test.root(), test.path("shortcut")).unwrap();

    let through = resolve(test.user_home(), test.path("shortcut/profiles/coder"));
    assert_eq!(through.root, test.root());
    assert_eq!(through.kind, HomeKind::Named(name("coder")));

    // A profile that lives on another disk is still that profile.
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), test.root().join("profiles/big")).unwrap();
    let big = resolve(Path::new("/u"), test.profile("big"));
    assert_eq!(big.kind, HomeKind::Named(name("big")));
    assert_eq!(big.root, test.root());
    // And the root itself may be a link.
    let other = test.path("other");
    std::fs::create_dir(&other).unwrap();
    symlink(test.root(), other.join(".hermes")).unwrap();
    assert_eq!(resolve(&other, test.root()).kind, HomeKind::Default);
}

#[test]
fn a_relative_home_counts_from_the_start_directory() {
    let env = Environment::from_pairs([("HOME", "/u"), ("HERMES_HOME", "./data//x/")]);
    let at = |start_dir: Option<&str>| {
        let facts = SystemFacts {
            start_dir: start_dir.map(PathBuf::from),
            ..system()
        };
        Location::resolve(&env, &facts)
    };
    assert_eq!(at(Some("/work")).unwrap().home, Path::new("/work/data/x"));
    let error = at(None).unwrap_err();
    assert!(matches!(error, LocationError::NoStartDirectory { .. }));
    assert!(error.hint().is_some());
}

#[test]
fn a_home_need_not_be_text() {
    let odd = OsStr::from_bytes(b"/x/\xff\xfe");
    assert_eq!(resolve(Path::new("/u"), odd).home, Path::new(odd));
}

#[test]
fn without_home_the_password_file_is_asked() {
    let test = TestRoot::new();
    let facts = SystemFacts {
        uid: 4242,
        passwd: test.path("passwd"),
        ..system()
    };
    let passwd = "root:x:0:0::/root:/bin/sh\njunk\nu:x:4242:1:U,,:/home/u:/bin/sh\n";
    std::fs::write(test.path("passwd"), passwd).unwrap();
    let none: [(&str, &str); 0] = [];
    let unset = Environment::from_pairs(none);
    let found = Location::resolve(&unset, &facts).unwrap();
    assert_eq!(found.home, Path::new("/home/u/.hermes"));
    let relative = Environment::from_pairs([("HOME", "somewhere")]);
    assert_eq!(Location::resolve(&relative, &facts).unwrap(), found);

    std::fs::write(test.path("passwd"), "").unwrap();
    let error = Location::resolve(&unset, &facts).unwrap_err();
    assert_eq!(error, LocationError::NoUserHome { uid: 4242 });
    // A container without either still works when told where.
    let told = Environment::from_pairs([("HERMES_HOME", "/opt/data")]);
    let data = Location::resolve(&told, &facts).unwrap();
    assert_eq!(data.root, Path::new("/opt/data"));
    assert_eq!(data.display(&data.home), "/opt/data");
}

#[test]
fn paths_below_the_users_home_are_shown_short() {
    let location = resolve(Path::new("/u"), "");
    for (path, shown) in [
        ("/u/.hermes/config.yaml", "~/.hermes/config.yaml"),
        ("/u", "~"),
        ("/user/x", "/user/x"),
        ("/opt/data", "/opt/data"),
    ] {
        assert_eq!(location.display(Path::new(path)), shown);
    }
}

#[test]
fn profiles_of_one_installation() {
    let location = resolve(Path::new("/u"), "/x/profiles/p");
    let coder = location.for_profile(&name("coder"));
    assert_eq!(coder.home, Path::new("/x/profiles/coder"));
    assert_eq!(coder.root, location.root);
    let default = location.for_profile(&name("DEFAULT"));
    assert_eq!(default.home, Path::new("/x"));
    assert_eq!(default.kind, HomeKind::Default);
}
