//! What gateways print under s6.

use crate::container::{Container, Layout};
use crate::executed::RunsScripts as _;

// check 27
#[test]
fn output_goes_raw_to_the_container_and_stamped_to_rotated_files() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create w");
    container.root(
        "cat > /run/service/gateway-w/run <<'END'\n\
         #!/bin/bash\n\
         line=$(head -c 90 /dev/zero | tr '\\0' x)\n\
         for ((i = 0; i < 30000; i++)); do echo \"line $i $line\"; done\n\
         echo all is said\n\
         exec sleep infinity\n\
         END",
    );
    container.hermes("s6-svc -u /run/service/gateway-w");
    let logs = "/opt/data/logs/gateways/w";
    container.wait_for(&format!("grep -q 'all is said' {logs}/current"));
    let sizes = container.hermes(&format!("stat -c %s {logs}/current {logs}/@*"));
    let sizes: Vec<u64> = sizes.lines().map(|size| size.parse().unwrap()).collect();
    assert!((3..=11).contains(&sizes.len()), "{sizes:?}");
    assert!(sizes.iter().all(|size| *size < 1_100_000), "{sizes:?}");
    let total: u64 = sizes.iter().sum();
    assert!(total > 3_000_000, "{sizes:?}");
    let stamped = container.hermes(&format!("tail -n 1 {logs}/current"));
    let (stamp, words) = stamped.split_once("  ").unwrap();
    assert!(
        words == "all is said" && stamp.len() == "2026-11-17 16:00:00.123456789".len(),
        "{stamped}"
    );
    let output = container.output();
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("line "))
        .collect();
    assert_eq!(lines.len(), 30_000);
    assert!(output.lines().any(|line| line == "all is said"));
    let said = container.hermes("hermes logs gateways/w -n 1");
    assert!(said.contains("all is said"), "{said}");
    let said = container.hermes("hermes -p w logs gateways/w -n 1");
    assert!(said.contains("all is said"), "{said}");
    assert_eq!(container.root(&format!("find {logs} ! -user hermes")), "");
}
