//! `hermes sessions export`: sessions with all their messages, in one of several formats.
//!
//! Secrets are masked unless somebody says otherwise. A file appears whole or not at all, and is
//! for its owner only.

use std::io::Write;
use std::path::{Path, PathBuf};

use hermes_secret::{Redactor, Sink};
use hermes_session::{SessionId, SessionStore};
use serde_json::Value;

use super::export_formats::{Format, Part};
use super::filters::Filters;
use super::{named, to_read};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::counted;

/// Names that say which session is which; a mask would make them useless.
const KEPT: [&str; 4] = ["id", "session_id", "parent_session_id", "tool_call_id"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to write; - for standard output
    #[arg(value_name = "OUTPUT")]
    output: PathBuf,
    /// Only this session: its id, an id prefix, or its title
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    #[command(flatten)]
    filters: Filters,
    /// What to write: a session per line, Markdown, a web page, or the trace that viewers of Claude
    /// Code read
    #[arg(long, value_name = "FORMAT", default_value = "jsonl",
          value_parser = crate::commands::named(Format::NAMES))]
    format: Format,
    /// Only this part of each session: user-prompts
    #[arg(long, value_name = "PART",
          value_parser = crate::commands::named([("user-prompts", Part::UserPrompts)]))]
    only: Option<Part>,
    /// Redact secrets, which happens anyway
    // The reference needs to be told.
    #[arg(long, hide = true, conflicts_with = "no_redact")]
    redact: bool,
    /// Do not redact secrets in messages and tool output
    #[arg(long)]
    no_redact: bool,
    /// Write nothing; print how many sessions would be exported
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.only.is_some() && !matches!(args.format, Format::JsonLines | Format::Markdown) {
        return Err(CommandError::usage(
            "--only can be combined with --format jsonl or md",
        ));
    }
    let store = to_read(context)?;
    let (store, ids) = match (&args.session_id, store) {
        (Some(name), store) => {
            let (store, id) = named(store, name)?;
            (Some(store), vec![id])
        }
        (None, Some(store)) => {
            let filter = args.filters.resolve(context, hermes_session::now());
            let chosen = store.matching(&filter)?;
            let ids = chosen.into_iter().map(|session| session.id).collect();
            (Some(store), ids)
        }
        (None, None) => (None, Vec::new()),
    };
    let what = counted(ids.len(), "session");
    if args.dry_run {
        return context.line(format!("Would export {what}"));
    }
    let redactor = if args.no_redact && !args.redact {
        context.refuse_to_agents("exporting without masking secrets")?;
        Redactor::disabled()
    } else {
        // It leaves the machine as a file of its own, so names count; addresses stay usable.
        context.redactor().for_sink(Sink::Variables)
    };
    if args.output == Path::new("-") {
        let mut out = context.printer.stream();
        write_all(&mut out, args, store.as_ref(), &ids, &redactor)?;
        out.flush()?;
    } else {
        let write = |file: &mut dyn Write| write_all(file, args, store.as_ref(), &ids, &redactor);
        write_file(&args.output, write)?;
        let path = args.output.display();
        context.note(format!("Exported {what} to {path}"))?;
    }
    Ok(())
}

fn write_all(
    mut out: impl Write,
    args: &Args,
    store: Option<&SessionStore>,
    ids: &[SessionId],
    redactor: &Redactor,
) -> Result<()> {
    out.write_all(args.format.beginning().as_bytes())?;
    if let Some(store) = store {
        for id in ids {
            let session = redacted(store.export(id)?, redactor);
            out.write_all(args.format.session(&session, args.only).as_bytes())?;
        }
    }
    Ok(out.write_all(args.format.end().as_bytes())?)
}

/// Writes beside the target first, so that a full disk leaves the old file.
fn write_file(target: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    match hermes_fs::symlink_metadata(target) {
        Ok(meta) if !meta.is_file() => {
            return Err(
                CommandError::user(format!("{} is not a regular file", target.display()))
                    .hint("choose another file, or - for standard output"),
            );
        }
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error.into()),
    }
    let unfinished = target.with_added_extension(format!("tmp-{}", std::process::id()));
    let file = hermes_fs::create_new(&unfinished, 0o600)?;
    let mut file = std::io::BufWriter::new(file);
    let written = write(&mut file).and_then(|()| {
        let file = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(hermes_fs::rename(&unfinished, target)?)
    });
    if written.is_err() {
        hermes_fs::remove_file_if_present(&unfinished)?;
    }
    written
}

/// The value with secrets in its texts masked.
pub(super) fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(&text).into_owned()),
        Value::Array(items) => items
            .into_iter()
            .map(|item| redacted(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let kept = KEPT.contains(&name.as_str()) && value.is_string();
                let value = if kept {
                    value
                } else {
                    redacted(value, redactor)
                };
                (name, value)
            })
            .collect(),
        other => other,
    }
}
