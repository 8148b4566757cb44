//! Services of the system, of Hermes and of containers, and the flags of sudo.

use super::super::keys;
use super::super::sudo;
use super::{Call, Keys};
use hermes_shell::programs::interpreter;
use hermes_shell::{Command, is_one_of, operands};

/// Verbs of `systemctl` after which a unit does not run as before.
const STOPPING_UNITS: &str = "stop restart disable mask kill try-restart reload-or-restart isolate";

/// Verbs of `systemctl` after which the machine sleeps or serves nobody.
const SLEEPING: &str = "suspend hibernate hybrid-sleep suspend-then-hibernate sleep rescue emergency \
    default exit set-default";

/// `/etc/init.d/sshd stop`
fn is_init_script(command: &Command) -> bool {
    let path = command.words.first().map_or("", |word| word.text.as_str());
    let is_script = ["/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/"]
        .iter()
        .any(|directory| path.starts_with(directory));
    is_script
        && command
            .texts()
            .any(|text| is_one_of(text, "stop restart force-stop onestop"))
}

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    match call.name() {
        "systemctl" => {
            let verb = call.command.texts().find(|text| !text.starts_with('-'));
            if verb.is_some_and(|verb| is_one_of(verb, STOPPING_UNITS)) {
                keys.push(keys::SYSTEM_SERVICE);
            }
            if verb.is_some_and(|verb| is_one_of(verb, SLEEPING)) {
                keys.push(keys::POWER);
            }
        }
        _ if is_init_script(call.command) => keys.push(keys::SYSTEM_SERVICE),
        "sv" | "supervisorctl" | "initctl" | "pm2" => {
            let verb = call.command.texts().find(|text| !text.starts_with('-'));
            let stops = "stop down restart shutdown force-stop exit delete";
            if verb.is_some_and(|verb| is_one_of(verb, stops)) {
                keys.push(keys::SYSTEM_SERVICE);
            }
        }
        "service" | "rc-service" => {
            let verb = call.command.texts().filter(|t| !t.starts_with('-')).nth(1);
            if matches!(verb, Some("stop" | "restart" | "force-stop")) {
                keys.push(keys::SYSTEM_SERVICE);
            }
        }
        "launchctl" => {
            let mut texts = call.command.texts();
            let verb = texts.next().unwrap_or_default();
            let stops = "stop kickstart bootout unload kill remove disable";
            if is_one_of(verb, stops)
                && texts.any(|text| text.to_ascii_lowercase().contains("hermes"))
            {
                keys.push(keys::LAUNCHD);
            }
        }
        "docker" | "podman" | "docker-compose" | "podman-compose" => containers(call, keys),
        "sudo" => keys.extend(sudo::privilege_keys(call.command)),
        _ => hermes(call, keys),
    }
}

fn containers(call: &Call<'_>, keys: &mut Keys) {
    let with_value =
        "-f --file -p --project-name --profile --project-directory -H --host -c --context";
    let mut operands = operands(call.command.texts(), with_value);
    let first = operands.next().unwrap_or_default();
    let compose = first == "compose" || call.name().ends_with("-compose");
    let verb = match (first, call.name().ends_with("-compose")) {
        ("compose" | "container", false) => operands.next().unwrap_or_default(),
        _ => first,
    };
    if compose && matches!(verb, "restart" | "stop" | "kill" | "down") {
        keys.push(keys::DOCKER_COMPOSE);
    } else if !compose && matches!(verb, "restart" | "stop" | "kill") {
        keys.push(keys::DOCKER);
    }
}

/// Subcommand and verb of a call of Hermes, behind its global options.
pub(crate) fn hermes_call(command: &Command) -> Option<(&str, &str)> {
    let args: Vec<&str> = match command.name() {
        "hermes" => command.texts().collect(),
        name if interpreter(name).is_some() => {
            let texts: Vec<&str> = command.texts().collect();
            let module = texts.iter().position(|text| {
                text.starts_with("hermes_cli") || text.ends_with("/hermes") || *text == "hermes"
            })?;
            texts.get(module + 1..)?.to_vec()
        }
        _ => return None,
    };
    let mut operands = operands(args, "-p --profile -m --model");
    let first = operands.next().unwrap_or_default();
    Some((first, operands.next().unwrap_or_default()))
}

/// What an agent must not do to itself or to another: start one, change what it may do.
fn changes_agents(first: &str, verb: &str) -> bool {
    match first {
        "chat" | "setup" | "login" | "logout" | "auth" | "uninstall" | "model" => true,
        "config" => matches!(verb, "set" | "unset" | "edit" | "reset" | "import"),
        "profile" => matches!(verb, "create" | "delete" | "import" | "rename"),
        "mcp" | "plugins" | "skills" | "cron" | "hooks" | "webhook" => {
            !is_one_of(verb, "list show status search info get test logs help") && !verb.is_empty()
        }
        _ => false,
    }
}

fn hermes(call: &Call<'_>, keys: &mut Keys) {
    if let Some((first, verb)) = hermes_call(call.command) {
        let starts = call
            .command
            .texts()
            .take_while(|text| *text != "--")
            .any(|text| {
                matches!(text, "-z" | "--yolo" | "--oneshot") || text.starts_with("--yolo=")
            });
        let asks = call
            .command
            .texts()
            .any(|text| matches!(text, "--help" | "-h"));
        if !asks && (starts || changes_agents(first, verb)) {
            keys.push(keys::HERMES_AGENT);
        }
    }
    match hermes_call(call.command) {
        Some(("gateway", "stop" | "restart")) => keys.push(keys::GATEWAY_STOP),
        Some(("update", _)) => keys.push(keys::HERMES_UPDATE),
        Some(("gateway", "run")) => {
            let detached = call.command.background
                || carriers(call).any(|name| matches!(name, "nohup" | "setsid"))
                || call.script.commands.iter().any(|c| c.name() == "disown");
            if detached {
                keys.push(keys::GATEWAY_OUTSIDE);
            }
        }
        _ => {}
    }
}

/// Names of the commands that carry this one, from the inside out.
fn carriers<'p>(call: &Call<'p>) -> impl Iterator<Item = &'p str> {
    let script = call.script;
    let mut next = call.command.carrier;
    std::iter::from_fn(move || {
        let carrier = script.commands.get(next?.0)?;
        next = carrier.carrier;
        Some(carrier.name())
    })
    .take(16)
}
