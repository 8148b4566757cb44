//! `hermes kanban create`: arguments are checked before the board
//! is opened.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use hermes_board::boards::BoardHome;
use hermes_board::find_project;
use hermes_board::model::{
    Assignee, LinkedTask, Obstacle, SkillList, Status, Task, TaskId, WorkspaceKind,
};
use hermes_board::store::{BoardStore, NewTask, StartIn};
use hermes_runtime::worker_setup;
use hermes_tools::TOOLSET_NAMES;

use super::cards::assignee;
use super::checks;
use super::dispatcher;
use super::placement::{PlacementArgs, warn_about_hosts};
use super::review::parse_action;
use super::session::{Kanban, usage};
use super::times::{parse_duration, parse_moment};
use crate::error::Result;
use crate::ui::one_line;

/// Who creates cards by hand.
const DEFAULT_CREATOR: &str = "user";

/// What agents cannot do.
pub(super) const ON_APPROVE: &str = "choose what becomes of approved work";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Title: what to do
    title: String,
    /// Description
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Assignee: a profile or a lane
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Parent card that must be finished first; can be repeated
    #[arg(long, value_name = "ID")]
    parent: Vec<TaskId>,
    /// Workspace: scratch, worktree, worktree:PATH or dir:PATH
    #[arg(long, value_name = "KIND", default_value = "scratch")]
    workspace: String,
    /// Branch of the worktree
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Address of the repository that the worktree is cloned from and pushed to, on whatever machine
    /// the card is worked on
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// Project of the card, by id or short name
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Namespace inside the board
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Priority; higher goes first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    priority: i64,
    /// Put the card into triage, to be specified first
    #[arg(long)]
    triage: bool,
    /// Return the existing card if this key was used before
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    idempotency_key: Option<String>,
    /// Time limit of an attempt: seconds, or 90s, 30m, 2h, 1d
    #[arg(long, value_name = "TIME")]
    max_runtime: Option<String>,
    /// Who creates the card [default: user, or the profile of the agent that calls]
    #[arg(long, value_name = "NAME")]
    created_by: Option<String>,
    /// Skill for the worker; can be repeated
    #[arg(long = "skill", value_name = "NAME")]
    skills: Vec<String>,
    /// Failures after which the card is blocked, instead of kanban.failure_limit
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_retries: Option<i64>,
    /// Keep the worker going until a judge decides that the goal is reached
    #[arg(long)]
    goal: bool,
    /// With --goal: turn limit of the worker
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    goal_max_turns: Option<i64>,
    /// Whether commands of the worker run in the kernel's sandbox, instead of what terminal.sandbox
    /// of its profile says
    #[arg(long, value_name = "WHEN", value_parser = ["on", "off"])]
    sandbox: Option<String>,
    /// Initial status; blocked waits until somebody unblocks it
    #[arg(long, value_name = "STATUS", value_parser = ["running", "blocked"], default_value = "running")]
    initial_status: String,
    /// Schedule the card for this time: 2027-01-31T09:00:00Z, or seconds since 1970
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["triage"])]
    scheduled_at: Option<String>,
    /// What becomes of the work once it is approved, instead of what the board says: none, merge, push
    /// or push:REMOTE
    #[arg(long, value_name = "ACTION")]
    on_approve: Option<String>,
    #[command(flatten)]
    place: PlacementArgs,
    #[command(flatten)]
    checks: checks::CheckArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut new = new_card(args, kanban)?;
    let mut session = kanban.open()?;
    let settings = &session.settings;
    let workers = worker_setup(kanban, &session.home, settings);
    let caller = session.caller()?;
    if args.checks.asks_for_host() {
        caller.must_be_person(checks::ON_HOST)?;
    }
    if new.on_approve.is_some() {
        caller.must_be_person(ON_APPROVE)?;
    }
    if new.repository.is_some() {
        // Git goes there with the user's own credentials.
        caller.must_be_person("choose the repository of a card")?;
    }
    if caller.is_agent() {
        new.created_by = Some(session.author(args.created_by.as_ref())?);
        if args.sandbox.as_deref() == Some("off") {
            caller.must_be_person("let a worker run commands without the sandbox")?;
        }
    }
    let chosen = new.workspace_path.as_deref().map(Path::new);
    new.filed_within = caller.filed_within(&session.store, &workers.workspaces, chosen, None)?;
    warn_about_hosts(&session, &new.placement)?;
    let task = session.store.create(&new)?.task;
    let default = settings.limits.default_assignee.clone();
    let obstacle = workers.check_card(&mut session.store, &task, default.as_ref())?;
    if let Some(obstacle) = &obstacle {
        warn_about(obstacle, &task, default.as_ref(), kanban)?;
    }
    if args.json {
        let linked = LinkedTask {
            parents: session.store.parents(&task.id)?,
            children: session.store.children(&task.id)?,
            task,
        };
        return kanban.json(&linked);
    }
    kanban.line(format!(
        "Created {}  ({}, assignee={})",
        task.id,
        task.status_word(),
        one_line(assignee(&task, "-"), 64)
    ))?;
    if let Some(name) = task.assignee.as_deref() {
        if !kanban.is_profile(name) {
            kanban.hint(format!(
                "there is no profile '{}'; the card waits for another program to claim it",
                one_line(name, 64)
            ))?;
        } else if task.status() == Status::Ready && obstacle.is_none_or(|one| !one.holds) {
            dispatcher::warn_if_absent(&session)?;
        }
    }
    Ok(())
}

