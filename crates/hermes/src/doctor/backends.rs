//! The terminal backend: whether it can be used, and what about it may surprise.

use std::ffi::OsStr;
use std::time::Duration;

use hermes_config::vars;
use hermes_docker::{DockerHost, manage};
use hermes_proc::find_on_path;
use hermes_runtime::{BackendKind, docker_host, live_environment};
use hermes_ssh::{SshSettings, check_programs};

use super::facts::terminal_backend;
use super::row::Row;
use crate::context::Context;
use crate::ui::TerminalPerson;

const SECTION: &str = "Terminal Backend";
/// A sandbox that runs unused for longer is worth a word.
const LONG_IDLE: Duration = Duration::from_hours(7 * 24);

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let shown = terminal_backend(context);
    match BackendKind::choose(context, None) {
        Ok(backend) => {
            rows.push(Row::ok(SECTION, "backend", shown));
            match backend {
                BackendKind::Docker => containers(context, rows),
                BackendKind::Ssh => machine(context, rows),
                BackendKind::Local => rows.push(optional_engine(context)),
            }
        }
        Err(error) => rows.push(unusable("backend", error.to_string(), error.hint())),
    }
}

/// An engine nobody chose is looked for, not asked.
fn optional_engine(context: &Context) -> Row {
    let path = context.env.os(&vars::PATH);
    let found = ["docker", "podman"]
        .into_iter()
        .find_map(|name| find_on_path(OsStr::new(name), path));
    let text = match found {
        Some(program) => format!("docker (optional): {}", program.display()),
        None => "docker (optional): not found".to_owned(),
    };
    Row::ok(SECTION, "docker", text)
}

fn containers(context: &Context, rows: &mut Vec<Row>) {
    let environment = live_environment(context);
    let person = TerminalPerson::shown_only(&context.printer);
    let host = match docker_host(context, &environment, &person) {
        Ok(host) => host,
        Err(error) => return rows.push(unusable("docker", error.to_string(), error.hint())),
    };
    match host.check() {
        Ok(info) => {
            let program = info.binary.display();
            let text = format!("docker (daemon running): {program}, {}", info.version);
            rows.push(Row::ok(SECTION, "docker", text));
            image(&host, rows);
            idle(&host, rows);
        }
        Err(error) => {
            let text = format!("docker daemon not running: {error}");
            rows.push(unusable("docker", text, error.hint()));
        }
    }
    let weakenings = host.weakenings();
    if !weakenings.is_empty() {
        let text = format!(
            "docker_extra_args weakens the sandbox: {}",
            weakenings.join(", ")
        );
        rows.push(
            Row::warning(SECTION, "docker_extra_args", text)
                .hint("commands in it are approved like those on this machine"),
        );
    }
    let visible = host.visible_secrets();
    if !visible.is_empty() {
        let text = format!(
            "docker_env holds what looks like a secret: {}",
            visible.join(", ")
        );
        rows.push(Row::warning(SECTION, "docker_env", text).hint(
            "everyone who may use the engine can read it; name it in terminal.docker_forward_env instead",
        ));
    }
}

fn image(host: &DockerHost, rows: &mut Vec<Row>) {
    let name = &host.settings().image;
    let limit = Duration::from_secs(10);
    let is_here = host
        .engine()
        .ask(&["image", "inspect", "--format", "{{.Id}}", name], limit)
        .is_ok_and(|answer| answer.is_success());
    let text = if is_here {
        format!("image {name}")
    } else {
        format!("image {name} is not here yet; the first command pulls it")
    };
    rows.push(Row::ok(SECTION, "docker_image", text));
}

fn idle(host: &DockerHost, rows: &mut Vec<Row>) {
    for sandbox in manage::idle(host, LONG_IDLE).unwrap_or_default() {
        let text = format!(
            "{} (task {}) has been running unused for more than a week",
            sandbox.name, sandbox.task_id
        );
        rows.push(
            Row::warning(SECTION, "idle_sandbox", text)
                .hint(format!("`hermes sandbox stop --task {}`", sandbox.task_id)),
        );
    }
}

/// Another machine is not called: doctor works without a network.
fn machine(context: &Context, rows: &mut Vec<Row>) {
    let environment = live_environment(context).current();
    let home = environment.policy().child_home.real_home().to_owned();
    let usable = SshSettings::from_config(context.config(), &home).and_then(|settings| {
        check_programs(context.env.os(&vars::PATH)).map(|_| settings.target())
    });
    rows.push(match usable {
        Ok(target) => Row::ok(SECTION, "ssh", format!("ssh to {target} (not tried)")),
        Err(error) => unusable("ssh", error.message, error.hint),
    });
}

fn unusable(name: &'static str, text: String, hint: Option<String>) -> Row {
    let row = Row::problem(SECTION, name, text);
    match hint {
        Some(hint) => row.hint(hint),
        None => row,
    }
}
