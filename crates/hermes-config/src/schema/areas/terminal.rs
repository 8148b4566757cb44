//! Where and how the agent's commands run.

use super::super::key::{
    Fallback, Kind, choice, custom, flag, int, list, map, number, positive, switch, text, whole,
};

const IMAGE: &str = "nikolaik/python-nodejs:python3.11-nodejs20";
const SINGULARITY_IMAGE: &str = "docker://nikolaik/python-nodejs:python3.11-nodejs20";

/// The three modes, then their other names.
const HOME_MODES: &[&str] = &[
    "auto",
    "real",
    "profile",
    "host",
    "user",
    "real_home",
    "real-home",
    "isolated",
    "profile_home",
    "profile-home",
];

sections! {
    /// Where and how commands run.
    "terminal" open = false {
        /// Where commands run.
        "backend": choice(&["local", "docker", "ssh", "singularity", "modal", "daytona"], "local")
            .var("TERMINAL_ENV");
        /// How the modal backend is accessed.
        "modal_mode": text("auto").var("TERMINAL_MODAL_MODE");
        /// Directory to start in; `.` is where Hermes was started.
        "cwd": text(".").var("TERMINAL_CWD");
        /// Seconds a command may take.
        "timeout": positive(180).var("TERMINAL_TIMEOUT");
        /// Seconds between TERM and KILL for what a command left running.
        "daemon_term_grace_seconds": number(2.0).var("TERMINAL_DAEMON_TERM_GRACE_SECONDS");
        /// Variables passed to commands although a rule would strip them.
        "env_passthrough": list().var("TERMINAL_ENV_PASSTHROUGH");
        /// Credentials passed to the agent's shells; nothing internal to Hermes.
        "trusted_env_passthrough": list().var("TERMINAL_TRUSTED_ENV_PASSTHROUGH");
        /// Files read before the first command.
        "shell_init_files": list().var("TERMINAL_SHELL_INIT_FILES");
        /// Whether the user's shell start-up file is read.
        "auto_source_bashrc": flag(true).var("TERMINAL_AUTO_SOURCE_BASHRC");
        /// Whether directory, variables and functions persist between calls.
        "persistent_shell": flag(true).var("TERMINAL_PERSISTENT_SHELL");
        /// Which HOME commands see; `auto` means the profile's only in containers.
        "home_mode": choice(HOME_MODES, "auto").var("TERMINAL_HOME_MODE");
        /// Whether the profile's home links to the login keychain of the real one.
        "profile_home_keychain": flag(true).var("TERMINAL_PROFILE_HOME_KEYCHAIN");
        /// Further entries of the real home linked into the profile's home.
        "profile_home_links": list().var("TERMINAL_PROFILE_HOME_LINKS");
        /// Whether commands that would never return are refused in the foreground.
        "foreground_guard": flag(true).var("TERMINAL_FOREGROUND_GUARD");
        /// Whether commands on this machine run in the kernel's sandbox; `auto` means those of
        /// workers, and those that would be refused because nobody can be asked.
        "sandbox": choice(&["auto", "on", "off"], "auto").var("HERMES_TERMINAL_SANDBOX");
        /// Further directories and files that sandboxed commands may write.
        "sandbox_write": list().var("TERMINAL_SANDBOX_WRITE");
        /// Which network sandboxed commands have; `loopback` is this machine only.
        "sandbox_network": choice(&["on", "loopback", "off"], "on").var("TERMINAL_SANDBOX_NETWORK");
        /// What happens to background processes when Hermes exits.
        "background_on_exit": choice(&["kill", "keep"], "kill").var("TERMINAL_BACKGROUND_ON_EXIT");
        /// Image of the docker backend.
        "docker_image": text(IMAGE).var("TERMINAL_DOCKER_IMAGE");
        /// Image of the singularity backend.
        "singularity_image": text(SINGULARITY_IMAGE).var("TERMINAL_SINGULARITY_IMAGE");
        /// Image of the modal backend.
        "modal_image": text(IMAGE).var("TERMINAL_MODAL_IMAGE");
        /// Image of the daytona backend.
        "daytona_image": text(IMAGE).var("TERMINAL_DAYTONA_IMAGE");
        /// Variables of this process passed into containers.
        "docker_forward_env": list().var("TERMINAL_DOCKER_FORWARD_ENV");
        /// Variables set in containers.
        "docker_env": map().var("TERMINAL_DOCKER_ENV");
        /// Mounts, as `host:container[:mode]`.
        "docker_volumes": list().var("TERMINAL_DOCKER_VOLUMES");
        /// Further arguments for creating a container.
        "docker_extra_args": list().var("TERMINAL_DOCKER_EXTRA_ARGS");
        /// Whether the start directory is mounted at `/workspace`.
        "docker_mount_cwd_to_workspace": flag(false).var("TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE");
        /// Whether commands in containers run with the user's own ids.
        "docker_run_as_host_user": flag(false).var("TERMINAL_DOCKER_RUN_AS_HOST_USER");
        /// Whether a later process finds the same container again.
        "docker_persist_across_processes": switch(true)
            .var("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES");
        /// Whether containers that nobody uses are removed.
        "docker_orphan_reaper": switch(true).var("TERMINAL_DOCKER_ORPHAN_REAPER");
        /// Whether containers reach the network.
        "docker_network": flag(true).var("TERMINAL_DOCKER_NETWORK");
        /// Most processes and threads in a container; 0 for no limit.
        "docker_pids_limit": int(256).var("TERMINAL_DOCKER_PIDS_LIMIT");
        /// Whether a container that cannot be limited is an error.
        "docker_require_limits": flag(false).var("TERMINAL_DOCKER_REQUIRE_LIMITS");
        /// What happens to a container created with different settings.
        "docker_on_drift": choice(&["warn", "recreate", "ignore"], "warn")
            .var("TERMINAL_DOCKER_ON_DRIFT");
        /// Seconds that pulling an image may take.
        "docker_pull_timeout": positive(900).var("TERMINAL_DOCKER_PULL_TIMEOUT");
        /// Whether containers see skills, declared credential files and caches, read-only.
        "docker_auto_mounts": flag(true).var("TERMINAL_DOCKER_AUTO_MOUNTS");
        /// Paths of this machine as the engine sees them, as `here: there`.
        "docker_host_path_map": map().var("TERMINAL_DOCKER_HOST_PATH_MAP");
        /// Whether conversations share one container or have one each.
        "docker_isolation": choice(&["shared", "session"], "shared")
            .var("TERMINAL_DOCKER_ISOLATION");
        /// Whether a container gets an init process; `auto` unless its image brings one.
        "docker_init": custom(Kind::BoolOr(&["auto"]), Fallback::Text("auto"))
            .var("TERMINAL_DOCKER_INIT");
        /// Cores of a container.
        "container_cpu": whole(1).var("TERMINAL_CONTAINER_CPU");
        /// Memory of a container in MB.
        "container_memory": int(5120).var("TERMINAL_CONTAINER_MEMORY");
        /// Disk of a container in MB.
        "container_disk": int(51200).var("TERMINAL_CONTAINER_DISK");
        /// Whether files in a container persist.
        "container_persistent": flag(true).var("TERMINAL_CONTAINER_PERSISTENT");
        /// Seconds an idle environment is kept.
        "lifetime_seconds": int(300).var("TERMINAL_LIFETIME_SECONDS");
        /// Host of the ssh backend.
        "ssh_host": text("").unset().var("TERMINAL_SSH_HOST");
        /// User of the ssh backend.
        "ssh_user": text("").unset().var("TERMINAL_SSH_USER");
        /// Port of the ssh backend.
        "ssh_port": int(22).var("TERMINAL_SSH_PORT");
        /// Key file of the ssh backend.
        "ssh_key": text("").unset().var("TERMINAL_SSH_KEY");
        /// Files of the home that are copied to containers and remote machines.
        "credential_files": list().var("TERMINAL_CREDENTIAL_FILES");
        /// Directory for the files of sandboxes.
        "sandbox_dir": text("").unset().var("TERMINAL_SANDBOX_DIR");
        /// Password for sudo; better kept in `.env`.
        "sudo_password": text("").unset().secret().var("SUDO_PASSWORD");
    }
}
