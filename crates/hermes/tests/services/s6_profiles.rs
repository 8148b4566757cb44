//! Every way in which a profile comes about gives it a slot, and ports of their own.

use pretty_assertions::assert_eq;

use crate::container::{Container, Layout};
use crate::executed::{RunsScripts as _, json};

fn slots(container: &Container) -> String {
    container.root("ls /run/service | grep gateway- | sort | tr '\\n' ' '")
}

#[test]
fn imported_installed_renamed_and_cloned_profiles_have_slots() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create w --description 'a worker'");
    container.hermes("cd /tmp && hermes profile export w -o w.tar.gz");
    container.hermes("hermes profile import /tmp/w.tar.gz --name copy");
    container.hermes("hermes profile create twin --clone-from w");
    container.hermes(
        "mkdir -p /tmp/dist && printf 'name: shop\\nversion: 1.0.0\\n' > /tmp/dist/distribution.yaml && \
         echo soul > /tmp/dist/SOUL.md && hermes profile install /tmp/dist --yes",
    );
    assert_eq!(
        slots(&container),
        "gateway-copy gateway-default gateway-shop gateway-twin gateway-w"
    );
    for profile in ["copy", "shop", "twin"] {
        assert_eq!(container.slot(profile), (false, false, -1), "{profile}");
    }
    // A renamed profile runs again if it ran.
    container.hermes("hermes -p w gateway start");
    let refused = container.run("hermes", "hermes profile rename w copy");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(container.slot("w").0);
    container.hermes("hermes profile rename w v");
    assert_eq!(
        slots(&container),
        "gateway-copy gateway-default gateway-shop gateway-twin gateway-v"
    );
    container.wait_for("test \"$(s6-svstat -o up,ready /run/service/gateway-v)\" = 'true true'");
    container.hermes("hermes -p v gateway status");
    assert_eq!(
        container.root("pgrep -af '[s]6-supervise .*gateway-w' || true"),
        ""
    );
    // One without a slot gets it with its first start.
    container.root("rm -rf /run/service/gateway-copy && s6-svscanctl -an /run/service");
    container.hermes("hermes -p copy gateway start");
    assert!(container.slot("copy").0);

    let doctor = container.run("hermes", "hermes doctor --json");
    let rows = json(&doctor.stdout);
    let text = rows.to_string();
    assert!(text.contains("2/5 supervised up (copy, v)"), "{text}");
    container.root("rm -rf /run/service/gateway-shop && s6-svscanctl -an /run/service");
    let doctor = container.run("hermes", "hermes doctor");
    assert!(
        doctor
            .stdout
            .contains("shop: s6 has no slot for its gateway"),
        "{doctor:?}"
    );
}

// check 29
#[test]
fn every_profile_answers_on_a_port_of_its_own() {
    let variables = [
        "API_SERVER_KEY=of-the-container-0123456789",
        "API_SERVER_PORT=8700",
    ];
    let container = Container::boot_with(Layout::Sealed, &variables);
    for profile in ["coder", "writer"] {
        container.hermes(&format!("hermes profile create {profile}"));
        container.hermes(&format!(
            "hermes -p {profile} config set API_SERVER_KEY key-of-{profile}-0123456789"
        ));
    }
    // Another profile has the port that follows from the name.
    container.hermes("hermes profile create third");
    container.hermes(
        "sed -i 's/^gateway_port:.*/gateway_port: 9298/' /opt/data/profiles/writer/profile.yaml && \
         sed -i 's/^gateway_port:.*/gateway_port: 9653/' /opt/data/profiles/third/profile.yaml && \
         sed -i /^gateway_port/d /opt/data/profiles/coder/profile.yaml",
    );
    container.hermes(
        "hermes gateway start && hermes -p coder gateway start && hermes -p writer gateway start",
    );
    let answers = |port: u16| {
        let probe = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null");
        container.wait_for(&probe);
    };
    answers(8700);
    answers(9654);
    answers(9298);
    let port = container.hermes("grep gateway_port /opt/data/profiles/coder/profile.yaml");
    assert_eq!(port, "gateway_port: 9654");
    // A port that somebody has is told with its holder.
    container.hermes("hermes -p writer config set platforms.api_server.extra.port 9654");
    container.hermes("hermes -p writer gateway restart");
    let (_, _, holder) = container.slot("coder");
    container.wait_for(&format!(
        "grep -q 'port 9654.*PID {holder}' /opt/data/profiles/writer/logs/gateway.log"
    ));
    assert!(container.slot("writer").0);
}
