//! `hermes gateway status`.

use std::path::PathBuf;
use std::process::ExitCode;

use hermes_supervise::{Definition, ExitLog, PastRun};
use serde_json::{Value, json};

use super::service::{GatewayService, ScopeArgs};
use crate::context::Context;
use crate::error::Result;
use crate::gateways::{GatewayRow, all_gateways, gateway_row, manager};
use crate::ui::{Page, one_line};

/// The gateway is not running.
const NOT_RUNNING: u8 = 3;

/// Exits that are shown.
const EXITS: usize = 5;

/// Characters of a message that are shown without `--full`.
const SHOWN: usize = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also show how earlier gateways ended
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Do not shorten messages
    #[arg(short = 'l', long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let service = GatewayService::installed(context, args.scope.system)?;
    let service = service.as_ref().map(ServiceRow::of);
    let own = gateway_row(context);
    let others: Vec<GatewayRow> = all_gateways(context)?
        .into_iter()
        .filter(|row| !row.is_current && row.pid.is_some())
        .collect();
    let exits = if args.deep {
        ExitLog::of_home(&context.location.home, false).past_runs(own.pid, EXITS)
    } else {
        Vec::new()
    };
    if args.json {
        let exits = args.deep.then_some(&exits);
        context.json(&record(context, &own, service.as_ref(), &others, exits))?;
    } else {
        let shown = if args.full { usize::MAX } else { SHOWN };
        let page = page(context, &own, service.as_ref(), &others, &exits, shown);
        context.out(&page)?;
    }
    Ok(match own.pid {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(NOT_RUNNING),
    })
}

/// The service of a gateway.
struct ServiceRow {
    label: &'static str,
    scope: &'static str,
    file: PathBuf,
    is_installed: bool,
    is_outdated: bool,
    is_active: bool,
}

impl ServiceRow {
    fn of(service: &GatewayService) -> Self {
        let manager = service.manager();
        let definition = manager.definition();
        Self {
            label: manager.label(),
            scope: manager.scope(),
            file: manager.file().to_owned(),
            is_installed: definition != Definition::Absent,
            is_outdated: definition == Definition::Outdated,
            is_active: service.is_active(),
        }
    }

    /// Whether a gateway runs that is not the service's.
    fn is_mismatched(&self, own: &GatewayRow) -> bool {
        self.is_installed && own.pid.is_some() && !self.is_active
    }
}

fn page(
    context: &Context,
    own: &GatewayRow,
    service: Option<&ServiceRow>,
    others: &[GatewayRow],
    exits: &[PastRun],
    shown: usize,
) -> String {
    let mut page = Page::new(context.printer, 12);
    page.heading("Gateway");
    page.row("Profile", &own.name);
    match own.pid {
        Some(pid) => {
            let state = own.live_state().unwrap_or("unknown");
            page.row("Status", &format!("✓ {}", one_line(state, SHOWN)));
            page.row("PID", &pid.to_string());
        }
        None => page.row("Status", &format!("✗ {}", own.absence())),
    }
    match service {
        Some(service) => {
            page.row("Manager", service.label);
            let outdated = if service.is_outdated {
                " (outdated; `hermes gateway restart` brings it up to date)"
            } else {
                ""
            };
            let file = if service.is_installed {
                context.display(&service.file)
            } else {
                "none yet; `hermes gateway start` registers it".to_owned()
            };
            page.row("Service", &format!("{file}{outdated}"));
            if service.is_mismatched(own) {
                page.row("", "⚠ the process runs outside the service");
            }
        }
        None => page.row("Manager", manager(context)),
    }
    if let Some(wanted) = own.text("desired_state") {
        page.row("Wanted", &one_line(wanted, SHOWN));
    }
    if own.pid.is_none()
        && let Some(reason) = own.text("exit_reason")
    {
        page.row("Last end", &one_line(reason, shown));
    }
    let services = own.services();
    if !services.is_empty() {
        page.heading("Services");
    }
    for (name, state, note) in services {
        let note = match note {
            "" => String::new(),
            note => format!(" ({})", one_line(note, shown)),
        };
        page.row(name, &format!("{}{note}", one_line(state, SHOWN)));
    }
    if !others.is_empty() {
        page.heading("Other profiles");
    }
    for row in others {
        let pid = row.pid.unwrap_or_default();
        page.row(&row.name, &format!("✓ running (PID {pid})"));
    }
    if !exits.is_empty() {
        page.heading("Earlier gateways");
    }
    for run in exits {
        let end = match (run.code, &run.reason) {
            (Some(code), Some(reason)) => format!("exit code {code}: {}", one_line(reason, shown)),
            _ => "killed, or the machine went down".to_owned(),
        };
        let at = run.ended_at.as_ref().unwrap_or(&run.started_at);
        page.row(&one_line(at, 19), &end);
    }
    page.text
}

fn record(
    context: &Context,
    own: &GatewayRow,
    service: Option<&ServiceRow>,
    others: &[GatewayRow],
    exits: Option<&Vec<PastRun>>,
) -> Value {
    let others: Vec<Value> = others
        .iter()
        .map(|row| json!({"name": row.name, "pid": row.pid}))
        .collect();
    let mut record = json!({
        "profile": own.name,
        "manager": service.map_or_else(|| manager(context), |service| service.label),
        "service_installed": service.is_some_and(|service| service.is_installed),
        "service_running": service.is_some_and(|service| service.is_active),
        "service_scope": service.map(|service| service.scope),
        "running": own.pid.is_some(),
        "pids": own.pid.into_iter().collect::<Vec<u32>>(),
        "other_host": own.other_host,
        "mismatch": service.is_some_and(|service| service.is_mismatched(own)),
        "state": own.state,
        "desired_state": own.text("desired_state"),
        "other_profiles": others,
    });
    if let Some(exits) = exits {
        let rows: Vec<Value> = exits
            .iter()
            .map(|run| {
                json!({
                    "pid": run.pid,
                    "started_at": run.started_at,
                    "ended_at": run.ended_at,
                    "exit_code": run.code,
                    "reason": run.reason,
                })
            })
            .collect();
        record["exits"] = Value::Array(rows);
    }
    record
}
