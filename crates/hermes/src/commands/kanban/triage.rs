//! `hermes kanban specify` and `hermes kanban decompose`: a side model specifies or splits cards in triage.

use std::process::ExitCode;

use hermes_agent::triage::{
    DecomposeOutcome, Profile, Roster, Triage, decompose as split, specify as make_clear,
};
use hermes_board::ListQuery;
use hermes_board::model::{Status, TaskId};
use hermes_config::vars;
use hermes_home::ProfileName;
use hermes_home::profiles::list;
use hermes_proc::Wake;
use hermes_providers::{AuxiliaryModels, ModelOverrides};
use serde_json::{Value, json};

use super::session::{BoardSession, is_profile, usage};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Tokens of a specification, and the fewest that make sense.
const MAX_TOKENS: u32 = 6_000;
const FEWEST_TOKENS: u32 = 1_500;
/// Characters of a sentence about a card that are shown.
const SHOWN: usize = 500;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: Option<TaskId>,
    /// All cards in triage
    #[arg(long)]
    all: bool,
    /// With --all: only cards of this tenant
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Author of the change
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Print JSON, a line for each card
    #[arg(long)]
    json: bool,
}

/// How a command reports one card.
struct Report {
    /// For programs.
    record: Value,
    /// For people: what was done, or why nothing was.
    text: std::result::Result<String, String>,
}

pub(super) fn specify(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let tokens = context.env.text(&vars::HERMES_KANBAN_SPECIFY_MAX_TOKENS);
    let tokens = tokens.and_then(|text| text.trim().parse().ok());
    let tokens = tokens.unwrap_or(MAX_TOKENS).max(FEWEST_TOKENS);
    sweep(args, context, board, "specified", |triage, id| {
        let outcome = make_clear(triage, id, tokens);
        let new_title = outcome
            .as_ref()
            .ok()
            .and_then(|done| done.new_title.as_deref());
        Report {
            record: json!({
                "task_id": id,
                "ok": outcome.is_ok(),
                "reason": reason(&outcome, "specified"),
                "new_title": new_title,
            }),
            text: text_of(&outcome, |done| {
                let title = retitled(done.new_title.as_deref());
                format!("Specified {id} → {}{title}", done.status)
            }),
        }
    })
}

pub(super) fn decompose(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let roster = roster(context)?;
    let promote = context.config().flag("kanban.auto_promote_children");
    sweep(args, context, board, "decomposed", |triage, id| {
        let outcome = split(triage, id, &roster, promote);
        let (children, new_title): (&[TaskId], _) = match &outcome {
            Ok(DecomposeOutcome::Split { children }) => (children, None),
            Ok(DecomposeOutcome::Whole { new_title }) => (&[], new_title.as_deref()),
            Err(_) => (&[], None),
        };
        let done = if children.is_empty() {
            "one piece of work"
        } else {
            "split"
        };
        Report {
            record: json!({
                "task_id": id,
                "ok": outcome.is_ok(),
                "reason": reason(&outcome, done),
                "fanout": !children.is_empty(),
                "child_ids": children,
                "new_title": new_title,
            }),
            text: text_of(&outcome, |_| {
                let names: Vec<&str> = children.iter().map(TaskId::as_str).collect();
                match names.len() {
                    0 => format!(
                        "Specified {id} → todo (one piece of work){}",
                        retitled(new_title)
                    ),
                    count => format!("Decomposed {id} → {count} cards: {}", names.join(", ")),
                }
            }),
        }
    })
}

/// Does something to the named card, or to all in triage. `counted` is the key of the number in the
/// JSON of an empty triage.
fn sweep(
    args: &Args,
    context: &Context,
    board: Option<&str>,
    counted: &str,
    mut act: impl FnMut(&mut Triage<'_>, &TaskId) -> Report,
) -> Result<ExitCode> {
    let named = match (&args.id, args.all) {
        (Some(id), false) => Some(id.clone()),
        (None, true) => None,
        _ => return Err(usage("name a card or give --all, not both")),
    };
    let interrupt = Wake::new().map_err(|error| {
        CommandError::environment(format!("no file descriptor is left: {error}"))
    })?;
    let mut session = BoardSession::open(context, board)?;
    let ids = match named {
        Some(id) => vec![id],
        None => in_triage(&session, args.tenant.as_deref())?,
    };
    if ids.is_empty() {
        if args.json {
            let record = json!({counted: 0, "total": 0});
            session.printer().line(record.to_string())?;
        } else {
            session.printer().line("No cards in triage.")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let author = args.author.clone().unwrap_or_else(|| session.author());
    let side = AuxiliaryModels::new(context.config(), ModelOverrides::default());
    let mut done = 0;
    for id in &ids {
        let mut triage = Triage {
            store: &mut session.store,
            auxiliary: &side,
            author: &author,
            interrupt: &interrupt,
        };
        let report = act(&mut triage, id);
        if args.json {
            session.printer().line(report.record.to_string())?;
        }
        match report.text {
            Ok(text) => {
                done += 1;
                if !args.json {
                    session.printer().line(text)?;
                }
            }
            Err(why) => {
                let why = one_line(&why, SHOWN);
                tracing::info!(card = %id, %why, "triage failed");
                session.printer().note(format!("kanban: {id}: {why}"))?;
            }
        }
    }
    Ok(if done == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn in_triage(session: &BoardSession<'_>, tenant: Option<&str>) -> Result<Vec<TaskId>> {
    let cards = session.store.list(&ListQuery {
        status: Some(Status::Triage),
        tenant: tenant.map(str::to_owned),
        ..ListQuery::default()
    })?;
    Ok(cards.into_iter().map(|card| card.id).collect())
}

fn reason<T>(outcome: &std::result::Result<T, String>, done: &str) -> String {
    match outcome {
        Ok(_) => done.to_owned(),
        Err(failure) => failure.clone(),
    }
}

fn text_of<T>(
    outcome: &std::result::Result<T, String>,
    text: impl FnOnce(&T) -> String,
) -> std::result::Result<String, String> {
    outcome.as_ref().map(text).map_err(String::clone)
}

fn retitled(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| {
        format!(", now called \"{}\"", one_line(title, SHOWN))
    })
}

/// Possible assignees: all profiles of this installation.
fn roster(context: &Context) -> Result<Roster> {
    let profiles = list(&context.location, context.current.as_ref())?.profiles;
    let current = context.current.clone();
    let current = current
        .unwrap_or_else(ProfileName::default_profile)
        .to_string();
    let configured = |key: &str| {
        let name = context.config().text(key).trim();
        let exists = !name.is_empty() && is_profile(context, name);
        exists.then(|| name.to_owned())
    };
    Ok(Roster {
        fallback: configured("kanban.default_assignee").unwrap_or_else(|| current.clone()),
        orchestrator: configured("kanban.orchestrator_profile").unwrap_or(current),
        profiles: profiles
            .into_iter()
            .map(|profile| Profile {
                name: profile.name.to_string(),
                description: profile.description,
            })
            .collect(),
    })
}
