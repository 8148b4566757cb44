//! Transfers that fail, and servers that lie.

use std::os::unix::fs::symlink;
use std::path::Path;

use hermes_terminal::remote::Transport;
use pretty_assertions::assert_eq;
use tar::{EntryType, Header};

use crate::ssh_world::{SshWorld, read, run, write};
use hermes_testkit::eventually;

fn furnished() -> SshWorld {
    let world = SshWorld::new();
    world.put("skills/mail/SKILL.md", "how to mail");
    world
}

/// Everything of the home apart from the record and the lock.
fn home_files(world: &SshWorld) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![world.path("home")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(world.path("home")).unwrap();
                names.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    names.retain(|name| name != ".sync.lock" && !name.starts_with("cache/sync/"));
    names.sort();
    names
}

/// An archive with a name that no `tar` would write by itself.
fn evil_archive(path: &Path, name: &str) {
    let mut builder = tar::Builder::new(std::fs::File::create(path).unwrap());
    let members = [
        (".sync-stamp", "0123456789abcdef 0123456789abcdef\n"),
        ("skills/./mail/SKILL.md", "changed"),
        (name, "evil"),
    ];
    for (name, content) in members {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let field = &mut header.as_gnu_mut().unwrap().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.finish().unwrap();
}

#[test]
fn names_that_lead_out_are_refused_with_the_whole_archive() {
    let world = furnished();
    for name in ["../evil", "skills/../../evil", "/tmp/hermes-evil-file"] {
        let host = world.connected();
        let archive = world.path("evil.tar");
        evil_archive(&archive, name);
        let script = format!(
            "#!/bin/sh\ncase $1 in -c) exec cat {} ;; esac\nexec /usr/bin/tar \"$@\"\n",
            archive.display()
        );
        world.server.put_remote_program("tar", &script);
        let error = host.cleanup().unwrap_err();
        assert!(
            error.message.contains("leads out of its directory"),
            "{error}"
        );
        assert!(error.hint.is_some());
        assert_eq!(home_files(&world), ["skills/mail/SKILL.md"]);
        assert_eq!(world.text("skills/mail/SKILL.md"), "how to mail");
        assert!(!world.path("evil").exists() && !Path::new("/tmp/hermes-evil-file").exists());
        // The connection goes all the same.
        assert!(!world.socket_exists());
        world.server.remove_remote_program("tar");
    }
}

#[test]
fn more_than_two_gigabytes_are_refused() {
    let world = furnished();
    let host = world.connected();
    write(&world.there("skills/mail/SKILL.md"), "changed");
    let du = "#!/bin/sh\necho '2097153 skills/./mail/SKILL.md'\n";
    world.server.put_remote_program("du", du);
    let error = host.cleanup().unwrap_err();
    assert!(
        error.message.contains("more than 2147483648 bytes"),
        "{error}"
    );
    assert_eq!(world.text("skills/mail/SKILL.md"), "how to mail");
}

#[test]
fn fetching_is_tried_three_times() {
    let world = furnished();
    let host = world.connected();
    write(&world.there("skills/mail/SKILL.md"), "changed");
    let count = world.path("count");
    // Asked whether it takes a list, it answers; sending is what fails.
    let script = |failures: u32| {
        format!(
            "#!/bin/sh\ncase $3 in /dev/null) exec /usr/bin/tar \"$@\" ;; esac\n\
             echo x >> {0}\nif test $(wc -l < {0}) -le {failures}; then\n\
             echo 'Connection reset by peer' >&2; exit 255; fi\nexec /usr/bin/tar \"$@\"\n",
            count.display()
        )
    };
    world.server.put_remote_program("tar", &script(2));
    host.cleanup().unwrap();
    assert_eq!(read(&count).lines().count(), 3);
    assert_eq!(world.text("skills/mail/SKILL.md"), "changed");

    std::fs::remove_file(&count).unwrap();
    let host = world.connected();
    world.server.put_remote_program("tar", &script(9));
    let error = host.cleanup().unwrap_err();
    assert!(error.message.contains("Connection reset"), "{error}");
    assert_eq!(read(&count).lines().count(), 3);
}

#[test]
fn a_place_that_cannot_be_written_to_still_runs_commands() {
    let world = furnished();
    // Nobody, not even root, makes directories there.
    let base = world.server.remote_home().join(".hermes");
    symlink("/proc/sys", &base).unwrap();
    let host = world.connected();
    assert_eq!(run(&host, &["echo", "fine"]).stdout, "fine\n");
    let error = host.push().unwrap_err();
    assert!(error.message.contains("cannot be brought to"), "{error}");
    assert!(error.hint.unwrap().contains("read-only"));
    assert!(error.is_missing_part);
    let cleaned = host.cleanup().unwrap();
    assert!(cleaned.updated.is_empty());

    std::fs::remove_file(&base).unwrap();
    world.connected();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
}

#[test]
fn a_full_disk_rolls_back_and_the_next_command_tries_again() {
    let world = furnished();
    let host = world.connected();
    world.put("skills/mail/SKILL.md", "second");
    let full = "#!/bin/sh\n/usr/bin/tar \"$@\"\necho 'tar: No space left on device' >&2\nexit 2\n";
    world.server.put_remote_program("tar", full);
    let error = host.push().unwrap_err();
    assert!(error.message.contains("No space left on device"), "{error}");
    // All or nothing: what arrived before the failure is not in place.
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");

    world.server.remove_remote_program("tar");
    // At once, although the last look was a moment ago.
    host.before_command().unwrap();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "second");
}

