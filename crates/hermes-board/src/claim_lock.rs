//! The lock of a claim: which process of which host holds it, as `<host>:<pid>`.

/// The lock of claims that this process makes.
pub fn own_lock() -> String {
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy();
    format!("{host}:{}", std::process::id())
}

/// The name of this host, as locks carry it.
pub(crate) fn own_host() -> String {
    host_of(&own_lock()).to_owned()
}

/// The host that a lock is of.
pub(crate) fn host_of(lock: &str) -> &str {
    lock.rsplit_once(':').map_or(lock, |(host, _)| host)
}

/// The machine of an installation, for people; see [`crate::boards::Board`].
pub(crate) fn installation_host(installation: &str) -> &str {
    let host = installation.split_once(':');
    host.map_or(installation, |(host, _)| host)
}

/// Whether a claim was made on the host of `own`.
pub(crate) fn is_same_host(own: &str, lock: &str) -> bool {
    let host = host_of(own);
    lock.strip_prefix(host)
        .is_some_and(|rest| rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_whole() {
        for here in ["alpha:9", "alpha:9:x"] {
            assert!(is_same_host("alpha:7", here), "{here}");
        }
        for elsewhere in ["alphabet:9", "alpha"] {
            assert!(!is_same_host("alpha:7", elsewhere), "{elsewhere}");
        }
    }
}
