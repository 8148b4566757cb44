//! Tests of the HOME policy.
#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use pretty_assertions::assert_eq;

use super::*;

/// A machine with a real home and a profile, with or without a home of its own.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new(with_profile_home: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("users/u")).unwrap();
        fs::create_dir_all(dir.path().join("hh")).unwrap();
        if with_profile_home {
            fs::create_dir_all(dir.path().join("hh/home")).unwrap();
        }
        Self { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn home(&self, mode: HomeMode, is_container: bool) -> ChildHome {
        let real = self.at("users/u");
        ChildHome::resolve(&HomeFacts {
            mode,
            is_container,
            hermes_home: &self.at("hh"),
            inherited_real_home: None,
            inherited_home: Some(real.as_os_str()),
            account_home: None,
        })
    }
}

#[test]
fn words_and_their_aliases() {
    for (word, mode) in [
        ("auto", HomeMode::Auto),
        ("real", HomeMode::Real),
        ("host", HomeMode::Real),
        ("user", HomeMode::Real),
        ("real_home", HomeMode::Real),
        ("REAL-HOME", HomeMode::Real),
        ("profile", HomeMode::Profile),
        (" isolated ", HomeMode::Profile),
        ("profile_home", HomeMode::Profile),
        ("profile-home", HomeMode::Profile),
    ] {
        assert_eq!(word.parse(), Ok(mode), "{word}");
    }
    assert!("mine".parse::<HomeMode>().is_err());
    assert!("".parse::<HomeMode>().is_err());
}

#[test]
fn the_mode_decides_where_children_live() {
    let with = Machine::new(true);
    let without = Machine::new(false);
    let (real, own) = ("users/u", "hh/home");
    for (mode, is_container, expected) in [
        (HomeMode::Auto, false, real),
        (HomeMode::Auto, true, own),
        (HomeMode::Real, true, real),
        (HomeMode::Profile, false, own),
    ] {
        let home = with.home(mode, is_container);
        assert_eq!(
            home.replacement(),
            Some(with.at(expected).as_path()),
            "{mode:?}"
        );
        assert_eq!(home.real_home(), with.at(real));
        assert!(home.is_writable());
    }
    assert_eq!(
        without.home(HomeMode::Auto, true).replacement(),
        Some(&*without.at(real))
    );
}

#[test]
fn the_profile_home_is_made_where_it_is_wanted_and_missing() {
    use std::os::unix::fs::PermissionsExt;

    let machine = Machine::new(false);
    for mode in [HomeMode::Auto, HomeMode::Real] {
        machine.home(mode, true).ensure().unwrap();
        assert!(!machine.at("hh/home").exists());
    }
    let home = machine.home(HomeMode::Profile, false);
    assert_eq!(home.replacement(), Some(&*machine.at("hh/home")));
    home.ensure().unwrap();
    home.ensure().unwrap();
    let meta = std::fs::metadata(machine.at("hh/home")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o700);
    // Something else in its place stays.
    std::fs::remove_dir(machine.at("hh/home")).unwrap();
    std::fs::write(machine.at("hh/home"), "mine").unwrap();
    assert!(home.ensure().is_err());
    assert_eq!(std::fs::read(machine.at("hh/home")).unwrap(), b"mine");
}

#[test]
fn the_real_home_is_found_from_inside_the_profile_home() {
    let machine = Machine::new(true);
    symlink(machine.at("hh/home"), machine.at("alias")).unwrap();
    let own = machine.at("hh/home");
    let alias = machine.at("alias");
    let account = machine.at("users/u");
    let resolve = |real: Option<&Path>, home: Option<&Path>, account: Option<&Path>| {
        ChildHome::resolve(&HomeFacts {
            mode: HomeMode::Real,
            is_container: false,
            hermes_home: &machine.at("hh"),
            inherited_real_home: real.map(Path::as_os_str),
            inherited_home: home.map(Path::as_os_str),
            account_home: account,
        })
    };
    let found = |real, home, account| resolve(real, home, account).real_home().to_owned();
    assert_eq!(found(None, Some(&own), Some(&account)), account);
    assert_eq!(
        found(None, Some(&alias), Some(&account)),
        account,
        "by another name"
    );
    assert_eq!(found(Some(&account), Some(&own), None), account);
    assert_eq!(
        found(Some(Path::new("")), Some(Path::new("rel")), Some(&account)),
        account
    );
    let lost = resolve(None, Some(&own), None);
    assert_eq!(lost.real_home(), Path::new("/tmp"));
    assert!(!lost.real_home_is_known);
}

fn ensure(home: &ChildHome, entry: &str) -> LinkOutcome {
    let mut outcomes = ensure_home_links(home, [Path::new(entry)]);
    outcomes
        .pop()
        .map_or(LinkOutcome::NoSource, |(_, outcome)| outcome)
}

