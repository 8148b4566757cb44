//! Where and how the agent's commands run.

use super::super::key::{
    Fallback, Kind, Section, choice, custom, flag, int, list, map, number, positive, text, whole,
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

pub(super) const TERMINAL: Section = Section {
    name: "terminal",
    doc: "Where and how commands run.",
    open: false,
    keys: &[
        choice(
            "backend",
            &["local", "docker", "ssh", "singularity", "modal", "daytona"],
            "local",
            "Where commands run.",
        )
        .var("TERMINAL_ENV"),
        text("modal_mode", "auto", "How the modal backend is reached.").var("TERMINAL_MODAL_MODE"),
        text(
            "cwd",
            ".",
            "Directory to start in; `.` is where Hermes was started.",
        )
        .var("TERMINAL_CWD"),
        positive("timeout", 180, "Seconds a command may take.").var("TERMINAL_TIMEOUT"),
        number(
            "daemon_term_grace_seconds",
            2.0,
            "Seconds between TERM and KILL for what a command left running.",
        ),
        list(
            "env_passthrough",
            "Variables handed to commands although a rule would strip them.",
        ),
        list(
            "trusted_env_passthrough",
            "Credentials handed to the agent's shells; nothing internal to Hermes.",
        ),
        list("shell_init_files", "Files read before the first command."),
        flag(
            "auto_source_bashrc",
            true,
            "Whether the user's shell start-up file is read.",
        ),
        flag(
            "persistent_shell",
            true,
            "Whether directory, variables and functions last from call to call.",
        )
        .var("TERMINAL_PERSISTENT_SHELL"),
        choice(
            "home_mode",
            HOME_MODES,
            "auto",
            "Which HOME commands see; `auto` means the profile's only in containers.",
        )
        .var("TERMINAL_HOME_MODE"),
        flag(
            "profile_home_keychain",
            true,
            "Whether the profile's home links to the login keychain of the real one.",
        ),
        list(
            "profile_home_links",
            "Further entries of the real home that the profile's links to.",
        ),
        flag(
            "foreground_guard",
            true,
            "Whether commands that would never return are refused in the foreground.",
        ),
        choice(
            "background_on_exit",
            &["kill", "keep"],
            "kill",
            "What becomes of background processes when Hermes ends.",
        ),
        text("docker_image", IMAGE, "Image of the docker backend.").var("TERMINAL_DOCKER_IMAGE"),
        text(
            "singularity_image",
            SINGULARITY_IMAGE,
            "Image of the singularity backend.",
        )
        .var("TERMINAL_SINGULARITY_IMAGE"),
        text("modal_image", IMAGE, "Image of the modal backend.").var("TERMINAL_MODAL_IMAGE"),
        text("daytona_image", IMAGE, "Image of the daytona backend.").var("TERMINAL_DAYTONA_IMAGE"),
        list(
            "docker_forward_env",
            "Variables of this process handed into containers.",
        )
        .var("TERMINAL_DOCKER_FORWARD_ENV"),
        map("docker_env", "Variables set in containers.").var("TERMINAL_DOCKER_ENV"),
        list("docker_volumes", "Mounts, as `host:container[:mode]`.")
            .var("TERMINAL_DOCKER_VOLUMES"),
        list(
            "docker_extra_args",
            "Further arguments for creating a container.",
        )
        .var("TERMINAL_DOCKER_EXTRA_ARGS"),
        flag(
            "docker_mount_cwd_to_workspace",
            false,
            "Whether the start directory is mounted at `/workspace`.",
        )
        .var("TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE"),
        flag(
            "docker_run_as_host_user",
            false,
            "Whether commands in containers run with the user's own ids.",
        )
        .var("TERMINAL_DOCKER_RUN_AS_HOST_USER"),
        flag(
            "docker_persist_across_processes",
            true,
            "Whether a later process finds the same container again.",
        )
        .var("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES"),
        flag(
            "docker_orphan_reaper",
            true,
            "Whether containers that nobody uses are removed.",
        )
        .var("TERMINAL_DOCKER_ORPHAN_REAPER"),
        flag(
            "docker_network",
            true,
            "Whether containers reach the network.",
        )
        .var("TERMINAL_DOCKER_NETWORK"),
        int(
            "docker_pids_limit",
            256,
            "Most processes and threads in a container; 0 for no limit.",
        ),
        flag(
            "docker_require_limits",
            false,
            "Whether a container that cannot be limited is an error.",
        ),
        choice(
            "docker_on_drift",
            &["warn", "recreate", "ignore"],
            "warn",
            "What becomes of a container made with other settings.",
        ),
        positive(
            "docker_pull_timeout",
            900,
            "Seconds that fetching an image may take.",
        ),
        flag(
            "docker_auto_mounts",
            true,
            "Whether containers see skills, declared credential files and caches, read-only.",
        ),
        map(
            "docker_host_path_map",
            "Where paths of this machine are for the engine, as `here: there`.",
        ),
        choice(
            "docker_isolation",
            &["shared", "session"],
            "shared",
            "Whether conversations share one container or have one each.",
        ),
        custom(
            "docker_init",
            Kind::BoolOr(&["auto"]),
            Fallback::Text("auto"),
            "Whether a container gets an init process; `auto` unless its image brings one.",
        ),
        whole("container_cpu", 1, "Cores of a container.").var("TERMINAL_CONTAINER_CPU"),
        int("container_memory", 5120, "Memory of a container in MB.")
            .var("TERMINAL_CONTAINER_MEMORY"),
        int("container_disk", 51200, "Disk of a container in MB.").var("TERMINAL_CONTAINER_DISK"),
        flag(
            "container_persistent",
            true,
            "Whether files in a container last.",
        )
        .var("TERMINAL_CONTAINER_PERSISTENT"),
        int(
            "lifetime_seconds",
            300,
            "Seconds an idle environment is kept.",
        )
        .unset()
        .var("TERMINAL_LIFETIME_SECONDS"),
        text("ssh_host", "", "Host of the ssh backend.")
            .unset()
            .var("TERMINAL_SSH_HOST"),
        text("ssh_user", "", "User of the ssh backend.")
            .unset()
            .var("TERMINAL_SSH_USER"),
        int("ssh_port", 22, "Port of the ssh backend.")
            .unset()
            .var("TERMINAL_SSH_PORT"),
        text("ssh_key", "", "Key file of the ssh backend.")
            .unset()
            .var("TERMINAL_SSH_KEY"),
        list(
            "credential_files",
            "Files of the home that containers and remote machines get to see.",
        ),
        text("sandbox_dir", "", "Directory for the files of sandboxes.")
            .unset()
            .var("TERMINAL_SANDBOX_DIR"),
        text(
            "sudo_password",
            "",
            "Password for sudo; better kept in `.env`.",
        )
        .unset()
        .secret()
        .var("SUDO_PASSWORD"),
    ],
};
