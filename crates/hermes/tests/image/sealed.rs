//! Root, the runtime user, and what lies between them.

use pretty_assertions::assert_eq;

use crate::container::{Container, docker};

// check 35
#[test]
fn commands_of_root_become_the_runtime_users() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    let exec = |environment: &str, command: &str| {
        let environment = format!("--env={environment}");
        let words = command.split_whitespace();
        let mut args = vec!["exec", &environment, &container.id];
        args.extend(words);
        docker(&args)
    };
    let file = |name: &str| container.must(&format!("stat -c %U {name}"));

    let set = docker(&[
        "exec",
        &container.id,
        "hermes",
        "config",
        "set",
        "display.language",
        "de",
    ]);
    assert_eq!(set.code, 0, "{set:?}");
    assert_eq!(file("config.yaml"), "hermes");
    let groups = docker(&["exec", &container.id, "hermes", "exec", "--", "id", "-un"]);
    assert_eq!(groups.stdout, "hermes", "{groups:?}");

    for (value, owner) in [("0", "hermes"), ("on", "hermes"), ("YES", "root")] {
        let name = format!("made-{value}");
        let made = exec(
            &format!("HERMES_DOCKER_EXEC_AS_ROOT={value}"),
            &format!("hermes profile create {name} --no-alias").to_lowercase(),
        );
        assert_eq!(made.code, 0, "{made:?}");
        assert_eq!(
            container
                .as_root(&format!(
                    "stat -c %U /opt/data/profiles/{}",
                    name.to_lowercase()
                ))
                .stdout,
            owner,
            "{value}"
        );
    }
    let own = docker(&[
        "exec",
        "--user=hermes",
        &container.id,
        "hermes",
        "config",
        "path",
    ]);
    assert_eq!(own.stdout, "/opt/data/config.yaml", "{own:?}");
    // `docker exec` without a shell finds the program.
    let version = docker(&["exec", &container.id, "hermes", "version"]);
    assert!(
        version.stdout.contains("Install method: docker"),
        "{version:?}"
    );
}

// check 35
#[test]
fn without_a_way_to_the_runtime_user_nothing_runs() {
    let container = Container::start(
        &["--cap-drop=SETUID", "--cap-drop=SETGID"],
        &["sleep", "infinity"],
    );
    assert_eq!(container.wait(), 126, "{}", container.logs());
    assert!(
        container.logs().contains("could not become hermes"),
        "{}",
        container.logs()
    );
}

// check 35
#[test]
fn the_installation_is_out_of_reach() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    assert_eq!(
        container.must("find /opt/hermes /init /usr/bin/tini /etc/hermes -writable"),
        ""
    );
    assert_eq!(container.must("find /opt/hermes ! -user root"), "");
    for attempt in [
        "touch /opt/hermes/x",
        "echo x >> /opt/hermes/bin/hermes",
        "mv /opt/hermes /opt/hermes2",
        "mkdir /run/service/evil",
        "echo x > /run/service/dashboard/run",
        "rm /run/service/dashboard/run",
        "mv /run/service/dashboard /run/service/other",
        "mkdir /run/service/gateway-default/data",
        "ln -s /tmp /run/service/gateway-evil",
        "ln -s /etc/passwd /run/service/gateway-default/supervise/x",
        "touch /run/hermes/exit-code",
        "echo x > /run/s6/container_environment/PATH",
        "cat /run/s6/container_environment/PATH",
    ] {
        let ran = container.exec(attempt);
        assert!(ran.code != 0, "{attempt}: {ran:?}");
    }
    let provenance = container.must("cat /etc/hermes/image-provenance.json");
    let provenance = crate::container::json(&provenance);
    assert_eq!(provenance["schema"], 1);
    assert_eq!(provenance["manager"], "docker");
    assert!(provenance["version"].is_string() && provenance["revision"].is_string());
    assert_eq!(
        container.must("stat -c %a /etc/hermes/image-provenance.json"),
        "444"
    );
    // All that root runs is what the image brought.
    let of_root = container.as_root("ps -o args= -U root | grep -v -e 'ps -o' -e 'bash -c'");
    for line in of_root.stdout.lines() {
        assert!(
            [
                "s6-",
                "/usr/bin/s6-",
                "/opt/hermes/bin/hermes internal",
                "/bin/sleep infinity"
            ]
            .iter()
            .any(|own| line.starts_with(own)),
            "{line}"
        );
    }
}

#[test]
fn no_root_through_the_supervisor() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    container.must("hermes profile create victim --no-alias");
    let planted = "#!/bin/sh\\nid -u > /tmp/owned\\n";
    for attempt in [
        // A planted script, in a slot that exists and in one that does not.
        format!("printf '{planted}' > /run/service/gateway-victim/run"),
        format!(
            "mkdir -p /tmp/evil && printf '{planted}' > /tmp/evil/run && chmod +x /tmp/evil/run && ln -s /tmp/evil /run/service/evil"
        ),
        // Names that lead elsewhere.
        "hermes -p ../x gateway start".to_owned(),
        "hermes profile create ../x".to_owned(),
    ] {
        container.exec(&attempt);
    }
    // Junk, and names that lead elsewhere, for the registrar.
    for message in [
        "register ../x",
        "register victim extra",
        "run /tmp/evil/run",
        "",
    ] {
        let said = container.must(&format!(
            "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => \"/run/hermes/registrar.sock\") \
             or die; print $s \"{message}\\n\"; print scalar <$s>'"
        ));
        assert!(said.starts_with("error "), "{message}: {said}");
    }
    // A profile whose home is a link to somewhere else.
    container.must(
        "mkdir -p /tmp/foreign && touch /tmp/foreign/SOUL.md && ln -s /tmp/foreign profiles/linked",
    );
    container.exec("hermes -p linked gateway start");
    container.exec("s6-svscanctl -an /run/service");
    container.exec("s6-svc -u /run/service/gateway-victim");
    container.wait_for("test -d /run/service/gateway-victim");
    assert_eq!(container.as_root("cat /tmp/owned").code, 1);
    let slots = container.must("ls /run/service");
    for line in slots.lines() {
        assert!(
            [
                "dashboard",
                "gateway-default",
                "gateway-victim",
                "gateway-linked",
                "main-hermes",
                "registrar"
            ]
            .contains(&line),
            "{slots}"
        );
    }
    assert_eq!(
        container
            .as_root("find /run/service ! -user root ! -path '*/supervise*' ! -path '*/event*'")
            .stdout,
        ""
    );
}

#[test]
fn programs_of_the_volume_are_not_run_by_root() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    container.must(
        "mkdir -p .local/bin && cd .local/bin && \
         for name in sleep cat kill id ls s6-svscanctl s6-envdir s6-setuidgid s6-log; do \
           printf '#!/bin/sh\\n/usr/bin/id -u >> /opt/data/ran-as\\nexit 0\\n' > $name; chmod 755 $name; \
         done",
    );
    container.restart();
    container.wait_until_ready(2);
    container.as_root("ls >/dev/null; cat /dev/null");
    let ran = container.must("/bin/cat /opt/data/ran-as 2>/dev/null || true");
    assert_eq!(ran, "");
}
