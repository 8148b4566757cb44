//! The files of a slot, as text. Nothing here touches the disk.
//!
//! Root runs these scripts until they become the runtime user. So nothing in them is looked up in
//! directories that this user can write to: the `PATH` of the container, which has some, is only
//! handed on.

use std::time::Duration;

use hermes_home::ProfileName;

/// The account that gateways of the container image run as.
pub(super) const RUNTIME_USER: &str = "hermes";
/// Where s6 keeps the variables that the container was started with.
const CONTAINER_VARIABLES: &str = "/run/s6/container_environment";
/// Variables of the container that mean the server of the default profile. With them every profile
/// would listen on one port.
const OF_DEFAULT_PROFILE: &str =
    "API_SERVER_ENABLED API_SERVER_HOST API_SERVER_KEY API_SERVER_PORT";
/// The descriptor on which a gateway says that it is ready.
const READY_DESCRIPTOR: &str = "3";

/// A slot to be.
#[derive(Debug, Clone)]
pub(crate) struct SlotDefinition {
    pub(crate) profile: ProfileName,
    /// The program that runs gateways, absolute.
    pub(crate) program: String,
    /// How long a stopping gateway has before it is killed.
    pub(crate) stop_limit: Duration,
    /// Whether the slot stays down until it is told otherwise.
    pub(crate) is_down: bool,
}

/// A file of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotFile {
    /// Below the slot.
    pub(super) path: &'static str,
    pub(super) mode: u32,
    pub(super) content: String,
}

/// The directory of a profile's slot.
pub(super) fn slot_name(profile: &ProfileName) -> String {
    format!("gateway-{profile}")
}

/// The profile of a slot's directory.
pub(super) fn profile_of_slot(name: &str) -> Option<ProfileName> {
    let text = name.strip_prefix("gateway-")?;
    let profile = ProfileName::parse(text).ok()?;
    // Only as it would be written.
    (profile.as_str() == text).then_some(profile)
}

impl SlotDefinition {
    /// All files, without what supervisors make themselves.
    pub(super) fn files(&self) -> Vec<SlotFile> {
        let file = |path, mode, content: String| SlotFile {
            path,
            mode,
            content,
        };
        let mut files = vec![
            file("type", 0o644, "longrun\n".to_owned()),
            file("run", 0o755, self.run()),
            file("finish", 0o755, FINISH.to_owned()),
            file("notification-fd", 0o644, format!("{READY_DESCRIPTOR}\n")),
            file("timeout-finish", 0o644, "5000\n".to_owned()),
            file(
                "timeout-kill",
                0o644,
                format!("{}\n", self.stop_limit.as_millis()),
            ),
            file("max-death-tally", 0o644, "100\n".to_owned()),
            file("log/run", 0o755, self.log_run()),
        ];
        if self.is_down {
            files.push(file("down", 0o644, String::new()));
        }
        files
    }

    fn run(&self) -> String {
        let profile = &self.profile;
        let program = quoted(&self.program);
        let (flag, foreign) = if profile.is_default() {
            (String::new(), String::new())
        } else {
            (
                format!("-p {profile} "),
                format!(
                    "# These are for the default profile.\n\
                     unset {OF_DEFAULT_PROFILE}\n"
                ),
            )
        };
        let begin = begin(&format!("The gateway of profile {profile}"));
        format!(
            "{begin}{foreign}\
             export HERMES_S6_SUPERVISED_CHILD=1\n\
             cd \"$HOME\" || cd /\n\
             PATH=$path\n\
             exec $drop {program} {flag}gateway run --ready-fd {READY_DESCRIPTOR}\n"
        )
    }

    fn log_run(&self) -> String {
        let profile = &self.profile;
        let begin = begin(&format!("The output of the gateway of profile {profile}"));
        format!(
            "{begin}\
             logs=${{HERMES_HOME:-$HOME/.hermes}}/logs/gateways/{profile}\n\
             # Lines as they are for the container, then stamped for the file.\n\
             exec $drop $(command -v s6-log) 1 n10 s1000000 T \"$logs\"\n"
        )
    }
}

/// What both scripts begin with: the container's variables, the runtime user's home, and in `$drop`
/// what makes root that user.
fn begin(what: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # {what}. Written by hermes, and again at every boot.\n\
         exec 2>&1\n\
         if [ \"$1\" != loaded ] && [ -d {CONTAINER_VARIABLES} ]; then\n\
         \x20 PATH={SAFE_PATH}\n\
         \x20 exec s6-envdir {CONTAINER_VARIABLES} /bin/sh ./run loaded\n\
         fi\n\
         path=$PATH\n\
         PATH={SAFE_PATH}\n\
         drop=\n\
         if [ \"$(id -u)\" = 0 ]; then\n\
         \x20 drop=\"$(command -v s6-setuidgid) {RUNTIME_USER}\"\n\
         fi\n\
         home=~{RUNTIME_USER}\n\
         [ ! -d \"$home\" ] || export HOME=\"$home\"\n"
    )
}

/// Directories of root alone.
const SAFE_PATH: &str = "/command:/usr/sbin:/usr/bin:/sbin:/bin";

/// A configuration that cannot be used stays so however often it is tried.
const FINISH: &str = "\
#!/bin/sh
# 78: the configuration is at fault. 125 tells s6 to leave it at that.
[ \"$1\" != 78 ] || exit 125
exit 0
";

/// A word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "slot_files_tests.rs"]
mod tests;
