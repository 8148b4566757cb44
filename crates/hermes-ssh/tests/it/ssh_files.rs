//! Files that go along to a real server and come back.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use hermes_ssh::SshHost;
use hermes_terminal::carried_files::CarriedRequest;
use hermes_terminal::remote::Transport;
use pretty_assertions::assert_eq;

use crate::ssh_world::{SshWorld, read, run, write};

/// A home with a skill, a script, a cache, and a credential that is declared.
fn furnished() -> SshWorld {
    let world = SshWorld::new();
    world.put("skills/mail/SKILL.md", "how to mail");
    world.put("skills/mail/send.sh", "#!/bin/sh\n");
    let script = world.path("home/skills/mail/send.sh");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
    world.put("cache/documents/letter.txt", "dear reader");
    world.put("token.json", "canary-token");
    world.put(".env", "SECRET=canary-env");
    world
}

fn request(world: &SshWorld) -> CarriedRequest {
    CarriedRequest {
        hermes_home: world.path("home"),
        credential_files: ["token.json", ".env"].map(str::to_owned).into(),
        external_skills: Vec::new(),
    }
}

fn host(world: &SshWorld) -> SshHost {
    world.host_with(|_, surroundings| surroundings.carried = request(world))
}

fn connected(world: &SshWorld) -> SshHost {
    let host = host(world);
    host.ensure().unwrap();
    host
}

fn manifest(world: &SshWorld) -> PathBuf {
    let id = world.settings().id();
    world.path(&format!("home/cache/sync/{id}.json"))
}

#[test]
fn files_are_there_before_the_first_command() {
    let world = furnished();
    let host = connected(&world);
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
    assert_eq!(
        read(&world.there("cache/documents/letter.txt")),
        "dear reader"
    );
    assert_eq!(read(&world.there("token.json")), "canary-token");
    assert!(!world.there(".env").exists());
    let mode = |name: &str| {
        let meta = std::fs::metadata(world.there(name)).unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!(mode("skills/mail/send.sh"), 0o700);
    assert_eq!(mode("token.json"), 0o600);
    // Nothing is left of the transfer.
    let names = std::fs::read_dir(world.there("")).unwrap();
    let left = names.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with(".sync-in-")
    });
    assert_eq!(left.count(), 0);
    assert!(manifest(&world).is_file());
    for call in world.server.client_calls() {
        assert!(!call.concat().contains("canary"), "{call:?}");
    }
    drop(host);
}

/// Acceptance 39, second part (hermes-agent#101646).
#[test]
fn a_second_start_sends_nothing_if_nothing_changed() {
    let world = furnished();
    drop(connected(&world));
    assert_eq!(world.uploads(), 1);
    let host = connected(&world);
    host.before_command().unwrap();
    host.push().unwrap();
    assert_eq!(world.uploads(), 1);
    assert!(host.cleanup().unwrap().updated.is_empty());
    connected(&world);
    assert_eq!(world.uploads(), 1);
}

#[test]
fn changes_here_arrive_there() {
    let world = furnished();
    let host = connected(&world);
    world.put("skills/mail/SKILL.md", "how to mail well");
    world.put("skills/deep/er/new $(x) 'name'.md", "new");
    std::fs::remove_file(world.path("home/skills/mail/send.sh")).unwrap();
    std::fs::remove_dir_all(world.path("home/cache/documents")).unwrap();
    write(&world.there("skills/mail/own.txt"), "made there");

    // Not yet: the last look was a moment ago.
    host.before_command().unwrap();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
    host.push().unwrap();
    assert_eq!(
        read(&world.there("skills/mail/SKILL.md")),
        "how to mail well"
    );
    assert_eq!(
        read(&world.there("skills/deep/er/new $(x) 'name'.md")),
        "new"
    );
    assert!(!world.there("skills/mail/send.sh").exists());
    assert!(!world.there("cache/documents").exists());
    assert_eq!(read(&world.there("skills/mail/own.txt")), "made there");

    let forced = world.host_with(|_, surroundings| {
        surroundings.carried = request(&world);
        surroundings.force_sync = true;
    });
    forced.ensure().unwrap();
    world.put("skills/mail/SKILL.md", "at once");
    forced.before_command().unwrap();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "at once");
}