#[test]
fn the_keychain_is_linked_once() {
    let machine = Machine::new(true);
    let home = machine.home(HomeMode::Profile, false);
    assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::NoSource);
    assert!(
        !machine.at("hh/home/Library").exists(),
        "nothing to link, nothing made"
    );
    fs::create_dir_all(machine.at("users/u/Library/Keychains")).unwrap();
    assert_eq!(
        home_link_state(&home, Path::new(KEYCHAIN)),
        LinkState::Missing
    );
    assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::Made);
    assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::Present);
    let link = machine.at("hh/home/Library/Keychains");
    assert_eq!(
        fs::read_link(&link).unwrap(),
        machine.at("users/u/Library/Keychains")
    );
    let mode = fs::metadata(machine.at("hh/home/Library"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(
        fs::read_dir(machine.at("hh/home/Library")).unwrap().count(),
        1
    );
}

#[test]
fn children_in_the_real_home_need_no_links() {
    let machine = Machine::new(true);
    fs::create_dir_all(machine.at("users/u/Library/Keychains")).unwrap();
    let home = machine.home(HomeMode::Real, false);
    assert_eq!(ensure_home_links(&home, [Path::new(KEYCHAIN)]), []);
    assert!(!machine.at("hh/home/Library").exists());
}

#[test]
fn stale_links_are_replaced_and_foreign_things_stay() {
    let machine = Machine::new(true);
    let home = machine.home(HomeMode::Profile, false);
    fs::create_dir_all(machine.at("users/u/Library/Keychains")).unwrap();
    fs::create_dir_all(machine.at("users/former/Library/Keychains")).unwrap();
    fs::create_dir_all(machine.at("dotfiles/Library/Keychains")).unwrap();
    fs::create_dir_all(machine.at("hh/home/Library")).unwrap();
    let link = machine.at("hh/home/Library/Keychains");
    let source = machine.at("users/u/Library/Keychains");
    for stale in [
        "users/gone/Library/Keychains",
        "users/former/Library/Keychains",
    ] {
        symlink(machine.at(stale), &link).unwrap();
        assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::Replaced, "{stale}");
        assert_eq!(fs::read_link(&link).unwrap(), source);
        fs::remove_file(&link).unwrap();
    }
    symlink(machine.at("dotfiles/Library/Keychains"), &link).unwrap();
    assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::Occupied);
    assert_eq!(
        fs::read_link(&link).unwrap(),
        machine.at("dotfiles/Library/Keychains")
    );
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    fs::write(link.join("mine"), "x").unwrap();
    assert_eq!(ensure(&home, KEYCHAIN), LinkOutcome::Occupied);
    assert_eq!(fs::read_to_string(link.join("mine")).unwrap(), "x");
}

#[test]
fn other_entries_are_linked_and_bad_ones_are_not() {
    let machine = Machine::new(true);
    let home = machine.home(HomeMode::Profile, false);
    fs::create_dir_all(machine.at("users/u/.config/gh")).unwrap();
    fs::write(machine.at("users/u/.claude.json"), "{}").unwrap();
    assert_eq!(ensure(&home, ".config/gh"), LinkOutcome::Made);
    assert_eq!(ensure(&home, ".claude.json"), LinkOutcome::Made);
    assert_eq!(
        fs::read_to_string(machine.at("hh/home/.claude.json")).unwrap(),
        "{}"
    );
    assert_eq!(ensure(&home, ".claude"), LinkOutcome::NoSource);
    for bad in ["", "/etc", "../u", "a/../../b"] {
        assert_eq!(ensure(&home, bad), LinkOutcome::BadEntry, "{bad}");
    }
}

#[test]
fn what_fails_is_told_and_never_thrown() {
    let machine = Machine::new(true);
    let home = machine.home(HomeMode::Profile, false);
    fs::create_dir_all(machine.at("users/u/Library/Keychains")).unwrap();
    fs::write(machine.at("hh/home/Library"), "a file in the way").unwrap();
    let outcome = ensure(&home, KEYCHAIN);
    assert!(matches!(outcome, LinkOutcome::Failed(_)), "{outcome:?}");
}

#[test]
fn twenty_at_once_make_one_link() {
    for stale in [false, true] {
        let machine = Machine::new(true);
        let home = machine.home(HomeMode::Profile, false);
        fs::create_dir_all(machine.at("users/u/Library/Keychains")).unwrap();
        let link = machine.at("hh/home/Library/Keychains");
        if stale {
            fs::create_dir_all(machine.at("hh/home/Library")).unwrap();
            symlink("/nowhere", &link).unwrap();
        }
        let barrier = std::sync::Barrier::new(20);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    barrier.wait();
                    let outcome = ensure(&home, KEYCHAIN);
                    let fine = [
                        LinkOutcome::Made,
                        LinkOutcome::Present,
                        LinkOutcome::Replaced,
                    ];
                    assert!(fine.contains(&outcome), "{outcome:?}");
                });
            }
        });
        assert_eq!(
            fs::read_link(&link).unwrap(),
            machine.at("users/u/Library/Keychains")
        );
        assert_eq!(
            fs::read_dir(machine.at("hh/home/Library")).unwrap().count(),
            1
        );
    }
}
