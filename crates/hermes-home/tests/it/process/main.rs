//! The other process of the tests: `write-endlessly DATABASE`, or `ACTION ARCHIVE ROOT DIE_AT`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a part of the tests, which says what it did and fails by panicking"
)]

#[path = "../steps.rs"]
mod steps;

use std::path::Path;

use hermes_home::ProfileName;
use hermes_home::archive::{ImportLimits, ImportRequest, unpack_profile};
use hermes_home::backup::{QuickRequest, create_quick, recover};
use steps::{add_row, back_up, import, open};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["write-endlessly", database] => write_endlessly(Path::new(database)),
        [action, archive, root, die_at] => {
            hermes_fs::fault::arm(die_at.parse().unwrap());
            act(action, Path::new(archive), Path::new(root));
        }
        other => panic!("no role: {other:?}"),
    }
}

/// Commits without end, and says how many commits it has done.
fn write_endlessly(path: &Path) {
    let mut database = open(path);
    for number in 1.. {
        add_row(&mut database);
        println!("committed {number}");
    }
}

fn act(action: &str, archive: &Path, root: &Path) {
    match action {
        "recover" => drop(recover(root).unwrap()),
        "import" => import(archive, root),
        "backup" => drop(back_up(root, archive)),
        "snapshot" => drop(
            create_quick(&QuickRequest {
                home: root,
                label: None,
                now: jiff::Timestamp::UNIX_EPOCH,
            })
            .unwrap(),
        ),
        "profile" => import_profile(archive, root),
        other => panic!("no action: {other}"),
    }
}

fn import_profile(archive: &Path, profiles: &Path) {
    let request = ImportRequest {
        archive,
        profiles_dir: profiles,
        limits: ImportLimits::default(),
    };
    unpack_profile(&request)
        .unwrap()
        .publish(&ProfileName::parse_new("coder").unwrap())
        .unwrap();
}
