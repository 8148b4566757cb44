//! The terminal backend: whether it can be used, and what about it may surprise.

use std::ffi::OsStr;
use std::time::Duration;

use hermes_config::vars;
use hermes_docker::{DockerHost, manage};
use hermes_policy::SandboxMode;
use hermes_proc::find_on_path;
use hermes_runtime::{BackendKind, docker_host, live_environment};
use hermes_ssh::{SshSettings, check_programs};

use super::row::Report;
use crate::context::Context;
use crate::facts::terminal_backend;
use crate::sandbox_view::SandboxView;
use crate::ui::TerminalPerson;

/// A sandbox that runs unused for longer is worth a word.
const LONG_IDLE: Duration = Duration::from_hours(7 * 24);

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Terminal Backend";
    match BackendKind::choose(context, None) {
        Ok(backend) => {
            report.ok("backend", terminal_backend(context));
            match backend {
                BackendKind::Docker => containers(context, report),
                BackendKind::Ssh => machine(context, report),
                BackendKind::Local => {
                    optional_engine(context, report);
                    local_sandbox(context, report);
                }
            }
        }
        Err(error) => report
            .problem("backend", error.to_string())
            .hints(error.hint()),
    }
}

/// An engine nobody chose is looked for, not asked.
fn optional_engine(context: &Context, report: &mut Report) {
    let path = context.env.os(&vars::PATH);
    let mut names = ["docker", "podman"].into_iter();
    let found = names.find_map(|name| find_on_path(OsStr::new(name), path));
    let shown = found.map_or_else(|| "not found".to_owned(), |it| it.display().to_string());
    report.ok("docker", format!("docker (optional): {shown}"));
}

/// What the kernel enforces of the sandbox for commands on this machine.
fn local_sandbox(context: &Context, report: &mut Report) {
    let view = SandboxView::of(context);
    let text = format!("sandbox ({}): {}", view.mode.word(), view.summary());
    match (&view.enforcement, view.mode) {
        (_, SandboxMode::Off) => report.ok("sandbox", "sandbox (off): commands are not confined"),
        (Ok(enforcement), _) if enforcement.gaps.is_empty() => report.ok("sandbox", text),
        (Ok(enforcement), _) => {
            let gaps = enforcement.gaps.iter();
            report
                .warning("sandbox", text)
                .hints(gaps.map(|gap| format!("not enforced: {} ({})", gap.what, gap.reason)));
        }
        (Err(_), SandboxMode::On) => report.problem("sandbox", text).hints([
            "set terminal.sandbox to auto or off, or use a kernel with Landlock".to_owned(),
        ]),
        (Err(_), SandboxMode::Auto) => report.warning("sandbox", text).hints([
            "commands that need approval are refused where nobody can be asked".to_owned(),
        ]),
    }
    for warning in &view.policy.warnings {
        report.warning("sandbox_policy", warning.clone());
    }
}

fn containers(context: &Context, report: &mut Report) {
    let environment = live_environment(context);
    let person = TerminalPerson::shown_only(context.printer);
    let host = match docker_host(context, &environment, &person) {
        Ok(host) => host,
        Err(error) => {
            return report
                .problem("docker", error.to_string())
                .hints(error.hint());
        }
    };
    match host.check() {
        Ok(info) => {
            let program = info.binary.display();
            let text = format!("docker (daemon running): {program}, {}", info.version);
            report.ok("docker", text);
            image(&host, report);
            idle(&host, report);
        }
        Err(error) => report
            .problem("docker", format!("docker daemon not running: {error}"))
            .hints(error.hint()),
    }
    let weakenings = host.weakenings().join(", ");
    if !weakenings.is_empty() {
        let text = format!("docker_extra_args weakens the sandbox: {weakenings}");
        report
            .warning("docker_extra_args", text)
            .hint("commands in the sandbox need the same approvals as commands on this machine");
    }
    let visible = host.visible_secrets().join(", ");
    if !visible.is_empty() {
        let text = format!("docker_env seems to contain secrets: {visible}");
        report.warning("docker_env", text).hint(
            "anyone with access to the engine can read them; list the names in \
             terminal.docker_forward_env instead",
        );
    }
}

fn image(host: &DockerHost, report: &mut Report) {
    let name = &host.settings().image;
    let limit = Duration::from_secs(10);
    let is_here = host
        .engine()
        .ask(&["image", "inspect", "--format", "{{.Id}}", name], limit)
        .is_ok_and(|answer| answer.is_success());
    let note = if is_here {
        ""
    } else {
        " is not here yet; the first command pulls it"
    };
    report.ok("docker_image", format!("image {name}{note}"));
}

fn idle(host: &DockerHost, report: &mut Report) {
    for sandbox in manage::idle(host, LONG_IDLE).unwrap_or_default() {
        let (name, task) = (&sandbox.name, &sandbox.task_id);
        let text = format!("{name} (task {task}) has been running idle for more than a week");
        report
            .warning("idle_sandbox", text)
            .hint(format!("`hermes sandbox stop --task {task}`"));
    }
}

/// Another machine is not called: doctor works without a network.
fn machine(context: &Context, report: &mut Report) {
    let environment = live_environment(context).current();
    let home = environment.policy().child_home.real_home().to_owned();
    let usable = SshSettings::from_config(context.config(), &home).and_then(|settings| {
        check_programs(context.env.os(&vars::PATH)).map(|_| settings.target())
    });
    match usable {
        Ok(target) => report.ok("ssh", format!("ssh to {target} (connection not tested)")),
        Err(error) => report.problem("ssh", error.message).hints(error.hint),
    }
}