#[test]
fn an_archive_that_is_cut_off_changes_nothing_there() {
    let world = furnished();
    let host = world.connected();
    world.put("skills/mail/SKILL.md", "second");
    // Unpacks the first members only, as if the rest had not come, and sees nothing wrong.
    let short = "#!/bin/sh\nhead -c 1024 | /usr/bin/tar \"$@\"; cat >/dev/null; exit 0\n";
    world.server.put_remote_program("tar", short);
    let error = host.push().unwrap_err();
    assert!(error.message.contains("cut off"), "{error}");
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
}

#[test]
fn a_server_that_goes_away_in_the_middle_loses_nothing() {
    let mut world = furnished();
    let host = world.connected();
    world.put("skills/mail/SKILL.md", "second");
    let (begun, script) = (world.path("begun"), "exec sleep 600");
    let script = format!("#!/bin/sh\ntouch {}\n{script}\n", begun.display());
    world.server.put_remote_program("tar", &script);
    std::thread::scope(|scope| {
        let pushing = scope.spawn(|| host.push());
        eventually("the transfer has begun", || begun.exists());
        world.server.stop();
        let error = pushing.join().unwrap().unwrap_err();
        assert!(error.message.contains("connection"), "{error}");
    });
    world.server.remove_remote_program("tar");
    world.server.start_again();
    let ran = run(&host, &["true"]);
    if ran.code != Some(0) {
        host.diagnose(ran.code, &ran.stderr);
        host.ensure().unwrap();
    }
    host.before_command().unwrap();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "second");
}

#[test]
fn a_machine_without_tar_is_told_so() {
    let world = furnished();
    let bare = "#!/bin/bash\nPATH=/nonexistent exec /bin/sh \"$@\"\n";
    world.server.put_remote_program("sh", bare);
    let host = world.connected();
    let error = host.push().unwrap_err();
    assert!(error.message.ends_with("there is no tar"), "{error}");
    assert!(error.hint.unwrap().contains("install the package tar"));
}

#[test]
fn a_damaged_record_costs_an_upload_and_nothing_else() {
    let world = furnished();
    let host = world.connected();
    let record = world.path(&format!("home/cache/sync/{}.json", world.settings().id()));
    drop(host);
    std::fs::write(&record, "{broken").unwrap();
    let host = world.connected();
    assert_eq!(world.uploads(), 2);
    write(&world.there("skills/mail/SKILL.md"), "changed");
    host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "changed");
}

#[test]
fn one_process_at_a_time_moves_files() {
    let world = furnished();
    let host = world.connected();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let world = &world;
            scope.spawn(move || {
                let other = world.connected();
                world.put(&format!("skills/new/{number}.md"), "new");
                other.push().unwrap();
                other.cleanup().unwrap();
            });
        }
    });
    host.push().unwrap();
    for number in 0..4 {
        let name = format!("skills/new/{number}.md");
        assert_eq!(read(&world.there(&name)), "new");
    }
    let uploads = world.uploads();
    drop(host);
    world.connected();
    assert_eq!(world.uploads(), uploads);
}
