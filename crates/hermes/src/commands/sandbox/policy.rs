//! `hermes sandbox policy`: what sandboxed commands on this machine may do.

use std::path::{Path, PathBuf};

use hermes_proc::sandbox::macos_profile;

use crate::context::Context;
use crate::error::Result;
use crate::sandbox_view::{SandboxView, network_word};
use crate::ui::{heading, visible};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the same for sandbox-exec of macOS
    #[arg(long, conflicts_with = "json")]
    macos_profile: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let view = SandboxView::of(context);
    if args.macos_profile {
        return context.out(&macos_profile(&view.policy.plan()));
    }
    if args.json {
        return context.json(&view.to_json());
    }
    let mut out = format!(
        "{}\n  terminal.sandbox: {}\n  network: {}\n  {}\n",
        heading(context.printer, "Sandbox of commands on this machine"),
        view.mode.word(),
        network_word(view.policy.network),
        view.summary()
    );
    if let Ok(enforcement) = &view.enforcement {
        for gap in &enforcement.gaps {
            out.push_str(&format!("  not enforced: {} ({})\n", gap.what, gap.reason));
        }
    }
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("\n{}\n", heading(context.printer, title)));
            for line in lines {
                out.push_str(&format!("  {line}\n"));
            }
        }
    };
    let writable = view.policy.writable.iter();
    section(
        "May be written",
        writable
            .map(|it| format!("{}  ({})", shown(&it.path), it.reason.word()))
            .chain(["a directory for temporary files of its own  (temporary)".to_owned()])
            .collect(),
    );
    section("… but not", all(&view.policy.protected));
    section("Cannot be seen", all(&view.policy.hidden));
    section("Cannot be reached", all(&view.policy.sockets));
    for warning in &view.policy.warnings {
        context.warn(warning)?;
    }
    context.out(&out)
}

fn all(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| shown(path)).collect()
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}
