//! Without root, as in a pod that must not run as root.

use pretty_assertions::assert_eq;

use crate::container::{Container, run};

const OPTIONS: [&str; 3] = ["--user=10000:10000", "--read-only", "--tmpfs=/run"];

#[test]
fn supervision_works_as_the_runtime_user_on_a_read_only_root() {
    let container = Container::boot(&OPTIONS, &["sleep", "infinity"]);
    assert_eq!(
        container.must("cat /proc/1/comm; ps -eo user= | sort -u"),
        "s6-svscan\nhermes"
    );
    container.must("hermes profile create worker --no-alias && hermes -p worker gateway start");
    container.must("hermes -p worker gateway status");
    let pid = container.must("pgrep -f 'p worker gateway run'");
    container.must(&format!("kill -9 {pid}"));
    container.wait_for(&format!("pgrep -f 'p worker gateway run' | grep -vx {pid}"));
    container.wait_for("hermes -p worker gateway status >/dev/null");
    container.must("hermes profile delete worker --yes && test ! -e /run/service/gateway-worker");
    container.stop();
    assert_eq!(container.wait(), 143);
}

#[test]
fn slots_are_the_runtime_users_alone() {
    let container = Container::boot(&OPTIONS, &["sleep", "infinity"]);
    container.must("hermes profile create worker --no-alias");
    let found = container.must(
        "find /run/service /run/hermes /run/s6 ! -type l -printf '%U:%G %m %P\n' -o -type l -printf '%U:%G - %P\n'",
    );
    for line in found.lines() {
        let mut fields = line.splitn(3, ' ');
        let (owner, mode, path) = (
            fields.next().unwrap(),
            fields.next().unwrap(),
            fields.next(),
        );
        let path = path.unwrap();
        assert_eq!(owner, "10000:10000", "{line}");
        // What supervisors listen on is shared with the group, and nothing else with anybody.
        let expected = match path.rsplit('/').next().unwrap() {
            "event" => "3730",
            "control" if path.contains("supervise") => "660",
            _ => {
                let shared = mode != "-" && u32::from_str_radix(mode, 8).unwrap() & 0o022 != 0;
                assert!(!shared, "{line}");
                continue;
            }
        };
        assert_eq!(mode, expected, "{line}");
    }
    for slot in ["gateway-worker", "gateway-worker/log"] {
        container.must(&format!(
            "s6-svok /run/service/{slot} && s6-svstat /run/service/{slot}"
        ));
    }
}

#[test]
fn settings_are_migrated_there_as_well() {
    let script =
        "printf '_config_version: 24\\n' > config.yaml && hermes internal boot && cat config.yaml";
    let ran = run(&OPTIONS, &["sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("_config_version: 33"), "{ran:?}");
}

#[test]
fn without_a_place_for_services_the_main_program_runs_alone() {
    let ran = run(
        &["--user=10000", "--read-only"],
        &["sh", "-c", "id -u; exit 8"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (8, "10000"), "{ran:?}");
    assert!(
        ran.stderr.contains("gateways are not supervised"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--tmpfs /run"), "{ran:?}");
}
