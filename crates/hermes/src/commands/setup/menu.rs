//! A later visit: one thing at a time.

use super::model_section::model_section;
use super::{AfterSetup, Section, gateway_section, sections};
use crate::context::Context;
use crate::error::Result;
use crate::facts::terminal_backend;
use crate::ui::{Choice, Picked, pick};

const PARTS: [Section; 4] = [
    Section::Model,
    Section::Terminal,
    Section::Tools,
    Section::Agent,
];

/// Offers the sections until the person is done.
pub(super) fn run(context: &Context) -> Result<AfterSetup> {
    let mut current = context.reloaded();
    loop {
        let (model, provider) = current.config().model();
        let model = format!(
            "{} from {}",
            model.unwrap_or("-"),
            provider.unwrap_or("the first provider with a key")
        );
        let approvals = current.config().text("approvals.mode").to_owned();
        let rows = [
            Choice::new("Model and provider", model),
            Choice::new("Terminal", terminal_backend(&current)),
            Choice::new("Tools", "what the agent may use"),
            Choice::new("Agent", format!("approvals: {approvals}")),
            Choice::new("Start chatting", ""),
        ];
        match pick(current.printer, &current.env, "Set up", &rows, 0)? {
            Picked::Chosen(at) => match PARTS.get(at) {
                Some(part) => section(*part, &current)?,
                None => return Ok(AfterSetup::Chat(Box::new(current))),
            },
            Picked::Back | Picked::Leave => return Ok(AfterSetup::Done),
        }
        current = current.reloaded();
    }
}

/// Every section once, in order.
pub(super) fn all(context: &Context) -> Result<()> {
    let mut current = context.reloaded();
    for part in PARTS {
        section(part, &current)?;
        current = current.reloaded();
    }
    Ok(())
}

pub(super) fn section(section: Section, context: &Context) -> Result<()> {
    match section {
        Section::Model => model_section(context).map(drop),
        Section::Terminal => sections::terminal(context),
        Section::Tools => sections::tools(context),
        Section::Agent => sections::agent(context),
        Section::Gateway => gateway_section::gateway(context),
        Section::Missing(_) => Ok(()),
    }
}
