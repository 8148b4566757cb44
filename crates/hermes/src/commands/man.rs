//! `hermes man`: manual pages, made from the command tree.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command, such as kanban create; without one, the page of hermes itself
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let mut tree = (context.command_tree)();
    tree.build();
    if let Some(dir) = &args.dir {
        hermes_fs::create_dir_all(dir, 0o755)?;
        let mut count = 0;
        write_all(&tree, "hermes", dir, &mut count)?;
        let pages = counted(count, "page");
        return context.line(format!("✓ Wrote {pages} to {}", dir.display()));
    }
    let mut command = &tree;
    let mut name = "hermes".to_owned();
    for word in &args.path {
        let Some(found) = command.find_subcommand(word) else {
            return Err(CommandError::usage(format!(
                "no such command: {} {word}",
                name.replace('-', " ")
            )));
        };
        command = found;
        name = format!("{name}-{}", found.get_name());
    }
    context.out(&page(command, &name)?)
}

fn write_all(
    command: &clap::Command,
    name: &str,
    dir: &std::path::Path,
    count: &mut usize,
) -> Result<()> {
    let file = dir.join(format!("{name}.1"));
    hermes_fs::write_atomic(&file, page(command, name)?.as_bytes(), 0o644)?;
    *count += 1;
    for child in command.get_subcommands() {
        if !child.is_hide_set() && child.get_name() != "help" {
            write_all(child, &format!("{name}-{}", child.get_name()), dir, count)?;
        }
    }
    Ok(())
}

/// The page in the language of `man`.
fn page(command: &clap::Command, name: &str) -> Result<String> {
    let mut text = Vec::new();
    let command = command.clone().name(name.to_owned());
    Man::new(command)
        .title(name.to_uppercase())
        .render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
