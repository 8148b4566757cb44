//! `kanban_attach`, `kanban_attach_url` and `kanban_attachments`: files that belong to a card.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_board::files::{ATTACHMENT_LIMIT, NewFile, attach_bytes, bring_attachments};
use hermes_board::model::Attachment;
use serde_json::{Value, json};

use super::tool::{BOARD, BoardAnswer, BoardCall, BoardRefusal, KANBAN, OwnTask, existing};
use crate::argument::{ArgKind, Argument, text};
use crate::tool::ToolSpec;

pub(super) const ATTACH: ToolSpec = ToolSpec {
    name: "kanban_attach",
    description: "Attaches a file to your card, from its bytes in base64; at most 25 MiB. Files in the \
                  workspace need no attaching: name them as artifacts when you complete the card.",
    arguments: &[
        Argument::required("filename", ArgKind::Text, "Display name."),
        Argument::required("content_base64", ArgKind::Text, "The bytes, in base64."),
        Argument::text("task_id", "Your card; may be left out."),
        Argument::text("content_type", "Content type, such as image/png."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) const ATTACH_URL: ToolSpec = ToolSpec {
    name: "kanban_attach_url",
    description: "Fetches a file from the public web and attaches it to your card; at most 25 MiB, \
                  within 30 seconds.",
    arguments: &[
        Argument::required("url", ArgKind::Text, "An http or https address."),
        Argument::text("task_id", "Your card; may be left out."),
        Argument::text(
            "filename",
            "Display name; taken from the address if left out.",
        ),
        BOARD,
    ],
    ..KANBAN
};

pub(super) const ATTACHMENTS: ToolSpec = ToolSpec {
    name: "kanban_attachments",
    description: "Lists the files attached to a card, with the paths under which they can be read.",
    arguments: &[
        Argument::text("task_id", "The card; your own if left out."),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn attach(call: &BoardCall<'_>) -> BoardAnswer {
    let OwnTask { id, mut store, .. } = call.own_task("attach a file to")?;
    let mut content = call.args["content_base64"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    content.retain(|char| !char.is_ascii_whitespace());
    // Refused before it is decoded, to save memory.
    let most = ATTACHMENT_LIMIT.div_ceil(3) * 4;
    if content.len() as u64 > most {
        return Err(BoardRefusal::from(format!(
            "The file has more than {} MiB and cannot be attached.",
            ATTACHMENT_LIMIT / (1024 * 1024)
        )));
    }
    let bytes = STANDARD
        .decode(content)
        .map_err(|error| BoardRefusal::from(format!("content_base64 is not base64: {error}.")))?;
    let file = NewFile {
        name: call.args["filename"].as_str().unwrap_or_default(),
        content_type: call.args["content_type"].as_str(),
        uploaded_by: Some(&call.access.author),
    };
    let attached = attach_bytes(&mut store, &id, &file, &bytes)?;
    Ok(attached_fields(call, &attached))
}

pub(super) fn attach_url(call: &BoardCall<'_>) -> BoardAnswer {
    let OwnTask { id, mut store, .. } = call.own_task("attach a file to")?;
    // Nothing is fetched for a card that does not exist.
    existing(&store, &id)?;
    let address = call.args["url"].as_str().unwrap_or_default();
    let fetched = call.access.downloads.fetch(address, ATTACHMENT_LIMIT)?;
    let named = text(call.args, "filename");
    let file = NewFile {
        name: named.or(fetched.name.as_deref()).unwrap_or("download"),
        content_type: fetched.content_type.as_deref(),
        uploaded_by: Some(&call.access.author),
    };
    let attached = attach_bytes(&mut store, &id, &file, &fetched.bytes)?;
    Ok(attached_fields(call, &attached))
}

/// What a call that attached something answers.
fn attached_fields(call: &BoardCall<'_>, attached: &Attachment) -> Value {
    let options = call.access.context_of(&attached.task_id);
    json!({
        "task_id": attached.task_id,
        "attachment_id": attached.id,
        "filename": attached.filename,
        "size": attached.size,
        "stored_path": options.path_of(attached),
    })
}

pub(super) fn attachments(call: &BoardCall<'_>) -> BoardAnswer {
    let id = call.any_task()?;
    let store = call.open()?;
    existing(&store, &id)?;
    let options = call.access.context_of(&id);
    let mut attachments = Vec::new();
    for one in bring_attachments(&store, &id)? {
        let mut attachment = one.attachment;
        attachment.stored_path = options.path_of(&attachment);
        let mut fields = json!(attachment);
        if let Some(problem) = one.problem {
            fields["problem"] = json!(problem.to_string());
        }
        attachments.push(fields);
    }
    Ok(json!({"task_id": id, "attachments": attachments}))
}
