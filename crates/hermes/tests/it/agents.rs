//! What an agent may call of this program. Every command is either open to it or refused: one that is
//! in neither list is a command that nobody thought about.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{configured, fresh};

/// Commands that let nobody do more than before. `hermes kanban` has rules of its own, by card.
const OPEN: &str = "demo, chat, config show, config get, config path, config env-path, config check, \
    config migrate, profile list, profile create, profile show, profile export, profile describe, \
    profile info, gateway status, gateway list, cron list, cron status, cron runs, model, auth list, \
    auth status, fallback list, hooks list, checkpoints status, checkpoints list, mcp list, mcp test, \
    mcp catalog, status, doctor, logs, dump, update, exec, sandbox list, sandbox exec, sandbox stop, \
    sandbox reset, sandbox rm, sandbox prune, sandbox policy, sessions list, sessions browse, \
    sessions search, sessions export, sessions rename, sessions stats, sessions archive, \
    sessions optimize, sessions repair, skills list, skills browse, skills search, skills inspect, \
    skills check, skills audit, skills config, skills reset, skills list-modified, skills diff, \
    skills opt-out, skills opt-in, skills repair-official, skills publish, skills snapshot export, \
    skills tap list, skills tap remove, skills pending, skills reject, addons list, addons show, addons install, addons remove, \
    addons verify, addons gc, addons doctor, addons call, addons restart, addons logs, addons python, plugins list, plugins show, \
    memory status, memory pending, memory reject, insights, tools list, \
    tools call, completion, man, version";

/// Commands that would let an agent do more, or hide what it did; each as it is called.
const REFUSED: &[&str] = &[
    "config set approvals.mode off",
    "config unset approvals.mode",
    "config edit",
    "profile use default",
    "profile delete other --yes",
    "profile alias default",
    "profile rename default other",
    "profile import nowhere.tar.gz",
    "profile install nowhere",
    "profile update default",
    "gateway run",
    "gateway start",
    "gateway stop",
    "gateway restart",
    "gateway install",
    "gateway uninstall",
    "gateway setup",
    "gateway migrate-legacy",
    "dashboard",
    "cron create 1h work",
    "cron edit job --name other",
    "cron pause job",
    "cron resume job",
    "cron run job",
    "cron remove job",
    "cron tick",
    "auth add openrouter --api-key sk-or-v1-000000000000",
    "auth remove openrouter 1",
    "auth logout openrouter",
    "auth reset openrouter",
    "fallback add openrouter some/model",
    "fallback remove 1",
    "fallback clear",
    "hooks test on_session_start",
    "hooks revoke command",
    "hooks doctor",
    "checkpoints prune",
    "checkpoints clear --force",
    "checkpoints clear-legacy --force",
    "mcp add name --command program",
    "mcp remove name",
    "mcp configure name",
    "mcp login name",
    "mcp reauth name",
    "mcp install name",
    "mcp picker",
    "setup --non-interactive --reset --provider custom --base-url http://127.0.0.1:9/v1 --model other --backend local",
    "login --provider openrouter",
    "logout --provider openrouter",
    "backup",
    "import nowhere.zip",
    "sessions delete some --yes",
    "sessions prune --yes",
    "skills install some/skill",
    "skills uninstall skill",
    "skills update",
    "skills snapshot import nowhere.json",
    "skills tap add owner/name",
    "skills approve all",
    "skills approval off",
    "memory setup mem0",
    "memory off",
    "memory approve all",
    "memory reset --yes",
    "memory approval off",
    "plugins install owner/name",
    "plugins update name",
    "plugins remove name",
    "plugins enable name",
    "plugins disable name",
    "tools enable web",
    "tools disable web",
];

/// Every command with something to do, as the reference page names it.
fn commands() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let names = headings.filter_map(|line| line.split('`').nth(1)?.strip_prefix("hermes "));
    let names: Vec<&str> = names.collect();
    let is_group = |name: &str| {
        let inner = format!("{name} ");
        names.iter().any(|other| other.starts_with(&inner))
    };
    let leaves = names.iter().filter(|name| !is_group(name));
    leaves.map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_command_is_open_to_agents_or_refused() {
    let open: BTreeSet<&str> = OPEN.split(", ").map(str::trim).collect();
    let commands = commands();
    assert!(commands.len() > 150, "{commands:?}");
    for command in commands.iter().filter(|name| !name.starts_with("kanban ")) {
        let is_refused = REFUSED.iter().any(|line| {
            let behind = line.strip_prefix(command.as_str());
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let is_open = open.contains(command.as_str());
        assert_ne!(
            is_open, is_refused,
            "`hermes {command}` belongs into one list"
        );
    }
    for name in open {
        assert!(commands.contains(name), "{name}");
    }
}

#[test]
fn what_would_free_an_agent_is_refused_and_changes_nothing() {
    let settings = "approvals: {mode: manual, deny: ['curl *']}\nterminal: {sandbox: on}\n";
    let home = configured(settings);
    for line in REFUSED {
        let outcome = home
            .hermes(line.split(' '))
            .env("HERMES_AGENT_SHELL", "1")
            .env("EDITOR", "true")
            .stdin("")
            .run();
        outcome
            .exits(1)
            .says_part("is refused in an agent's shell\n");
        assert_eq!(home.read("config.yaml"), settings, "{line}");
    }
    assert!(!home.has(".env") && !home.has("auth.json"));
}

/// At a terminal of its own, an agent could answer the questions of the first start.
#[test]
fn questions_of_setup_are_not_for_agents() {
    for args in [&["setup"][..], &["model"], &["chat"], &[]] {
        let home = fresh();
        let agent = home
            .hermes(args)
            .env("HERMES_AGENT_SHELL", "1")
            .env("NO_COLOR", "1")
            .start_at_terminal();
        agent.wait_for("is refused in an agent's shell");
        assert_eq!(agent.wait().code, Some(1), "{args:?}");
        assert!(!home.has("config.yaml") || !home.read("config.yaml").contains("provider"));
    }
}
