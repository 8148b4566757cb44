//! The user's own arguments of `run`, as far as we must understand them: what they weaken, what they
//! mount, and which of our own they override.
//!
//! They are passed on as they are. Reading errs on the side of seeing more.

/// The arguments.
#[derive(Debug, Clone, Copy)]
pub struct ExtraArgs<'a>(pub &'a [String]);

/// Sockets with which a container commands the engine, and so the host.
const SOCKETS: [&str; 3] = ["docker.sock", "podman.sock", "containerd.sock"];

impl<'a> ExtraArgs<'a> {
    /// The values given to any of these flags, as `--flag value` or `--flag=value`. A flag that
    /// stands alone at the end has the value ``.
    pub fn values(self, flags: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        self.0.iter().enumerate().filter_map(move |(index, arg)| {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (arg.as_str(), None),
            };
            let joined = || {
                // `-v/a:/b` and `-m1g`
                let short = flags
                    .iter()
                    .find(|flag| flag.len() == 2 && arg.starts_with(**flag) && arg.len() > 2)?;
                arg.strip_prefix(*short)
                    .map(|rest| rest.trim_start_matches('='))
            };
            if flags.contains(&flag) {
                let next = || self.0.get(index + 1).map_or("", String::as_str);
                Some(value.unwrap_or_else(next))
            } else {
                joined()
            }
        })
    }

    /// Whether any of these flags is given.
    pub fn has(self, flags: &'a [&'a str]) -> bool {
        self.values(flags).next().is_some()
    }

    /// Whether the network is decided here.
    pub fn sets_network(self) -> bool {
        self.has(&["--network", "--net"])
    }

    /// What is mounted here: source, target, whether it can only be read.
    pub fn mounts(self) -> Vec<(String, String, bool)> {
        let volumes = self.values(&["-v", "--volume"]).filter_map(|entry| {
            let mut parts = entry.split(':');
            let (source, target) = (parts.next()?, parts.next()?);
            let read_only = parts.next().is_some_and(is_read_only);
            Some((source.to_owned(), target.to_owned(), read_only))
        });
        let mounts = self.values(&["--mount"]).filter_map(|entry| {
            let field = |names: &[&str]| {
                entry.split(',').find_map(|field| {
                    let (name, value) = field.split_once('=')?;
                    names.contains(&name).then(|| value.to_owned())
                })
            };
            let source = field(&["source", "src"])?;
            let target = field(&["target", "destination", "dst"])?;
            let read_only = entry
                .split(',')
                .any(|field| matches!(field, "readonly" | "ro" | "readonly=true" | "ro=true"));
            Some((source, target, read_only))
        });
        volumes.chain(mounts).collect()
    }

    /// The arguments that let a container do more to the host than ours do, as given.
    pub fn weakenings(self) -> Vec<String> {
        let mut found = Vec::new();
        if self.values(&["--privileged"]).any(|value| value != "false") {
            found.push("--privileged".to_owned());
        }
        found.extend(
            self.values(&["--cap-add"])
                .map(|name| format!("--cap-add {name}")),
        );
        found.extend(
            self.values(&["--security-opt"])
                .filter(|value| value.contains("unconfined") || value.contains("disable"))
                .map(|value| format!("--security-opt {value}")),
        );
        for flag in [
            "--pid",
            "--network",
            "--net",
            "--ipc",
            "--uts",
            "--userns",
            "--cgroupns",
        ] {
            if self.values(&[flag]).any(|value| value == "host") {
                found.push(format!("{flag}=host"));
            }
        }
        found.extend(
            self.values(&["--device"])
                .map(|device| format!("--device {device}")),
        );
        for (source, target, _) in self.mounts() {
            let is_socket = SOCKETS.iter().any(|socket| source.ends_with(socket));
            if source == "/" || is_socket {
                found.push(format!("-v {source}:{target}"));
            }
        }
        found
    }

    /// Whether something of the host is mounted here.
    pub fn mounts_host_path(self) -> bool {
        self.mounts()
            .iter()
            .any(|(source, _, _)| is_host_path(source))
            || self.has(&["--volumes-from"])
    }

    /// Capabilities added here, without `CAP_`.
    pub fn added_capabilities(self) -> Vec<String> {
        self.values(&["--cap-add"])
            .map(str::to_ascii_uppercase)
            .map(|name| name.trim_start_matches("CAP_").to_owned())
            .collect()
    }
}

/// Whether the options of a volume say that it can only be read.
pub(crate) fn is_read_only(options: &str) -> bool {
    options
        .split(',')
        .any(|option| matches!(option, "ro" | "readonly"))
}

/// Whether the source of a mount is a path of the host and no named volume.
pub(crate) fn is_host_path(source: &str) -> bool {
    let mut chars = source.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('\\' | '/'));
    drive
        || source.starts_with(['/', '~'])
        || source.starts_with("./")
        || source.starts_with("../")
        || matches!(source, "." | "..")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn values_are_found_in_every_spelling() {
        let args = words("--memory 1g -m2g --network=none -v /a:/b -v=/c:/d --volume /e:/f:ro,z");
        let args = ExtraArgs(&args);
        let memory: Vec<_> = args.values(&["--memory", "-m"]).collect();
        assert_eq!(memory, ["1g", "2g"]);
        assert!(args.sets_network() && !args.has(&["--user"]));
        let mount = |s: &str, t: &str, ro| (s.to_owned(), t.to_owned(), ro);
        assert_eq!(
            args.mounts(),
            [
                mount("/a", "/b", false),
                mount("/c", "/d", false),
                mount("/e", "/f", true)
            ]
        );
        let trailing = words("--user");
        assert!(ExtraArgs(&trailing).has(&["--user"]));
    }

    #[test]
    fn everything_that_weakens_is_named() {
        let args = words(
            "--privileged --cap-add SYS_ADMIN --security-opt seccomp=unconfined --pid=host \
             --network host -v /:/host --mount type=bind,source=/var/run/docker.sock,target=/s",
        );
        assert_eq!(
            ExtraArgs(&args).weakenings(),
            [
                "--privileged",
                "--cap-add SYS_ADMIN",
                "--security-opt seccomp=unconfined",
                "--pid=host",
                "--network=host",
                "-v /:/host",
                "-v /var/run/docker.sock:/s",
            ]
        );
        let harmless = words(
            "--shm-size=1g --security-opt no-new-privileges --privileged=false --pid=container:x -v data:/d",
        );
        assert_eq!(ExtraArgs(&harmless).weakenings(), [] as [&str; 0]);
        assert!(!ExtraArgs(&harmless).mounts_host_path());
        let bind = words("-v ~/x:/d");
        assert!(ExtraArgs(&bind).mounts_host_path());
    }

    #[test]
    fn places_of_the_host_are_told_from_named_volumes() {
        for path in ["/a", "~", "~/a", "./a", "../a", "C:\\x", "c:/x", "."] {
            assert!(is_host_path(path), "{path}");
        }
        for name in ["data", "my-vol", "C:", "", "a/b"] {
            assert!(!is_host_path(name), "{name}");
        }
    }
}
