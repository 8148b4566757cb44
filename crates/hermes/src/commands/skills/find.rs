//! `hermes skills browse`, `search` and `inspect`.

use hermes_skills::hub::FoundSkill;
use hermes_skills::list_files;
use serde_json::json;

use super::{fetch_tools, hub};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Table, one_line, visible};

/// Sources of the Python runtime that are not here yet.
const ELSEWHERE: [&str; 4] = ["skills-sh", "clawhub", "lobehub", "browse-sh"];
/// Vendors whose repositories the Python runtime knows.
const VENDORS: [&str; 7] = [
    "nvidia",
    "openai",
    "anthropic",
    "huggingface",
    "voltagent",
    "gstack",
    "minimax",
];

#[derive(Debug, clap::Args)]
pub(crate) struct BrowseArgs {
    /// Which page
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// Skills on a page
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    size: u32,
    /// Only from one source: all, official, github or git
    #[arg(long, default_value = "all")]
    source: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words of the name or description, or the address of a site with skills
    query: String,
    /// Only from one source: all, official, github, git or well-known
    #[arg(long, default_value = "all")]
    source: String,
    /// Most results
    #[arg(long, default_value_t = 25)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// The skill: owner/repository/path, an address, a directory or a name
    identifier: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn browse(args: &BrowseArgs, context: &Context) -> Result<()> {
    let found = found("", &args.source, context)?;
    let (page, size) = (args.page as usize, args.size as usize);
    let pages = found.len().div_ceil(size).max(1);
    let on_page: Vec<FoundSkill> = found
        .into_iter()
        .skip((page - 1) * size)
        .take(size)
        .collect();
    show(&on_page, args.json, context)?;
    if !args.json && pages > 1 {
        context.note(format!("Page {page} of {pages}"))?;
    }
    Ok(())
}

pub(super) fn search(args: &SearchArgs, context: &Context) -> Result<()> {
    let mut found = found(&args.query, &args.source, context)?;
    found.truncate(args.limit);
    show(&found, args.json, context)
}

fn found(query: &str, source: &str, context: &Context) -> Result<Vec<FoundSkill>> {
    if ELSEWHERE.contains(&source) || VENDORS.contains(&source) {
        return Err(CommandError::user(format!(
            "the source '{source}' is not available in this version"
        ))
        .hint("add a repository with `hermes skills tap add owner/name`"));
    }
    if !["all", "official", "github", "git", "well-known"].contains(&source) {
        return Err(
            CommandError::usage(format!("no such source: '{}'", one_line(source, 40)))
                .hint("the sources are all, official, github, git and well-known"),
        );
    }
    let (found, problems) = hub(context).search(query, source, &fetch_tools(context))?;
    for problem in problems {
        context.warn(visible(&problem))?;
    }
    Ok(found)
}

fn show(found: &[FoundSkill], as_json: bool, context: &Context) -> Result<()> {
    if as_json {
        return context.json(&found);
    }
    if found.is_empty() {
        context.line("No skills found")?;
        return context.hint("`hermes skills tap add owner/name` adds a repository with skills");
    }
    let mut table = Table::new(&["NAME", "SOURCE", "TRUST", "IDENTIFIER", "DESCRIPTION"]);
    for skill in found {
        table.row(vec![
            one_line(&skill.name, 40),
            one_line(&skill.source, 12),
            one_line(&skill.trust_level, 12),
            one_line(&skill.identifier, 80),
            one_line(&skill.description, 60),
        ]);
    }
    context.out(&table.render())
}

pub(super) fn inspect(args: &InspectArgs, context: &Context) -> Result<()> {
    let installed = hermes_runtime::own_skills(context);
    // A skill that is here is shown as it is here.
    if let Ok(skill) = installed.find(&args.identifier)
        && let Some(place) = &skill.place
    {
        let files = list_files(&place.directory);
        if args.json {
            return context.json(&json!({
                "name": skill.name,
                "description": skill.head.description(),
                "source": "installed",
                "path": place.directory,
                "files": files,
                "content": skill.body,
            }));
        }
        context.line(format!(
            "{}: {}",
            skill.name,
            visible(&skill.head.description())
        ))?;
        context.line(format!("In {}", context.display(&place.directory)))?;
        for path in files.values().flatten() {
            context.line(format!("  {}", one_line(path, 200)))?;
        }
        return context.line(format!("\n{}", visible(&skill.body)));
    }
    let skill = hub(context).fetch(&args.identifier, &fetch_tools(context))?;
    let paths: Vec<String> = skill
        .files
        .keys()
        .map(|p| p.to_string_lossy().into_owned())
        .collect();
    if args.json {
        return context.json(&json!({
            "name": skill.name,
            "description": skill.description,
            "source": skill.source,
            "identifier": skill.identifier,
            "trust_level": skill.trust.as_str(),
            "files": paths,
            "content": skill.text(),
        }));
    }
    let name = skill.name.as_deref().unwrap_or("(no name)");
    context.line(format!("{name}: {}", visible(&skill.description)))?;
    context.line(format!(
        "From {} ({}, {})",
        one_line(&skill.identifier, 200),
        skill.source,
        skill.trust.as_str()
    ))?;
    for path in &paths {
        context.line(format!("  {}", one_line(path, 200)))?;
    }
    context.line(format!("\n{}", visible(&skill.text())))
}