/// Acceptance 39, third part.
#[test]
fn changes_there_come_back_but_not_to_credentials() {
    let world = furnished();
    let host = connected(&world);
    write(&world.there("skills/mail/SKILL.md"), "learned something");
    write(&world.there("skills/fresh/SKILL.md"), "a new skill");
    write(&world.there("cache/documents/answer.txt"), "dear writer");
    write(&world.there("token.json"), "stolen");
    write(&world.there("config.yaml"), "evil: true");
    write(&world.there("plugins/x.py"), "evil");
    symlink("/etc/passwd", world.there("skills/passwd")).unwrap();

    let pulled = host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "learned something");
    assert_eq!(world.text("skills/fresh/SKILL.md"), "a new skill");
    assert_eq!(world.text("cache/documents/answer.txt"), "dear writer");
    assert_eq!(world.text("token.json"), "canary-token");
    assert!(!world.has("config.yaml") && !world.has("plugins") && !world.has("skills/passwd"));
    assert_eq!(pulled.updated.len(), 3, "{pulled:?}");
    assert!(pulled.kept.is_empty());
    assert!(pulled.warnings.is_empty(), "{pulled:?}");

    // What came from there need not go there again, apart from the credential.
    let host = connected(&world);
    assert_eq!(world.uploads(), 1);
    assert!(host.cleanup().unwrap().updated.is_empty());
    let left = std::fs::read_dir(world.path("home/cache/sync")).unwrap();
    assert_eq!(left.count(), 1, "only the record stays");
}

#[test]
fn what_both_sides_changed_is_kept_twice() {
    let world = furnished();
    let host = connected(&world);
    world.put("skills/mail/SKILL.md", "mine");
    write(&world.there("skills/mail/SKILL.md"), "theirs");
    let pulled = host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "theirs");
    let [kept] = pulled.kept.as_slice() else {
        panic!("{pulled:?}");
    };
    let name = kept.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("SKILL.md.host-20"), "{name}");
    assert_eq!(read(kept), "mine");
    // The copy is for people here.
    connected(&world);
    assert!(!world.there("skills/mail").join(name).exists());
}

#[test]
fn a_machine_that_was_made_anew_gets_everything_again() {
    let world = furnished();
    drop(connected(&world));
    std::fs::remove_dir_all(world.there("")).unwrap();
    connected(&world);
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
    assert_eq!(world.uploads(), 2);
}

#[test]
fn files_of_another_home_are_not_taken_for_ours() {
    let world = furnished();
    let host = connected(&world);
    std::fs::create_dir(world.path("other")).unwrap();
    write(&world.path("other/skills/mail/SKILL.md"), "of the other");
    let other = world.host_with(|_, surroundings| {
        surroundings.carried = CarriedRequest {
            hermes_home: world.path("other"),
            ..CarriedRequest::default()
        };
    });
    other.ensure().unwrap();
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "of the other");

    let pulled = host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "how to mail");
    assert!(
        pulled.warnings[0].contains("another Hermes home"),
        "{pulled:?}"
    );
    // Its next start brings its own files again.
    connected(&world);
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
}

#[test]
fn talkative_start_up_files_do_no_harm() {
    let world = furnished();
    let shout = "echo Welcome; echo 0123456789abcdef; echo /not/a/home; echo hm >&2\n";
    write(&world.server.remote_home().join(".bashrc"), shout);
    let host = connected(&world);
    let told = run(&host, &["true"]).stdout;
    assert!(told.contains("Welcome"), "{told}");
    write(&world.there("skills/mail/SKILL.md"), "learned something");
    host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "learned something");
    connected(&world);
    assert_eq!(world.uploads(), 1);
}

