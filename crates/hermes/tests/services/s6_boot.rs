//! A container that starts again: who runs then, and how that is told.

use pretty_assertions::assert_eq;

use crate::container::{Container, LAYOUTS};
use crate::executed::RunsScripts as _;

// checks 28 and 32
#[test]
fn what_ran_runs_again_and_what_was_stopped_stays_down() {
    for layout in LAYOUTS {
        let container = Container::boot(layout);
        container.hermes("hermes profile create runs && hermes profile create rests");
        container.hermes("hermes -p runs gateway start && hermes -p rests gateway start");
        container.hermes("hermes -p rests gateway stop");
        container.restart(layout);
        container
            .wait_for("test \"$(s6-svstat -o up,ready /run/service/gateway-runs)\" = 'true true'");
        assert_eq!(container.slot("rests"), (false, false, -1), "{layout:?}");
        assert_eq!(container.slot("default"), (false, false, -1), "{layout:?}");
        let log = container.hermes("cat /opt/data/logs/container-boot.log");
        let lines: Vec<&str> = log.lines().collect();
        let fields = |line: &str| line.split_once(' ').unwrap().1.to_owned();
        let last: Vec<String> = lines[lines.len() - 3..]
            .iter()
            .map(|line| fields(line))
            .collect();
        assert_eq!(
            last,
            [
                "profile=rests prior_state=stopped action=registered",
                "profile=runs prior_state=running action=started",
                "profile=default prior_state=None action=registered",
            ],
            "{layout:?}"
        );
        assert_eq!(
            container.root("stat -c %U /opt/data/logs/container-boot.log"),
            "hermes"
        );
        assert_eq!(
            container.root("find /opt/data ! -user hermes"),
            "",
            "{layout:?}"
        );
        let output = container.output();
        assert!(
            output.contains("reconcile: ") && output.contains("profile=runs prior_state=running"),
            "{output}"
        );
        // Told again, nothing changes for those that run.
        let (_, _, pid) = container.slot("runs");
        let said = container.hermes("hermes logs boot -n 1");
        assert!(said.contains("profile=default"), "{said}");
        if layout == crate::container::Layout::Open {
            container.hermes("hermes internal reconcile");
        } else {
            container.root("HERMES_HOME=/opt/data hermes internal reconcile");
        }
        assert_eq!(container.slot("runs"), (true, true, pid), "{layout:?}");
    }
}
