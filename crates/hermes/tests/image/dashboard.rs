//! The slot of the dashboard, which does not exist yet.

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

    let asked = Container::boot(
        &[
            "--env=HERMES_DASHBOARD=True",
            "--env=HERMES_DASHBOARD_HOST=0.0.0.0",
        ],
        &["sleep", "infinity"],
    );
    asked.wait_for("s6-svstat /run/service/dashboard | grep '^down (exitcode 78)'");
    let told = "this version has no dashboard";
    assert_eq!(asked.logs().matches(told).count(), 1, "{}", asked.logs());
    // Parked, not tried over and over.
    let state = asked.must("s6-svstat -o up,wantedup /run/service/dashboard");
    assert_eq!(state, "false false");
}
