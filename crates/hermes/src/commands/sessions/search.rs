//! `hermes sessions search`.

use hermes_secret::Sink;
use hermes_session::{SearchOrder, SearchRequest};

use super::times::minute;
use super::to_read;
use crate::commands::named;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// Characters of a place that are shown.
const PLACE: usize = 160;

/// Orders by name.
const ORDERS: [(&str, SearchOrder); 3] = [
    ("rank", SearchOrder::Relevance),
    ("newest", SearchOrder::Newest),
    ("oldest", SearchOrder::Oldest),
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words, "quoted phrases", prefix*, AND, OR, NOT
    #[arg(required = true, value_name = "WORD")]
    query: Vec<String>,
    /// Only sessions from this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only messages with this role: user, assistant or tool
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// Best, newest or oldest first
    #[arg(long, value_parser = named(ORDERS), default_value = "rank")]
    sort: SearchOrder,
    /// Maximum number of hits to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let request = SearchRequest {
        query: args.query.join(" "),
        sources: args.source.iter().cloned().collect(),
        excluded_sources: match args.source {
            Some(_) => Vec::new(),
            None => vec!["tool".to_owned()],
        },
        roles: args.role.clone(),
        order: args.sort,
        limit: Some(args.limit),
        ..SearchRequest::default()
    };
    let hits = match to_read(context)? {
        Some(store) => store.search(&request)?,
        None => Vec::new(),
    };
    let redactor = context.redactor().for_sink(Sink::Output);
    if args.json {
        let value = super::export::redacted(serde_json::to_value(&hits)?, &redactor);
        context.json(&value)?;
    } else if hits.is_empty() {
        context.line("Nothing found.")?;
    }
    for hit in hits.iter().filter(|_| !args.json) {
        context.line(format!(
            "{}  {}  {}\n    {}",
            one_line(hit.session_id.as_str(), PLACE),
            minute(context, hit.timestamp),
            one_line(&hit.role, PLACE),
            one_line(&redactor.redact(&hit.snippet), PLACE),
        ))?;
    }
    Ok(())
}
