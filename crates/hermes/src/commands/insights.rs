//! `hermes insights`: what was done lately, and what it took.

use hermes_session::{Insights, InsightsRequest, SessionStore, UsageOf, now};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, counted, visible};

/// Tools that are listed.
const TOOLS: usize = 15;
/// Models and sources that are listed.
const NAMES: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Days to look back
    #[arg(long, value_name = "DAYS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Only sessions of this source, such as cli or cron
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let request = InsightsRequest {
        since: now() - f64::from(args.days) * 86_400.0,
        source: args.source.clone(),
    };
    let found = match SessionStore::open_read_only(&context.location.home)? {
        Some(store) => store.insights(&request)?,
        None => Insights::default(),
    };
    if args.json {
        return context.json(&found);
    }
    let days = usize::try_from(args.days).unwrap_or(usize::MAX);
    let span = format!("the last {}", counted(days, "day"));
    if found.sessions == 0 {
        return context.line(format!("No sessions in {span}"));
    }
    context.out(&render(&found, &span))
}

fn render(found: &Insights, span: &str) -> String {
    let mut out = format!(
        "In {span}, on {}:\n",
        counted(usize::try_from(found.active_days).unwrap_or(0), "day")
    );
    let mut table = Table::new(&["  What", "Count"]);
    let rows = [
        ("Sessions", found.sessions),
        ("Messages", found.messages),
        ("Messages of yours", found.user_messages),
        ("Tool calls", found.tool_calls),
        ("Input tokens", found.input_tokens),
        ("Cached tokens", found.cached_tokens),
        ("Output tokens", found.output_tokens),
    ];
    for (name, count) in rows {
        table.row(vec![format!("  {name}"), count.to_string()]);
    }
    if found.cost_usd > 0.0 {
        table.row(vec!["  Cost".to_owned(), format!("${:.2}", found.cost_usd)]);
    }
    out.push_str(&table.render());
    out.push_str(&names("  Model", &found.models));
    out.push_str(&names("  Source", &found.sources));
    if !found.tools.is_empty() {
        let mut table = Table::new(&["  Tool", "Calls"]);
        for (name, count) in found.tools.iter().take(TOOLS) {
            table.row(vec![format!("  {}", visible(name)), count.to_string()]);
        }
        out.push('\n');
        out.push_str(&table.render());
        let left = found.tools.len().saturating_sub(TOOLS);
        if left > 0 {
            out.push_str(&format!("  and {} more\n", counted(left, "tool")));
        }
    }
    out
}

fn names(title: &str, used: &[UsageOf]) -> String {
    let mut table = Table::new(&[title, "Sessions", "Messages", "Tokens", "Cost"]);
    for one in used.iter().take(NAMES) {
        table.row(vec![
            format!("  {}", visible(&one.name)),
            one.sessions.to_string(),
            one.messages.to_string(),
            one.tokens.to_string(),
            format!("${:.2}", one.cost_usd),
        ]);
    }
    format!("\n{}", table.render())
}
