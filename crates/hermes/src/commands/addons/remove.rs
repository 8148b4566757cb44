//! `hermes addons remove`.

use serde_json::json;

use super::{addons, error_json, finish};
use crate::context::Context;
use crate::error::Result;
use crate::ui::human_size;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The features
    #[arg(required = true, value_name = "FEATURE")]
    features: Vec<String>,
    /// Remove them even if a process uses them now
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    context.start_logging();
    let (mut removed, mut failures) = (Vec::new(), Vec::new());
    for feature in &args.features {
        match addons.remove(feature, args.force) {
            Ok(done) => {
                if !args.json {
                    context.line(if done.removed {
                        format!("✓ Removed {feature}, {}", human_size(done.bytes))
                    } else {
                        format!("{feature} is not installed")
                    })?;
                }
                removed.push(done);
            }
            Err(error) => failures.push(error),
        }
    }
    if args.json {
        let failed: Vec<_> = failures.iter().map(error_json).collect();
        context.json(&json!({ "removed": removed, "failed": failed }))?;
    }
    finish(context, failures, args.json)
}
