//! The same plan for macOS: a profile for `sandbox-exec`.

use std::fmt::Write as _;
use std::path::Path;

use super::plan::{Network, SandboxPlan};

/// The profile for `sandbox-exec -p`. Later rules win.
pub fn macos_profile(plan: &SandboxPlan) -> String {
    let mut out = String::from(
        "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write* (literal \"/dev/null\") \
         (literal \"/dev/zero\") (literal \"/dev/tty\") (regex #\"^/dev/(pty|tty)[a-z0-9]+$\"))\n",
    );
    let mut rule = |rule: &str, paths: &[std::path::PathBuf]| {
        for path in paths {
            // Writing to a text does not fail.
            // Writing to a text cannot fail.
            let _ = writeln!(out, "({rule} (subpath {}))", quoted(path));
        }
    };
    rule("allow file-write*", &plan.writable);
    rule("deny file-write*", &plan.protected);
    rule("deny file-write-unlink", &plan.pinned);
    rule("deny file-read* file-write*", &plan.hidden);
    rule(
        "deny file-read* file-write* network-outbound",
        &plan.sockets,
    );
    out.push_str(
        "(deny process-info* (target others))\n(allow process-info-pidinfo)\n\
         (deny signal (target others))\n(deny mach-priv-task-port)\n(deny system-privilege)\n",
    );
    match plan.network {
        Network::On => {}
        Network::Loopback => out.push_str(
            "(deny network*)\n(allow network* (local ip \"localhost:*\"))\n\
             (allow network-outbound (remote ip \"localhost:*\"))\n\
             (allow network* (remote unix-socket))\n",
        ),
        Network::Off => out.push_str("(deny network*)\n(allow network* (remote unix-socket))\n"),
    }
    out
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_profile_of_a_plan() {
        let plan = SandboxPlan {
            writable: vec!["/Users/u/work".into(), "/private/tmp/h".into()],
            protected: vec!["/Users/u/work/.git/hooks".into()],
            pinned: vec!["/Users/u/work/.git".into()],
            hidden: vec!["/Users/u/.ssh".into(), "/Users/u/odd \"name\"".into()],
            sockets: vec!["/var/run/docker.sock".into()],
            network: Network::Loopback,
        };
        assert_eq!(
            macos_profile(&plan),
            r#"(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/(pty|tty)[a-z0-9]+$"))
(allow file-write* (subpath "/Users/u/work"))
(allow file-write* (subpath "/private/tmp/h"))
(deny file-write* (subpath "/Users/u/work/.git/hooks"))
(deny file-write-unlink (subpath "/Users/u/work/.git"))
(deny file-read* file-write* (subpath "/Users/u/.ssh"))
(deny file-read* file-write* (subpath "/Users/u/odd \"name\""))
(deny file-read* file-write* network-outbound (subpath "/var/run/docker.sock"))
(deny process-info* (target others))
(allow process-info-pidinfo)
(deny signal (target others))
(deny mach-priv-task-port)
(deny system-privilege)
(deny network*)
(allow network* (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow network* (remote unix-socket))
"#
        );
    }
}
