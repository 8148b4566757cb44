//! `/api/profiles`: the agents of this installation.

use std::time::Duration;

use hermes_home::profiles::{existing, list as list_profiles};
use hermes_home::{Location, ProfileName};
use serde_json::{Value, json};

use super::program;
use crate::call::{Answered, Call, missing};
use crate::http::ApiError;

/// Cloning a profile copies files, deleting one stops processes.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Largest persona.
const MAX_SOUL: usize = 1 << 20;
const SOUL: &str = "SOUL.md";

/// The profile that the path names.
fn named(call: &Call) -> Result<(ProfileName, Location), ApiError> {
    let name = ProfileName::parse(call.param("name"))?;
    let location = existing(&call.context().location, &name)?;
    Ok((name, location))
}

/// `GET /api/profiles`.
pub(crate) fn list(call: &Call) -> Answered {
    let context = call.context();
    let found = list_profiles(&context.location, context.current.as_ref())?;
    let profiles: Vec<Value> = found
        .profiles
        .iter()
        .map(|profile| profile.to_json())
        .collect();
    call.answer(json!({ "profiles": profiles }))
}

/// `GET /api/profiles/active`.
pub(crate) fn active(call: &Call) -> Answered {
    let context = call.context();
    let current = context.current.as_ref().map(ToString::to_string);
    call.answer(json!({"active": current, "current": current}))
}

/// `POST /api/profiles`.
pub(crate) fn create(call: &Call) -> Answered {
    let name = ProfileName::parse_new(call.required_text("name")?)?;
    let mut words = vec!["profile", "create", name.as_str()];
    let source = call.text("clone_from")?.filter(|name| !name.is_empty());
    let from_default = call.flag("clone_from_default")?.unwrap_or(false);
    if let Some(source) = source.or(from_default.then_some("default")) {
        ProfileName::parse(source)?;
        words.extend(["--clone-from", source]);
        if call.flag("clone_all")?.unwrap_or(false) {
            words.push("--clone-all");
        }
    } else if call.flag("no_skills")?.unwrap_or(false) {
        words.push("--no-skills");
    }
    let description = call.text("description")?.filter(|text| !text.is_empty());
    let description = description.map(|text| format!("--description={text}"));
    words.extend(description.as_deref());
    let context = call.context();
    program::run(&context, &words, TIME_LIMIT)?;
    let path = context.location.profile_home(&name);
    call.answer(json!({"ok": true, "name": name.as_str(), "path": path.display().to_string()}))
}

/// `PATCH /api/profiles/{name}`.
pub(crate) fn rename(call: &Call) -> Answered {
    let new = ProfileName::parse_new(call.required_text("new_name")?)?;
    let (old, _) = named(call)?;
    let context = call.context();
    refuse_own(call, &old, "renamed")?;
    let words = ["profile", "rename", old.as_str(), new.as_str()];
    program::run(&context, &words, TIME_LIMIT)?;
    let path = context.location.profile_home(&new);
    call.answer(json!({"ok": true, "name": new.as_str(), "path": path.display().to_string()}))
}

/// `DELETE /api/profiles/{name}`; whoever asks has been asked.
pub(crate) fn delete(call: &Call) -> Answered {
    let (name, location) = named(call)?;
    refuse_own(call, &name, "deleted")?;
    let words = ["profile", "delete", name.as_str(), "--yes"];
    program::run(&call.context(), &words, TIME_LIMIT)?;
    call.answer(json!({"ok": true, "path": location.home.display().to_string()}))
}

/// The profile of this dashboard would take the dashboard with it.
fn refuse_own(call: &Call, name: &ProfileName, done: &str) -> Result<(), ApiError> {
    if call.context().current.as_ref() == Some(name) {
        let message = format!("the profile of this dashboard cannot be {done} from within it");
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// `GET /api/profiles/{name}/soul`.
pub(crate) fn soul(call: &Call) -> Answered {
    let (_, location) = named(call)?;
    let path = location.home.join(SOUL);
    match hermes_fs::read_text_capped(&path, MAX_SOUL as u64) {
        Ok(content) => call.answer(json!({"content": content, "exists": true})),
        Err(error) if error.is_not_found() => call.answer(json!({"content": "", "exists": false})),
        Err(error) => Err(error.into()),
    }
}

/// `PUT /api/profiles/{name}/soul`.
pub(crate) fn set_soul(call: &Call) -> Answered {
    let content = call.text("content")?.ok_or_else(|| missing("content"))?;
    if content.len() > MAX_SOUL {
        let message = format!("a persona has at most {MAX_SOUL} bytes");
        return Err(ApiError::bad_request(message));
    }
    let (_, location) = named(call)?;
    hermes_fs::write_atomic(&location.home.join(SOUL), content.as_bytes(), 0o600)?;
    call.answer(json!({"ok": true}))
}

/// `GET /api/profiles/{name}/setup-command`.
pub(crate) fn setup_command(call: &Call) -> Answered {
    let (name, _) = named(call)?;
    let command = if name.is_default() {
        "hermes setup".to_owned()
    } else {
        format!("hermes -p {name} setup")
    };
    call.answer(json!({ "command": command }))
}
