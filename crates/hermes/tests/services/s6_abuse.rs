//! What the user of the gateways must not get out of their supervision: root.

use pretty_assertions::assert_eq;

use crate::container::{Container, Layout};
use crate::executed::RunsScripts as _;

/// Sends bytes to the registrar and prints its answer.
fn say(container: &Container, user: &str, perl: &str) -> String {
    let script = format!(
        "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => \"/run/hermes/registrar.sock\") \
         or do {{ print \"no way: $!\"; exit }}; $s->autoflush(1); $SIG{{PIPE}} = \"IGNORE\"; {perl}; \
         print scalar(<$s>) // \"nothing\"'"
    );
    let ran = container.run(user, &script);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

fn slots(container: &Container) -> String {
    container.root("ls /run/service | grep ^gateway- | sort | tr '\\n' ' '")
}

#[test]
fn nothing_that_root_runs_or_writes_is_in_reach() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create w && hermes -p w gateway start");
    let slot = "/run/service/gateway-w";
    for attempt in [
        // A slot of one's own, and a link to one.
        "mkdir /run/service/evil".to_owned(),
        "ln -s /tmp/evil /run/service/gateway-evil".to_owned(),
        // Other scripts in a slot that is there.
        format!("echo '#!/bin/sh' > {slot}/run"),
        format!("echo '#!/bin/sh' > {slot}/finish"),
        format!("echo '#!/bin/sh' > {slot}/log/run"),
        format!("mv {slot}/run {slot}/old"),
        format!("touch {slot}/data"),
        format!("mv {slot} /run/service/gateway-x"),
        // Files that the supervisor writes as root, led elsewhere.
        format!("ln -s /etc/passwd {slot}/supervise/status.new"),
        format!("ln -s /etc/passwd {slot}/supervise/death_tally.new"),
        format!("ln -sf /etc/passwd {slot}/event/ftrig1:@400000006afc757321f5ed54:Gd3yjs"),
        "touch /run/service/.s6-svscan/crash".to_owned(),
        "touch /run/hermes/x".to_owned(),
        "rm -f /run/hermes/registrar.sock".to_owned(),
        "touch /run/s6/container_environment/LD_PRELOAD".to_owned(),
    ] {
        let ran = container.run("hermes", &attempt);
        assert_ne!(ran.code, 0, "{attempt}");
    }
    // What the user may do: control.
    container.hermes(&format!(
        "s6-svc -d {slot} && s6-svok {slot} && s6-svc -u {slot}"
    ));
    container.hermes("s6-svscanctl -a /run/service");
    let owners = container.root(&format!(
        "stat -c '%U:%G %a %n' /run/service {slot} {slot}/run {slot}/log/run {slot}/supervise \
         {slot}/supervise/control {slot}/event /run/service/.s6-svscan/control \
         /run/hermes/registrar.sock | sed s:/run/::"
    ));
    assert_eq!(
        owners,
        "root:root 755 service\n\
         root:root 755 service/gateway-w\n\
         root:root 755 service/gateway-w/run\n\
         root:root 755 service/gateway-w/log/run\n\
         root:hermes 710 service/gateway-w/supervise\n\
         root:hermes 660 service/gateway-w/supervise/control\n\
         root:root 3730 service/gateway-w/event\n\
         root:hermes 660 service/.s6-svscan/control\n\
         root:hermes 660 hermes/registrar.sock"
    );
    // Programs in directories that the user can write to are not looked up by root.
    container.hermes(
        "mkdir -p /opt/data/.local/bin && for name in s6-setuidgid s6-log id sh hermes; do \
         printf '#!/bin/bash\\nid -u > /tmp/ran-by\\n' > /opt/data/.local/bin/$name; \
         chmod 755 /opt/data/.local/bin/$name; done",
    );
    container.root("printf %s \"/opt/data/.local/bin:$PATH\" > /run/s6/container_environment/PATH");
    container.hermes("hermes -p w gateway restart");
    container.hermes("s6-svc -r /run/service/gateway-w/log");
    container.wait_for("s6-svok /run/service/gateway-w/log");
    container.root("test ! -e /tmp/ran-by");
}

