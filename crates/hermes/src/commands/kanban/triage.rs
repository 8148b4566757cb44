//! `hermes kanban specify` and `hermes kanban decompose`: a side model specifies or splits cards in triage.

use hermes_agent::triage::{DecomposeOutcome, Triage, decompose as split, specify as specify_card};
use hermes_board::ListQuery;
use hermes_board::model::{Status, TaskId};
use hermes_config::vars;
use hermes_providers::{AuxiliaryModels, ModelOverrides};
use hermes_runtime::roster;
use serde_json::{Value, json};

use super::cards::joined;
use super::session::{BoardSession, Kanban, usage};
use crate::error::{CommandError, Result};
use crate::tool_access::interrupt;
use crate::ui::one_line;

/// Tokens of a specification, and the fewest that make sense.
const MAX_TOKENS: u32 = 6_000;
const FEWEST_TOKENS: u32 = 1_500;
/// Characters of a sentence about a card that are shown.
const SHOWN: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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
    /// Print JSON, one line per card
    #[arg(long)]
    json: bool,
}

/// What a command did to one card.
struct Report {
    /// Fields of the JSON record that only this command has.
    details: Value,
    /// The reason in the JSON record, and what was done, for people.
    result: std::result::Result<(&'static str, String), String>,
}

pub(super) fn specify(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let tokens = kanban.env.text(&vars::HERMES_KANBAN_SPECIFY_MAX_TOKENS);
    let tokens = tokens.and_then(|text| text.trim().parse().ok());
    let tokens = tokens.unwrap_or(MAX_TOKENS).max(FEWEST_TOKENS);
    sweep(args, kanban, "specified", |triage, id| {
        let outcome = specify_card(triage, id, tokens);
        let new_title = outcome.as_ref().ok();
        let new_title = new_title.and_then(|done| done.new_title.clone());
        let title = retitled(new_title.as_deref());
        Report {
            details: json!({"new_title": new_title}),
            result: outcome.map(|done| {
                (
                    "specified",
                    format!("Specified {id} → {}{title}", done.status),
                )
            }),
        }
    })
}

pub(super) fn decompose(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let roster = roster(kanban)?;
    let promote = kanban.config().flag("kanban.auto_promote_children");
    sweep(args, kanban, "decomposed", |triage, id| {
        let (mut child_ids, mut new_title) = (Vec::new(), None);
        let result = split(triage, id, &roster, promote).map(|outcome| match outcome {
            DecomposeOutcome::Split { children } => {
                child_ids = children;
                let (count, names) = (child_ids.len(), joined(&child_ids));
                ("split", format!("Decomposed {id} → {count} cards: {names}"))
            }
            DecomposeOutcome::Whole { new_title: title } => {
                new_title = title;
                let title = retitled(new_title.as_deref());
                let text = format!("Specified {id} → todo (one piece of work){title}");
                ("one piece of work", text)
            }
        });
        let fanout = !child_ids.is_empty();
        Report {
            details: json!({"fanout": fanout, "child_ids": child_ids, "new_title": new_title}),
            result,
        }
    })
}

/// Does something to the named card, or to all in triage. `counted` is the key of the number in the
/// JSON of an empty triage.
fn sweep(
    args: &Args,
    kanban: &Kanban<'_>,
    counted: &str,
    mut act: impl FnMut(&mut Triage<'_>, &TaskId) -> Report,
) -> Result<()> {
    let named = match (&args.id, args.all) {
        (Some(id), false) => Some(id.clone()),
        (None, true) => None,
        _ => return Err(usage("name a card or give --all, not both")),
    };
    let interrupt = interrupt()?;
    let mut session = kanban.open()?;
    session.caller()?.may_manage("work on cards in triage")?;
    let ids = match named {
        Some(id) => vec![id],
        None => in_triage(&session, args.tenant.as_deref())?,
    };
    if ids.is_empty() {
        return kanban.line(if args.json {
            json!({counted: 0, "total": 0}).to_string()
        } else {
            "No cards in triage.".to_owned()
        });
    }
    let author = session.author(args.author.as_ref())?;
    let side = AuxiliaryModels::new(kanban.config(), ModelOverrides::default());
    let mut any_done = false;
    for id in &ids {
        let mut triage = Triage {
            store: &mut session.store,
            auxiliary: &side,
            author: &author,
            interrupt: &interrupt,
        };
        let Report { details, result } = act(&mut triage, id);
        any_done |= result.is_ok();
        let (reason, text) = match result {
            Ok((reason, text)) => (reason.to_owned(), Some(text)),
            Err(failure) => (failure, None),
        };
        if args.json {
            let mut record = json!({"task_id": id, "ok": text.is_some(), "reason": reason});
            if let (Value::Object(record), Value::Object(mut details)) = (&mut record, details) {
                record.append(&mut details);
            }
            kanban.json_line(&record)?;
        }
        match text {
            Some(_) if args.json => {}
            Some(text) => kanban.line(text)?,
            None => {
                let why = one_line(&reason, SHOWN);
                tracing::info!(card = %id, %why, "triage failed");
                kanban.note(format!("kanban: {id}: {why}"))?;
            }
        }
    }
    CommandError::silent_unless(any_done)
}

fn in_triage(session: &BoardSession<'_>, tenant: Option<&str>) -> Result<Vec<TaskId>> {
    let cards = session.store.list(&ListQuery {
        status: Some(Status::Triage),
        tenant: tenant.map(str::to_owned),
        ..ListQuery::default()
    })?;
    Ok(cards.into_iter().map(|card| card.id).collect())
}

fn retitled(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| {
        format!(", now called \"{}\"", one_line(title, SHOWN))
    })
}
