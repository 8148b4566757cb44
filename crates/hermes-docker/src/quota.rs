//! Whether the engine can limit the disk of a container.
//!
//! Only some storage drivers on some file systems can. The engine is asked what it has; no container
//! and no image is made to find out.

use serde_json::Value;

use super::engine::EngineKind;
use super::host::DockerHost;
use super::queries::LOOK_LIMIT;
use super::socket::EngineSocket;

/// Whether a limit of the disk is worth trying. Asked once; told once if not.
pub(crate) fn is_worth_trying(host: &DockerHost) -> bool {
    *host.quota.get_or_init(|| {
        let (driver, backing) = storage(host).unwrap_or_default();
        let supports = can_limit(&driver, &backing);
        if !supports {
            tell(host, &driver);
        }
        supports
    })
}

/// Says that a container runs without a limit of its disk.
pub(crate) fn tell(host: &DockerHost, driver: &str) {
    let driver = if driver.is_empty() { "unknown" } else { driver };
    host.warn_once(&format!(
        "the storage driver {driver} cannot limit the disk of containers (overlay2 needs XFS with \
         pquota); they run without the limit of terminal.container_disk"
    ));
}

fn storage(host: &DockerHost) -> Option<(String, String)> {
    if let Some(shown) = host.engine.socket().and_then(EngineSocket::host) {
        let driver = shown.get("Driver")?.as_str()?.to_owned();
        return Some((driver, backing_of(shown.get("DriverStatus")?)));
    }
    let format = match host.engine.info().ok()?.kind {
        EngineKind::Docker => "{{.Driver}}\t{{json .DriverStatus}}",
        EngineKind::Podman => "{{.Store.GraphDriverName}}\t{{json .Store.GraphStatus}}",
    };
    let answer = host
        .engine
        .ask(&["info", "--format", format], LOOK_LIMIT)
        .ok()?;
    let (driver, status) = answer.stdout.trim().split_once('\t')?;
    let status: Value = serde_json::from_str(status).unwrap_or_default();
    Some((driver.to_owned(), backing_of(&status)))
}

/// The backing file system: a list of pairs in Docker, a mapping in Podman.
fn backing_of(status: &Value) -> String {
    const NAME: &str = "Backing Filesystem";
    let of_map = status.get(NAME).and_then(|found| found.as_str());
    let of_pairs = || {
        status.as_array()?.iter().find_map(|pair| {
            let is_it = pair.get(0)?.as_str() == Some(NAME);
            is_it.then(|| pair.get(1)?.as_str()).flatten()
        })
    };
    of_map.or_else(of_pairs).unwrap_or_default().to_owned()
}

fn can_limit(driver: &str, backing: &str) -> bool {
    match driver {
        "btrfs" | "zfs" => true,
        "overlay2" | "overlay" => backing.eq_ignore_ascii_case("xfs"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_some_drivers_can() {
        assert!(can_limit("overlay2", "xfs") && can_limit("btrfs", "") && can_limit("zfs", "x"));
        assert!(!can_limit("overlay2", "extfs") && !can_limit("vfs", "xfs") && !can_limit("", ""));
    }

    #[test]
    fn the_backing_file_system_is_read_from_both_engines() {
        let backing = |status: Value| backing_of(&status);
        let pairs = json!([["Backing Filesystem", "extfs"], ["x", "y"]]);
        assert_eq!(backing(pairs), "extfs");
        assert_eq!(backing(json!({"Backing Filesystem": "xfs"})), "xfs");
        assert_eq!(backing(Value::Null), "");
        assert_eq!(backing(json!([1, [2]])), "");
    }
}
