//! `hermes mcp catalog`: servers that can be added by name. Versions are fixed: what is fetched
//! changes when Hermes does, and not before.

use serde_json::{Map, Value, json};

use super::entry::exists;
use crate::context::Context;
use crate::error::Result;
use crate::ui::Table;

/// A server of the catalog.
pub(super) struct CatalogEntry {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) source: &'static str,
    transport: Known,
    /// What has to be asked: the argument that stands for a directory.
    pub(super) asks_directory: bool,
}

enum Known {
    Npm(&'static str),
    PyPi(&'static str, &'static str),
    /// With a login in the browser.
    Address(&'static str),
}

pub(super) const CATALOG: &[CatalogEntry] = &[
    CatalogEntry {
        name: "filesystem",
        about: "Read, write and search files of one directory",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::Npm("@modelcontextprotocol/server-filesystem@2026.8.31"),
        asks_directory: true,
    },
    CatalogEntry {
        name: "memory",
        about: "A knowledge graph that is kept between conversations",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::Npm("@modelcontextprotocol/server-memory@2026.8.31"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "sequential-thinking",
        about: "Step by step thinking with revisions",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::Npm("@modelcontextprotocol/server-sequential-thinking@2026.8.31"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "everything",
        about: "Every feature of the protocol, for trying things out",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::Npm("@modelcontextprotocol/server-everything@2026.8.31"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "git",
        about: "Read and change Git repositories",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::PyPi("mcp-server-git", "2026.10.19"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "fetch",
        about: "Fetch web pages as text",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::PyPi("mcp-server-fetch", "2026.10.24"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "time",
        about: "The time, in any zone",
        source: "https://github.com/modelcontextprotocol/servers",
        transport: Known::PyPi("mcp-server-time", "2026.10.19"),
        asks_directory: false,
    },
    CatalogEntry {
        name: "linear",
        about: "Issues, projects and comments of Linear",
        source: "https://linear.app/docs/mcp",
        transport: Known::Address("https://mcp.linear.app/mcp"),
        asks_directory: false,
    },
];

impl CatalogEntry {
    /// The settings of the server.
    pub(super) fn settings(&self, directory: Option<&str>) -> Map<String, Value> {
        let mut entry = Map::new();
        match self.transport {
            Known::Npm(package) => {
                let mut args = vec!["-y".to_owned(), package.to_owned()];
                args.extend(directory.map(str::to_owned));
                entry.insert("command".to_owned(), json!("npx"));
                entry.insert("args".to_owned(), json!(args));
            }
            Known::PyPi(package, version) => {
                entry.insert("command".to_owned(), json!("uvx"));
                entry.insert("args".to_owned(), json!([format!("{package}=={version}")]));
            }
            Known::Address(url) => {
                entry.insert("url".to_owned(), json!(url));
                entry.insert("auth".to_owned(), json!("oauth"));
            }
        }
        entry
    }

    /// What it takes to run it.
    pub(super) fn needs(&self) -> &'static str {
        match self.transport {
            Known::Npm(_) => "Node.js",
            Known::PyPi(..) => "uv",
            Known::Address(_) => "a login",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.json {
        let entries: Vec<Value> = CATALOG
            .iter()
            .map(|entry| {
                json!({
                    "name": entry.name,
                    "description": entry.about,
                    "source": entry.source,
                    "needs": entry.needs(),
                    "installed": exists(entry.name, context),
                })
            })
            .collect();
        return context.json(&json!({"catalog": entries}));
    }
    let mut table = Table::new(&["Name", "Needs", "Installed", "Description"]);
    for entry in CATALOG {
        table.row(vec![
            entry.name.to_owned(),
            entry.needs().to_owned(),
            if exists(entry.name, context) {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
            entry.about.to_owned(),
        ]);
    }
    context.out(&table.render())?;
    context.note("Add one with `hermes mcp install NAME`.")
}