#[test]
fn other_systems_tools_will_do() {
    let world = furnished();
    for tool in [
        "tar", "find", "xargs", "mv", "rm", "mkdir", "du", "awk", "head",
    ] {
        let script = format!("#!/bin/sh\nexec busybox {tool} \"$@\"\n");
        world.server.put_remote_program(tool, &script);
    }
    let host = connected(&world);
    assert_eq!(read(&world.there("skills/mail/SKILL.md")), "how to mail");
    std::fs::remove_file(world.path("home/skills/mail/send.sh")).unwrap();
    let long = format!("skills/{}/x.md", "d".repeat(120));
    world.put(&long, "long");
    host.push().unwrap();
    assert!(!world.there("skills/mail/send.sh").exists());
    assert_eq!(read(&world.there(&long)), "long");
    write(&world.there(&long), "longer");
    host.cleanup().unwrap();
    assert_eq!(world.text(&long), "longer");
}

#[test]
fn only_what_changed_there_is_sent_back() {
    let world = furnished();
    let host = connected(&world);
    let tally = world.path("tally");
    // Counts the bytes of the archive that leaves the other side.
    let script = format!(
        "#!/bin/sh\ncase \"$3 $1\" in '- -c') /usr/bin/tar \"$@\" | tee {}; exit 0 ;; esac\n\
         exec /usr/bin/tar \"$@\"\n",
        tally.display()
    );
    world.server.put_remote_program("tar", &script);
    write(&world.there("cache/documents/letter.txt"), "dear all");
    write(&world.there("skills/with space/é.md"), "new");
    host.cleanup().unwrap();
    assert_eq!(world.text("cache/documents/letter.txt"), "dear all");
    assert_eq!(world.text("skills/with space/é.md"), "new");

    let mut archive = tar::Archive::new(std::fs::File::open(&tally).unwrap());
    let names = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        entry.path().unwrap().to_str().unwrap().to_owned()
    });
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(".sync")).collect();
    names.sort();
    assert_eq!(
        names,
        ["cache/documents/./letter.txt", "skills/./with space/é.md"]
    );
    // What was removed there comes again with the next start; removing is for this side.
    world.server.remove_remote_program("tar");
    let host = connected(&world);
    std::fs::remove_file(world.there("skills/mail/send.sh")).unwrap();
    host.cleanup().unwrap();
    assert!(world.has("skills/mail/send.sh"));
    connected(&world);
    assert!(world.there("skills/mail/send.sh").exists());
}

#[test]
fn a_machine_that_cannot_compare_sends_everything() {
    let world = furnished();
    let few = world.path("few-tools");
    std::fs::create_dir(&few).unwrap();
    for tool in [
        "awk", "cat", "du", "find", "head", "mkdir", "mv", "rm", "rmdir", "sh", "tar", "xargs",
    ] {
        let real = ["/usr/bin", "/bin"].map(|directory| format!("{directory}/{tool}"));
        let real = real.iter().find(|path| std::fs::exists(path).unwrap());
        symlink(real.unwrap(), few.join(tool)).unwrap();
    }
    let shell = format!("#!/bin/bash\nPATH={} exec /bin/sh \"$@\"\n", few.display());
    world.server.put_remote_program("sh", &shell);
    let host = connected(&world);
    write(&world.there("skills/mail/SKILL.md"), "learned something");
    symlink("/etc/passwd", world.there("skills/passwd")).unwrap();
    let pulled = host.cleanup().unwrap();
    assert_eq!(world.text("skills/mail/SKILL.md"), "learned something");
    assert_eq!(pulled.updated.len(), 1, "{pulled:?}");
    // A link is no file, and is not made here.
    assert_eq!(pulled.warnings.len(), 1, "{pulled:?}");
    assert!(!world.has("skills/passwd"));
}
