//! `kanban_attach` and `kanban_attachments`: files that belong to a card.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_board::files::{ATTACHMENT_LIMIT, NewFile, attach_bytes};
use hermes_board::model::Attachment;
use serde_json::{Map, Value};

use super::desk::known;
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{Argument, Kind};

pub(super) const ATTACH: Verb = Verb {
    name: "kanban_attach",
    description: "Attaches a file to your card, from its bytes in base64; at most 25 MiB. Files in the \
                  workspace need no attaching: name them as artifacts when you complete the card.",
    arguments: &[
        Argument::required("filename", Kind::Text, "Name for people."),
        Argument::required("content_base64", Kind::Text, "The bytes, in base64."),
        Argument::optional("task_id", Kind::Text, "Your card; may be left out."),
        Argument::optional(
            "content_type",
            Kind::Text,
            "Kind of content, such as image/png.",
        ),
        BOARD,
    ],
    audience: Audience::All,
    run: attach,
};

pub(super) const ATTACHMENTS: Verb = Verb {
    name: "kanban_attachments",
    description: "Lists the files attached to a card, with the paths under which they can be read.",
    arguments: &[
        Argument::optional("task_id", Kind::Text, "The card; your own if left out."),
        BOARD,
    ],
    audience: Audience::All,
    run: attachments,
};

fn attach(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let id = call.desk.own_task(call.args, "attach a file to")?;
    let text = |name: &str| call.args[name].as_str().unwrap_or_default();
    let mut content = text("content_base64").to_owned();
    content.retain(|char| !char.is_ascii_whitespace());
    // Decoding what is refused anyway would cost three quarters of it in memory.
    let most = ATTACHMENT_LIMIT.div_ceil(3) * 4;
    if content.len() as u64 > most {
        return Err(Refusal::from(format!(
            "The file has more than {} MiB and cannot be attached.",
            ATTACHMENT_LIMIT / (1024 * 1024)
        )));
    }
    let bytes = STANDARD
        .decode(content)
        .map_err(|error| Refusal::from(format!("content_base64 is not base64: {error}.")))?;
    let mut store = call.desk.open(call.args)?;
    let file = NewFile {
        name: text("filename"),
        content_type: call.args["content_type"].as_str(),
        uploaded_by: Some(&call.desk.author),
    };
    let attached = attach_bytes(&mut store, &id, &file, &bytes)?;
    Ok(attached_facts(&attached))
}

/// What a call that attached something answers.
pub(super) fn attached_facts(attached: &Attachment) -> Map<String, Value> {
    facts! {
        "task_id": attached.task_id,
        "attachment_id": attached.id,
        "filename": attached.filename,
        "size": attached.size,
        "stored_path": attached.stored_path,
    }
}

fn attachments(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let id = call.desk.any_task(call.args)?;
    let store = call.desk.open(call.args)?;
    known(&store, &id)?;
    Ok(facts! {"task_id": id, "attachments": store.attachments(&id)?})
}
