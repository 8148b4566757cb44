//! Boards: listed, made, changed, chosen and put away.

use hermes_board::boards::{BoardHome, BoardInfo, BoardSlug, Listed, MetadataChange};
use hermes_board::{BoardOptions, Counts, StoredBoard};
use serde_json::{Value, json};

use super::opened::{board_home, options};
use crate::call::{Answered, Call};
use crate::http::ApiError;

fn slug(call: &Call) -> Result<BoardSlug, ApiError> {
    Ok(BoardSlug::parse(call.param("slug"))?)
}

/// The cards of a board by status; none if it has no database yet or cannot be read.
fn counts(home: &BoardHome, info: &BoardInfo, options: &BoardOptions) -> Counts {
    if !info.db_path.is_file() {
        return Counts::new();
    }
    let open = StoredBoard::open(&home.board(&info.slug), options);
    open.and_then(|board| board.counts()).unwrap_or_default()
}

fn shown(info: &BoardInfo) -> Value {
    let mut shown = json!(info);
    let workdir = info
        .default_workdir
        .as_deref()
        .filter(|path| !path.is_empty());
    let kind = match workdir {
        None => "scratch",
        Some(path) if std::path::Path::new(path).join(".git").exists() => "worktree",
        Some(_) => "dir",
    };
    shown["default_workspace_kind"] = json!(kind);
    shown
}

/// `GET /boards`.
pub(crate) fn list(call: &Call) -> Answered {
    let context = call.context();
    let home = board_home(&context);
    let options = options(&context);
    let listed = if call.query_flag("include_archived")? {
        Listed::All
    } else {
        Listed::Active
    };
    let current = home.active();
    let boards: Vec<Value> = home
        .list(listed)?
        .iter()
        .map(|info| {
            let counts = counts(&home, info, &options);
            let mut shown = shown(info);
            shown["is_current"] = json!(info.slug == current);
            shown["total"] = json!(counts.values().sum::<u64>());
            shown["counts"] = json!(counts);
            shown
        })
        .collect();
    call.answer(json!({"boards": boards, "current": current.as_str()}))
}

fn metadata(call: &Call) -> Result<MetadataChange, ApiError> {
    let text = |name: &str| Ok::<_, ApiError>(call.text(name)?.map(str::to_owned));
    let workdir = match call.text("default_workdir")?.map(str::trim) {
        None => None,
        Some("") => Some(None),
        Some(path) => {
            let place = std::path::Path::new(path);
            if !place.is_absolute() || !place.is_dir() {
                let message = "must be the absolute path of a directory";
                let place = ["body", "default_workdir"];
                return Err(ApiError::invalid(&place, message, "path_not_directory"));
            }
            Some(Some(path.to_owned()))
        }
    };
    Ok(MetadataChange {
        name: text("name")?,
        description: text("description")?,
        icon: text("icon")?,
        color: text("color")?,
        default_workdir: workdir,
        ..MetadataChange::default()
    })
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// `POST /boards`.
pub(crate) fn create(call: &Call) -> Answered {
    let slug = BoardSlug::parse(call.required_text("slug")?)?;
    let change = metadata(call)?;
    let home = board_home(&call.context());
    let created = home.create(&slug, &change, now())?;
    if call.flag("switch")?.unwrap_or(false) {
        home.switch(&slug)?;
    }
    call.answer(json!({"board": shown(&created.info), "current": home.active().as_str()}))
}

/// `PATCH /boards/{slug}`.
pub(crate) fn update(call: &Call) -> Answered {
    let slug = slug(call)?;
    let change = metadata(call)?;
    let info = board_home(&call.context()).change(&slug, &change, now())?;
    call.answer(json!({"board": shown(&info)}))
}

/// `DELETE /boards/{slug}`: into the archive, or away for good with `delete=true`.
pub(crate) fn delete(call: &Call) -> Answered {
    let slug = slug(call)?;
    let home = board_home(&call.context());
    let result = if call.query_flag("delete")? {
        home.delete(&slug, now())?;
        json!({"slug": slug.as_str(), "action": "deleted"})
    } else {
        let path = home.archive(&slug, now())?;
        json!({"slug": slug.as_str(), "action": "archived", "new_path": path.display().to_string()})
    };
    call.answer(json!({"result": result, "current": home.active().as_str()}))
}

/// `POST /boards/{slug}/switch`.
pub(crate) fn switch(call: &Call) -> Answered {
    let slug = slug(call)?;
    board_home(&call.context()).switch(&slug)?;
    call.answer(json!({"current": slug.as_str()}))
}
