//! `hermes logs`: the end of a log, filtered, and what comes after it.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use hermes_telemetry::reader::{LogName, LogQuery, LogReader, list, parse_age};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// agent, errors, gateway, gui, boot, gateways/PROFILE, addons/FEATURE, or list
    #[arg(default_value = "agent")]
    name: String,
    /// Number of lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Keep printing new lines
    #[arg(short, long)]
    follow: bool,
    /// Minimum level: DEBUG, INFO, WARNING, ERROR or CRITICAL
    #[arg(long, value_name = "L")]
    level: Option<String>,
    /// Only lines from this session
    #[arg(long, value_name = "S")]
    session: Option<String>,
    /// Only lines newer than this: 45s, 30m, 1h, 2d
    #[arg(long, value_name = "AGE")]
    since: Option<String>,
    /// Only lines from this component: gateway, agent, tools, cli or cron
    #[arg(long, value_name = "C")]
    component: Option<String>,
    /// With list: print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.name == "list" {
        return list_logs(args, context);
    }
    let name: LogName = args.name.parse()?;
    let query = query(args)?;
    // What the boot of a container and its supervisors write is beside the logs of the default
    // profile.
    let home = match name {
        LogName::Boot | LogName::GatewayProfile(_) => &context.location.root,
        LogName::Agent | LogName::Errors | LogName::Gateway | LogName::Gui | LogName::Addon(_) => {
            &context.location.home
        }
    };
    let dir = home.join("logs");
    let reader = LogReader::new(dir, name, &context.zone(), jiff::Timestamp::now());
    let header = format!(
        "--- {}{} (last {}) ---",
        context.display(&reader.path()),
        filters(args),
        query.lines
    );
    if args.follow {
        return follow(context, &reader, &query, Some(&header));
    }
    print(context, Some(&header), &reader.read(&query)?)
}

/// Prints lines of a log.
pub(crate) fn print(context: &Context, header: Option<&str>, lines: &[String]) -> Result<()> {
    header.map_or(Ok(()), |header| context.line(header))?;
    lines.iter().try_for_each(|line| context.line(line))
}

fn query(args: &Args) -> Result<LogQuery> {
    Ok(LogQuery {
        lines: args.lines,
        level: args.level.as_deref().map(str::parse).transpose()?,
        session: args.session.clone(),
        since: args.since.as_deref().map(parse_age).transpose()?,
        component: args.component.as_deref().map(str::parse).transpose()?,
    })
}

fn filters(args: &Args) -> String {
    let parts: Vec<String> = [
        ("level>=", &args.level),
        ("session=", &args.session),
        ("component=", &args.component),
        ("since=", &args.since),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some(format!("{label}{}", value.as_ref()?)))
    .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" [{}]", parts.join(", "))
    }
}

/// Prints the end of a log, and what comes after it until nobody reads any more.
pub(crate) fn follow(
    context: &Context,
    reader: &LogReader,
    query: &LogQuery,
    header: Option<&str>,
) -> Result<()> {
    let (lines, mut follower) = reader.follow(query)?;
    print(context, header, &lines)?;
    // Ctrl-C ends the process as it does for `tail`; there is nothing to put in order.
    let never = AtomicBool::new(false);
    let mut failure = None;
    follower.run(&never, &mut |line| match context.line(line) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failure.map_or(Ok(()), Err)
}

fn list_logs(args: &Args, context: &Context) -> Result<()> {
    let dir = context.location.home.join("logs");
    let files = list(&dir)?;
    if args.json {
        let rows: Vec<_> = files
            .iter()
            .map(|file| {
                json!({
                    "name": file.name.to_string(),
                    "path": file.path.display().to_string(),
                    "bytes": file.bytes,
                    "age_seconds": age(file.modified),
                })
            })
            .collect();
        return context.json(&json!({ "logs": rows }));
    }
    if files.is_empty() {
        return context.note(format!(
            "There are no logs in {} yet.",
            context.display(&dir)
        ));
    }
    let mut table = Table::new(&["Log", "Size", "Written"]);
    for file in files {
        table.row(vec![
            file.name.to_string(),
            human_size(file.bytes),
            hermes_time::ago(age(file.modified)),
        ]);
    }
    context.out(&table.render())
}

fn age(modified: SystemTime) -> i64 {
    let age = SystemTime::now().duration_since(modified);
    age.map_or(0, |age| age.as_secs().cast_signed())
}
