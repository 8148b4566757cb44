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
