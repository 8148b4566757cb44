//! The slot of the dashboard.

use pretty_assertions::assert_eq;

use crate::container::Container;

// check 36
#[test]
fn the_slot_is_down_unless_asked_for_and_parked_if_so() {
    for options in [
        &[][..],
        &["--env=HERMES_DASHBOARD=0"],
        // What says how does not say whether.
        &[
            "--env=HERMES_DASHBOARD_PORT=9000",
            "--env=HERMES_DASHBOARD=",
        ],
    ] {
        let silent = Container::boot(options, &["sleep", "infinity"]);
        silent.wait_for("s6-svstat /run/service/dashboard | grep '^down (exitcode 0)'");
        assert!(!silent.logs().contains("dashboard"), "{}", silent.logs());
        assert_eq!(
            silent.must("s6-svstat -o wantedup /run/service/dashboard"),
            "false"
        );
    }

    // Others could reach it, and nobody would have to log in.
    let asked = Container::boot(
        &[
            "--env=HERMES_DASHBOARD=True",
            "--env=HERMES_DASHBOARD_HOST=0.0.0.0",
        ],
        &["sleep", "infinity"],
    );
    asked.wait_for("s6-svstat /run/service/dashboard | grep '^down (exitcode 78)'");
    let told = "without asking anybody to log in";
    assert_eq!(asked.logs().matches(told).count(), 1, "{}", asked.logs());
    // Parked, not tried over and over.
    let state = asked.must("s6-svstat -o up,wantedup /run/service/dashboard");
    assert_eq!(state, "false false");
}

// check 36
#[test]
fn it_listens_for_others_with_a_login_and_for_the_container_alone_without() {
    let alone = Container::boot(&["--env=HERMES_DASHBOARD=1"], &["sleep", "infinity"]);
    alone.wait_for("s6-svstat /run/service/dashboard | grep '^up'");
    let ready = "HERMES_DASHBOARD_READY port=9119";
    alone.wait_until("the dashboard is ready", || alone.logs().contains(ready));
    assert!(
        alone.logs().contains("listens on 127.0.0.1 only"),
        "{}",
        alone.logs()
    );
    // As the runtime user.
    let status = "grep '^Uid' /proc/$(s6-svstat -o pid /run/service/dashboard)/status";
    let user = alone.must("id -u hermes");
    assert!(alone.must(status).contains(&user), "{user}");

    let open = Container::boot(
        &[
            "--env=HERMES_DASHBOARD=1",
            "--env=HERMES_DASHBOARD_BASIC_AUTH_USERNAME=ada",
            "--env=HERMES_DASHBOARD_BASIC_AUTH_PASSWORD=correct-horse",
        ],
        &["sleep", "infinity"],
    );
    open.wait_until("the dashboard is ready", || open.logs().contains(ready));
    assert!(!open.logs().contains("127.0.0.1 only"), "{}", open.logs());
    assert!(!open.logs().contains("correct-horse"), "{}", open.logs());
}