/// Says what stands in the way of the card's worker.
fn warn_about(
    obstacle: &Obstacle,
    task: &Task,
    default: Option<&Assignee>,
    kanban: &Kanban<'_>,
) -> Result<()> {
    let who = assignee(task, default.map_or("-", Assignee::as_str));
    let who = one_line(who, 64);
    let problem = one_line(&obstacle.problem, 500);
    kanban.warn(if obstacle.holds {
        format!("{who} cannot work on {} yet: {problem}", task.id)
    } else {
        format!("{}: {problem}", task.id)
    })?;
    match &obstacle.hint {
        Some(hint) => kanban.hint(hint),
        None => Ok(()),
    }
}

fn new_card(args: &Args, kanban: &Kanban<'_>) -> Result<NewTask> {
    let (workspace, workspace_path) = workspace(&args.workspace, &kanban.home())?;
    let branch_name = args.branch.as_deref().map(branch).transpose()?;
    if branch_name.is_some() && workspace != WorkspaceKind::Worktree {
        return Err(usage(
            "--branch can only be given with --workspace worktree",
        ));
    }
    let duration = |text: &String| {
        parse_duration(text).map_err(|error| usage(format!("--max-runtime: {error}")))
    };
    if let Some(retries) = args.max_retries.filter(|retries| *retries < 1) {
        return Err(
            usage(format!("--max-retries must be at least 1, not {retries}"))
                .hint("1 blocks the card at its first failure"),
        );
    }
    let skills = match args.skills.as_slice() {
        [] => None,
        names => Some(SkillList::parse(
            names.iter().map(String::as_str),
            &TOOLSET_NAMES,
        )?),
    };
    Ok(NewTask {
        body: args.body.clone(),
        assignee: args.assignee.as_deref().map(Assignee::parse).transpose()?,
        created_by: args
            .created_by
            .clone()
            .or_else(|| Some(DEFAULT_CREATOR.to_owned())),
        workspace,
        workspace_path,
        branch_name,
        project: args
            .project
            .as_deref()
            .and_then(|name| find_project(&kanban.location.home, name)),
        tenant: args.tenant.clone(),
        priority: args.priority,
        parents: args.parent.clone(),
        start: start(args)?,
        idempotency_key: args.idempotency_key.clone(),
        max_runtime_seconds: args.max_runtime.as_ref().map(duration).transpose()?,
        skills,
        max_retries: args.max_retries,
        goal_mode: args.goal,
        goal_max_turns: args.goal_max_turns,
        repository: args.repo.as_deref().map(str::trim).map(str::to_owned),
        sandbox: args.sandbox.clone(),
        checks: args.checks.checks()?,
        on_approve: args.on_approve.as_deref().map(parse_action).transpose()?,
        placement: args.place.parse()?,
        ..NewTask::titled(&args.title)
    })
}

fn start(args: &Args) -> Result<StartIn> {
    let blocked = args.initial_status == "blocked";
    if blocked && (args.triage || args.scheduled_at.is_some()) {
        return Err(usage(
            "a card can have one initial status: --initial-status blocked, --triage or \
             --scheduled-at",
        ));
    }
    if let Some(text) = &args.scheduled_at {
        let at = parse_moment(text);
        let at = at.map_err(|error| usage(format!("--scheduled-at: {error}")))?;
        return Ok(StartIn::Scheduled(at));
    }
    Ok(match (blocked, args.triage) {
        (true, _) => StartIn::Blocked,
        (false, true) => StartIn::Triage,
        (false, false) => StartIn::Work,
    })
}

/// `scratch`, `worktree`, `worktree:PATH` or `dir:PATH`.
fn workspace(text: &str, home: &BoardHome) -> Result<(WorkspaceKind, Option<String>)> {
    let (kind, path) = match text.trim().split_once(':') {
        None => (text.trim(), None),
        Some((kind, path)) => (kind, Some(path.trim())),
    };
    let kind = match (kind, path) {
        ("scratch", None) => return Ok((WorkspaceKind::Scratch, None)),
        ("worktree", None) => return Ok((WorkspaceKind::Worktree, None)),
        ("worktree", Some(_)) => WorkspaceKind::Worktree,
        ("dir", Some(_)) => WorkspaceKind::Dir,
        _ => {
            return Err(usage(format!(
                "--workspace: '{}' is not one of scratch, worktree, worktree:PATH and dir:PATH",
                one_line(text, 64)
            )));
        }
    };
    let path = path.filter(|path| !path.is_empty());
    let Some(path) = path.map(|path| home.expand(&PathBuf::from(path))) else {
        return Err(usage(format!(
            "--workspace {kind}: a path must follow the colon"
        )));
    };
    if !path.is_absolute() {
        let refusal = usage(format!(
            "--workspace: '{}' is not an absolute path",
            one_line(&path.to_string_lossy(), 200)
        ));
        return Err(match std::path::absolute(&path) {
            Ok(meant) => refusal.hint(format!("did you mean {kind}:{}?", meant.display())),
            Err(_) => refusal,
        });
    }
    Ok((kind, Some(path.to_string_lossy().into_owned())))
}

/// A branch name that is neither an option nor several words.
fn branch(text: &str) -> Result<String> {
    let name = text.trim();
    let problem = if name.is_empty() {
        "must not be empty"
    } else if name.starts_with('-') {
        "must not begin with '-'"
    } else if name.contains(|char: char| char.is_whitespace() || char.is_control()) {
        "must not contain spaces"
    } else {
        return Ok(name.to_owned());
    };
    Err(usage(format!("--branch {problem}")))
}
