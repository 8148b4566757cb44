//! The holder of a claim: a process of a host.

/// The text in a claim: `<host>:<pid>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimer {
    host: String,
    pid: u32,
}

impl Claimer {
    /// This process.
    pub fn of_this_process() -> Self {
        let name = rustix::system::uname();
        Self {
            host: name.nodename().to_string_lossy().into_owned(),
            pid: std::process::id(),
        }
    }

    /// A process of this host.
    pub fn new(host: &str, pid: u32) -> Self {
        Self {
            host: host.to_owned(),
            pid,
        }
    }

    /// The text of its claims.
    pub fn lock(&self) -> String {
        format!("{}:{}", self.host, self.pid)
    }

    /// Whether a claim was made on the host of this claimer.
    pub fn shares_host_with(&self, lock: &str) -> bool {
        lock.strip_prefix(self.host.as_str())
            .is_some_and(|rest| rest.starts_with(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_whole() {
        let me = Claimer::new("alpha", 7);
        assert_eq!(me.lock(), "alpha:7");
        assert!(me.shares_host_with("alpha:9") && me.shares_host_with("alpha:9:x"));
        assert!(!me.shares_host_with("alphabet:9") && !me.shares_host_with("alpha"));
    }
}