#[test]
fn the_registrar_takes_a_verb_and_a_profile_and_nothing_else() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create w");
    let before = slots(&container);
    assert_eq!(before, "gateway-default gateway-w");
    for (perl, answer) in [
        ("print $s \"register ../x\\n\"", "not a valid profile name"),
        (
            "print $s \"register ../../opt/data/profiles/w\\n\"",
            "not a valid profile name",
        ),
        ("print $s \"register W\\n\"", "is not how"),
        ("print $s \"register nobody-there\\n\"", "has no directory"),
        ("print $s \"rescan nobody-there\\n\"", "has no directory"),
        ("print $s \"unlink w\\n\"", "the message is not"),
        ("print $s \"\\0\\xff\\xfe\\n\"", "the message is not"),
        ("print $s \"\\n\"", "the message is not"),
        (
            "print $s \"register w; rm -rf /\\n\"",
            "not a valid profile name",
        ),
        (
            "print $s \"register \" . \"a\" x 100000 . \"\\n\"",
            "too long",
        ),
        ("print $s \"register w\"", "did not end in time"),
        (
            "for (1..40) { print $s \"x\"; select(undef, undef, undef, 0.1) }",
            "did not end in time",
        ),
        ("print $s \"reg\"; $s->shutdown(1)", "broke off"),
    ] {
        let said = say(&container, "hermes", perl);
        assert!(
            said.starts_with("error ") && said.contains(answer),
            "{perl}: {said}"
        );
    }
    assert_eq!(slots(&container), before);
    // Others do not even get in; and who gets in by a wrong mode is asked who they are.
    container.root("useradd --uid 12345 mallory");
    let said = say(&container, "mallory", "print $s \"unregister w\\n\"");
    assert!(said.contains("no way: Permission denied"), "{said}");
    container.root("chmod 666 /run/hermes/registrar.sock");
    let said = say(&container, "mallory", "print $s \"unregister w\\n\"");
    assert_eq!(said, "error user 12345 may not change service slots");
    assert_eq!(slots(&container), before);

    // A profile that is a link leads nowhere that the user could not go.
    container.hermes("ln -s /root /opt/data/profiles/linked");
    let said = say(&container, "hermes", "print $s \"register linked\\n\"");
    assert!(said.starts_with("error "), "{said}");
    // Nor do logs.
    container.hermes("mkdir -p /opt/data/profiles/l2 /opt/data/logs/gateways");
    container
        .hermes("touch /opt/data/profiles/l2/SOUL.md && ln -s /etc /opt/data/logs/gateways/l2");
    let said = say(&container, "hermes", "print $s \"register l2\\n\"");
    assert!(said.starts_with("error "), "{said}");
    assert_eq!(container.root("stat -c %U /etc"), "root");
    assert_eq!(slots(&container), before);

    // It still works for those who ask properly.
    for (perl, answer) in [
        ("print $s \"register w\\n\"", "ok exists"),
        ("print $s \"rescan w\\n\"", "ok rescanned"),
        ("print $s \"unregister w\\n\"", "ok removed"),
        ("print $s \"unregister w\\n\"", "ok absent"),
        ("print $s \"register w\\n\"", "ok registered"),
    ] {
        assert_eq!(say(&container, "hermes", perl), answer, "{perl}");
    }
    // A slot that is a link is nobody's.
    container.root(
        "mkdir /opt/data/profiles/l3 && chown hermes /opt/data/profiles/l3 && \
         ln -s /opt/data /run/service/gateway-l3",
    );
    for verb in ["register", "unregister"] {
        let said = say(&container, "hermes", &format!("print $s \"{verb} l3\\n\""));
        assert!(said.contains("is no directory of a service slot"), "{said}");
    }
    container.root("test -d /opt/data/profiles");
}
