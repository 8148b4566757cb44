//! `hermes kanban attach`, `attachments` and `attach-rm`: files that belong to cards.

use std::path::PathBuf;

use hermes_board::files::{NewFile, attach_file, bring_attachments, detach};
use hermes_board::model::{Attachment, TaskId};

use super::cards::{NAME, TITLE};
use super::session::{Kanban, refusal};
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// The card
    id: TaskId,
    /// The file, at most 25 MiB
    path: PathBuf,
    /// Content type, such as text/plain
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// Name of the attachment
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Who attaches it
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The card
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// Number of the attachment
    number: i64,
}

pub(super) fn attach(args: &AttachArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_change(&args.id, "attach a file to")?;
    let path = session.home.expand(&args.path);
    if !path.is_file() {
        return Err(refusal(format!("no such file: {}", path.display())));
    }
    let leaf = path.file_name().unwrap_or_default().to_string_lossy();
    let name = args.name.as_deref().unwrap_or(&leaf);
    let author = session.author(args.author.as_ref())?;
    let file = NewFile {
        name,
        content_type: args.content_type.as_deref().or_else(|| content_type(name)),
        uploaded_by: Some(&author),
    };
    let attached = attach_file(&mut session.store, &args.id, &path, &file)?;
    kanban.line(format!(
        "Attached {} to {} (attachment {}, {} bytes)",
        one_line(&attached.filename, TITLE),
        args.id,
        attached.id,
        attached.size
    ))
}

pub(super) fn list(args: &ListArgs, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    session.task(&args.id)?;
    let brought = bring_attachments(&session.store, &args.id)?;
    let mut attachments = Vec::new();
    let mut absent = None;
    for one in brought {
        if let Some(problem) = one.problem {
            absent.get_or_insert(problem);
        }
        attachments.push(one.attachment);
    }
    if args.json {
        kanban.json(&attachments)?;
    } else if attachments.is_empty() {
        kanban.line(format!("No attachments on {}", args.id))?;
    } else {
        kanban.line(format!("Attachments on {}:", args.id))?;
        for attachment in &attachments {
            kanban.out(&described(attachment))?;
        }
    }
    // Those that are here are listed all the same.
    absent.map_or(Ok(()), |problem| Err(problem.into()))
}

fn described(attachment: &Attachment) -> String {
    let or_dash = |text: &Option<String>| one_line(text.as_deref().unwrap_or("-"), NAME);
    format!(
        "  [{}] {}  ({} bytes, {}, by {})\n        {}\n",
        attachment.id,
        one_line(&attachment.filename, TITLE),
        attachment.size,
        or_dash(&attachment.content_type),
        or_dash(&attachment.uploaded_by),
        one_line(&attachment.stored_path.to_string_lossy(), 500)
    )
}

pub(super) fn remove(args: &RemoveArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    if let Some(attachment) = session.store.attachment(args.number)? {
        let caller = session.caller()?;
        caller.may_change(&attachment.task_id, "remove a file from")?;
    }
    let removed = detach(&mut session.store, args.number)?;
    kanban.line(format!(
        "Deleted attachment {} ({}) from {}",
        removed.id,
        one_line(&removed.filename, TITLE),
        removed.task_id
    ))
}

/// The usual content type of a file extension.
fn content_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "tar" => "application/x-tar",
        "xml" => "application/xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}
