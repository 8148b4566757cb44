//! `hermes tools --summary`: the toolsets that are on, a platform per line.

use hermes_tools::{ToolSelection, basic_toolsets};
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::facts;
use crate::ui::Table;

pub(super) fn run(context: &Context) -> Result<()> {
    let config = context.config();
    let mut platforms = facts::configured_platforms(context);
    if let Some(Value::Object(lists)) = config.get("platform_toolsets") {
        platforms.extend(lists.keys().cloned());
    }
    platforms.push("cli".to_owned());
    platforms.sort();
    platforms.dedup();
    let all = basic_toolsets().count();
    let mut table = Table::new(&["Platform", "On", "Toolsets"]);
    for platform in platforms {
        let selection = ToolSelection::resolve(config, &context.env, &platform, None);
        let on: Vec<String> = selection.expanded().into_iter().collect();
        let count = format!("{} of {all}", on.len());
        table.row(vec![platform, count, on.join(", ")]);
    }
    context.out(&table.render())
}
