//! `hermes kanban review approve` and `request-changes`.

use hermes_board::DispatchFlags;
use hermes_board::completion::CompletionSetup;
use hermes_board::model::{OnApprove, Status, TaskId};
use hermes_board::review::{self, ApproveOutcome, ApproveRequest, Approved, Landed};
use hermes_board::store::FailurePolicy;
use hermes_runtime::{AssigneeChecks, dispatch_settings, worker_setup};
use hermes_secret::Sink;

use super::super::complete::{check_failed, output};
use super::super::session::{BoardSession, Kanban, refusal, usage};
use crate::error::Result;
use crate::tool_access::interrupt;
use crate::ui::{counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct RequestChangesArgs {
    /// The card
    id: TaskId,
    /// What to change, besides the open comments
    text: Vec<String>,
    /// Author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The card
    id: TaskId,
    /// Merge its branch into the one it came from
    #[arg(long, group = "action")]
    merge: bool,
    /// Push its branch, to this remote or to that of the branch it came from
    #[arg(long, group = "action", value_name = "REMOTE", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "")]
    push: Option<String>,
    /// Leave its branch as it is
    #[arg(long, group = "action")]
    no_merge: bool,
    /// Approve only if the work is what was reviewed: `fingerprint` of `diff --json`
    #[arg(long, value_name = "FINGERPRINT")]
    reviewed: Option<String>,
    /// Who approves
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ApproveArgs {
    fn action(&self) -> Result<Option<OnApprove>> {
        Ok(match &self.push {
            _ if self.merge => Some(OnApprove::Merge),
            _ if self.no_merge => Some(OnApprove::Keep),
            None => None,
            Some(remote) if remote.is_empty() => Some(OnApprove::Push(None)),
            Some(remote) => Some(parse_action(&format!("push:{remote}"))?),
        })
    }
}

/// What becomes of approved work, from an argument.
pub(in super::super) fn parse_action(text: &str) -> Result<OnApprove> {
    OnApprove::parse(text.trim()).ok_or_else(|| {
        usage(format!(
            "'{}' is not one of none, merge, push and push:REMOTE",
            one_line(text, 100)
        ))
        .hint("a remote is named as `git remote` lists it")
    })
}

pub(super) fn request_changes(args: &RequestChangesArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    let text = args.text.join(" ");
    let author = args.author.as_ref();
    send_back(&mut session, kanban, &args.id, &text, author)
}

/// Sends a card back.
pub(super) fn send_back(
    session: &mut BoardSession<'_>,
    kanban: &Kanban<'_>,
    id: &TaskId,
    text: &str,
    author: Option<&String>,
) -> Result<()> {
    session
        .caller()?
        .must_be_person("send back the work of a card")?;
    let by = session.author(author)?;
    let setup = worker_setup(session, &session.home, &session.settings);
    let (status, open) = review::request_changes(&mut session.store, id, &by, Some(text), &setup)?;
    let with = match open {
        0 => String::new(),
        open => format!(" with {}", counted(open, "open comment")),
    };
    kanban.line(format!("Sent {id} back{with}; it is {status}"))?;
    if status == Status::Todo {
        kanban.hint("it waits for its parents first")?;
    }
    Ok(())
}

pub(super) fn approve(args: &ApproveArgs, kanban: &Kanban<'_>) -> Result<()> {
    let action = args.action()?;
    let mut session = kanban.open()?;
    let wanted = Wanted {
        action,
        reviewed: args.reviewed.as_deref(),
        author: args.author.as_ref(),
    };
    let approved = approve_card(&mut session, &args.id, &wanted)?;
    if args.json {
        return kanban.json(&approved);
    }
    report(kanban, &approved)
}

/// How a card is to be approved.
pub(super) struct Wanted<'a> {
    pub(super) action: Option<OnApprove>,
    pub(super) reviewed: Option<&'a str>,
    pub(super) author: Option<&'a String>,
}

pub(super) fn approve_card(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    wanted: &Wanted<'_>,
) -> Result<Approved> {
    session
        .caller()?
        .must_be_person("approve the work of a card")?;
    let by = session.author(wanted.author)?;
    let context = session.context;
    let settings = dispatch_settings(context, &DispatchFlags::default());
    let workers = worker_setup(context, &session.home, &settings);
    let board = session.store.board().clone();
    let redactor = context.redactor().for_sink(Sink::Output);
    let interrupt = interrupt()?;
    let backend = AssigneeChecks::new(context);
    let setup = CompletionSetup {
        board: &board,
        home: &session.home,
        workers: &workers,
        check_timeout: settings.check_timeout,
        check_backend: Some(&backend),
        policy: FailurePolicy::with_limit(settings.limits.failure_limit),
        redact: &|text| redactor.redact(text).into_owned(),
        judge: None,
        interrupt: &interrupt,
        workspace_seen: None,
        on_checks: &|count| {
            let note = format!("{id}: running {}", counted(count, "acceptance check"));
            // The checks matter more than a terminal that went away.
            drop(context.note(note));
        },
        before_done: None,
    };
    let request = ApproveRequest {
        by: &by,
        action: wanted.action.clone(),
        reviewed: wanted.reviewed,
    };
    match review::approve(&mut session.store, id, &request, &setup)? {
        ApproveOutcome::Approved(approved) => Ok(*approved),
        ApproveOutcome::CheckFailed { evidence, release } => {
            session.printer.err(&output(&evidence))?;
            Err(check_failed(id, &evidence, release))
        }
        ApproveOutcome::LostRace => Err(refusal(format!(
            "{id} is not approved: somebody else changed it meanwhile"
        ))),
    }
}

/// Says what was done with approved work.
pub(super) fn report(kanban: &Kanban<'_>, approved: &Approved) -> Result<()> {
    let id = &approved.task_id;
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    let passed = match approved.checks {
        0 => String::new(),
        checks => format!(" ({} passed)", counted(checks, "acceptance check")),
    };
    kanban.line(match &approved.landed {
        Landed::Kept => format!("Approved {id}{passed}"),
        Landed::Merged {
            branch,
            commit,
            fast_forward,
            already,
        } => {
            let how = match (already, fast_forward) {
                (true, _) => "had been merged into",
                (false, true) => "fast-forwarded",
                (false, false) => "merged into",
            };
            let branch = one_line(branch, 100);
            format!("Approved {id}{passed}: {how} {branch} ({})", short(commit))
        }
        Landed::Pushed {
            remote,
            branch,
            commit,
        } => format!(
            "Approved {id}{passed}: pushed {} to {} ({})",
            one_line(branch, 100),
            one_line(remote, 100),
            short(commit)
        ),
    })
}
