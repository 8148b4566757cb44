//! `board.json`: display name, description, icon and colour of a board.
//!
//! Reading never fails: a missing or malformed file gives the defaults. Writing keeps unknown keys, and
//! refuses to replace a file that cannot be read.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::boards::server::Unreadable;
use crate::boards::{Board, BoardSlug};
use crate::model::OnApprove;
use crate::{Error, Result};

/// Metadata is a few hundred bytes; a megabyte of it is a mistake.
const LIMIT: u64 = 1024 * 1024;

/// A board as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoardInfo {
    /// Name of its directory, whatever the file says.
    pub slug: BoardSlug,
    /// Display name.
    pub name: String,
    pub description: String,
    /// Icon: a character or two.
    pub icon: String,
    /// Colour, as the dashboard understands it.
    pub color: String,
    /// Where workspaces of the kinds `dir` and `worktree` begin when a card names no path.
    pub default_workdir: Option<String>,
    /// What becomes of approved work where its card does not say: `none`, `merge`, `push` or
    /// `push:REMOTE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_approve: Option<String>,
    /// When the file was first written.
    pub created_at: Option<i64>,
    /// Whether it is left out of lists.
    pub archived: bool,
    /// Keys of others.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    pub db_path: PathBuf,
    /// Address of the server that the board is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
}

/// Changes to the metadata; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataChange {
    /// New name; blank means the default one.
    pub name: Option<String>,
    pub description: Option<String>,
    pub icon: Option<String>,
    pub color: Option<String>,
    /// New default directory; `Some(None)` clears it.
    pub default_workdir: Option<Option<String>>,
    pub archived: Option<bool>,
    /// What becomes of approved work; `Some(None)` clears it.
    pub on_approve: Option<Option<OnApprove>>,
    /// Where the cards are: an address, or `sqlite`.
    pub database: Option<String>,
}

const KNOWN: [&str; 10] = [
    "slug",
    "name",
    "description",
    "icon",
    "color",
    "default_workdir",
    "created_at",
    "archived",
    "on_approve",
    "database",
];

/// Reads the metadata of a board.
pub(crate) fn load(board: &Board) -> BoardInfo {
    let map = match read(board) {
        Ok(map) => map,
        Err(error) => {
            tracing::warn!(%error, "could not read the metadata of a board; using defaults");
            Map::new()
        }
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    BoardInfo {
        slug: board.slug.clone(),
        name: text("name").map_or_else(|| board.slug.display_name(), str::to_owned),
        description: text("description").unwrap_or_default().to_owned(),
        icon: text("icon").unwrap_or_default().to_owned(),
        color: text("color").unwrap_or_default().to_owned(),
        default_workdir: text("default_workdir")
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
        on_approve: text("on_approve").map(str::to_owned),
        created_at: map.get("created_at").and_then(Value::as_i64),
        archived: map
            .get("archived")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        extra: map
            .iter()
            .filter(|(key, _)| !KNOWN.contains(&key.as_str()) && *key != "db_path")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        db_path: board.database.clone(),
        database: board
            .server
            .as_ref()
            .map(|server| server.address().unwrap_or_default()),
    }
}

/// Writes the changed metadata. The caller holds the board's lock.
pub(super) fn save(board: &Board, change: &MetadataChange, now: i64) -> Result<BoardInfo> {
    let mut map = read(board)?;
    map.insert("slug".to_owned(), json!(board.slug));
    let name = change.name.as_deref().map(|name| match name.trim() {
        "" => board.slug.display_name(),
        name => name.to_owned(),
    });
    let workdir = change.default_workdir.as_ref().map(|path| json!(path));
    let settings = [
        (
            "name",
            name.map(Value::from),
            json!(board.slug.display_name()),
        ),
        (
            "description",
            change.description.clone().map(Value::from),
            json!(""),
        ),
        ("icon", change.icon.clone().map(Value::from), json!("")),
        ("color", change.color.clone().map(Value::from), json!("")),
        ("default_workdir", workdir, Value::Null),
        ("created_at", None, Value::Null),
        ("archived", change.archived.map(Value::from), json!(false)),
    ];
    for (key, wanted, default) in settings {
        match wanted {
            Some(value) => map.insert(key.to_owned(), value),
            None if map.contains_key(key) => None,
            None => map.insert(key.to_owned(), default),
        };
    }
    if map.get("created_at").is_none_or(Value::is_null) {
        map.insert("created_at".to_owned(), json!(now));
    }
    match &change.on_approve {
        Some(Some(action)) => {
            map.insert("on_approve".to_owned(), json!(action));
        }
        Some(None) => {
            map.shift_remove("on_approve");
        }
        None => {}
    }
    if let Some(database) = &change.database {
        map.insert("database".to_owned(), json!(database));
    }
    // Computed by every reader; a stale one in the file would be believed.
    map.shift_remove("db_path");
    hermes_fs::create_dir_all(&board.directory, 0o700)?;
    let mut text = serde_json::to_string_pretty(&map).map_err(|source| Error::Metadata {
        path: board.metadata_file(),
        detail: source.to_string(),
    })?;
    text.push('\n');
    hermes_fs::write_atomic(&board.metadata_file(), text.as_bytes(), 0o600)?;
    Ok(load(board))
}

/// What the file says about the database of its board.
pub(crate) fn database_in(path: &Path) -> std::result::Result<Option<String>, Unreadable> {
    let Ok(Some(bytes)) = hermes_fs::read_optional(path, LIMIT) else {
        return Ok(None);
    };
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => {
            let database = value.get("database").and_then(Value::as_str);
            let database = database.filter(|text| !text.trim().is_empty());
            Ok(database.map(str::to_owned))
        }
        Err(_) if bytes.windows(8).any(|part| part == b"postgres") => Err(Unreadable),
        Err(_) => Ok(None),
    }
}

/// The file as it is; an empty map if there is none.
fn read(board: &Board) -> Result<Map<String, Value>> {
    let path = board.metadata_file();
    let Some(bytes) = hermes_fs::read_optional(&path, LIMIT)? else {
        return Ok(Map::new());
    };
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Error::Metadata {
            path,
            detail: "it is not a JSON object".to_owned(),
        }),
        Err(source) => Err(Error::Metadata {
            path,
            detail: source.to_string(),
        }),
    }
}
