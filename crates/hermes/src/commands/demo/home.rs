//! A home for the length of a demo: profiles, settings, a directory to share, and the cards.
//!
//! Nothing of the user's home is read or written, and no variable that means another board, another
//! terminal or another home reaches anyone.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_board::model::{Assignee, NewCheck, TaskId, WorkspaceKind};
use hermes_board::store::{BoardStore, NewTask};
use hermes_config::{Environment, vars};
use hermes_home::profiles::{CreateRequest, ProfileContent, create};
use hermes_home::{ProfileName, select};

use super::script::{Card, DemoScript};
use crate::commands::kanban::BoardSession;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Names tried before giving up.
const MOST_NAMES: u32 = 100;
/// Creator of the cards.
const CREATED_BY: &str = "demo";

/// The home of a demo.
pub(super) struct DemoHome {
    /// Holds everything.
    pub(super) directory: PathBuf,
    pub(super) context: Context,
}

impl DemoHome {
    /// Makes the home and its profiles.
    pub(super) fn create(context: &Context, script: &DemoScript) -> Result<Self> {
        let directory = new_directory(&context.env)?;
        Self::fill(context, script, &directory).inspect_err(|_| {
            // What went wrong is what matters, not that something of it is left.
            drop(hermes_fs::remove_tree(&directory));
        })
    }

    fn fill(context: &Context, script: &DemoScript, directory: &Path) -> Result<Self> {
        let home = directory.join("home");
        hermes_fs::create_dir(&home, 0o700)?;
        hermes_fs::create_dir(&directory.join("project"), 0o700)?;
        let file = directory.join("demo.yaml");
        hermes_fs::write_atomic(&file, script.text.as_bytes(), 0o600)?;
        // Commands keep their caches in the home of the user.
        let user = directory.join("user");
        hermes_fs::create_dir(&user, 0o700)?;
        let env = plain(&context.env)
            .with(&vars::HERMES_HOME, home.as_os_str())
            .with(&vars::HOME, user.as_os_str());
        let selection = select(&[], &env, &context.system)?;
        let context = Context::new(
            &env,
            context.system.clone(),
            &selection,
            context.printer,
            context.command_tree,
            context.run_words,
        );
        context.ensure_home()?;
        let settings = settings(&file);
        hermes_fs::write_atomic(&home.join("config.yaml"), settings.as_bytes(), 0o600)?;
        for (name, description) in &script.profiles {
            make_profile(&context, name, description, &settings)?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            context: context.reloaded(),
        })
    }

    /// Creates the cards; gives their ids by key.
    pub(super) fn create_cards(
        &self,
        session: &mut BoardSession<'_>,
        cards: &[Card],
    ) -> Result<HashMap<String, TaskId>> {
        let mut ids: HashMap<String, TaskId> = HashMap::new();
        for card in cards {
            let parents = card.after.iter().filter_map(|key| ids.get(key).cloned());
            let shared = self.directory.join("project").display().to_string();
            let new = NewTask {
                body: card.body.clone(),
                assignee: Some(Assignee::parse(&card.assignee)?),
                created_by: Some(CREATED_BY.to_owned()),
                workspace: if card.shared {
                    WorkspaceKind::Dir
                } else {
                    WorkspaceKind::Scratch
                },
                workspace_path: card.shared.then_some(shared),
                parents: parents.collect(),
                checks: card.checks.iter().cloned().map(NewCheck::from).collect(),
                ..NewTask::titled(card.title.as_str())
            };
            ids.insert(card.key.clone(), session.store.create(&new)?.task.id);
        }
        Ok(ids)
    }

    /// Removes everything.
    pub(super) fn remove(&self) -> Result<()> {
        Ok(hermes_fs::remove_tree(&self.directory)?)
    }
}

/// The user's environment without what is about Hermes or its terminal, and with workers that are
/// missed at once.
fn plain(env: &Environment) -> Environment {
    let is_ours = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"HERMES_") || name.starts_with(b"TERMINAL_")
    };
    let others = env.iter().filter(|(name, _)| !is_ours(name));
    let plain = Environment::from_pairs(others);
    let bin = env.os(&vars::HERMES_BIN);
    let plain = match bin {
        Some(bin) => plain.with(&vars::HERMES_BIN, bin),
        None => plain,
    };
    plain.with(&vars::HERMES_KANBAN_CRASH_GRACE_SECONDS, "0")
}

/// Settings of every profile. JSON is YAML.
fn settings(script: &Path) -> String {
    let settings = serde_json::json!({
        "model": {"provider": "replay", "script": script, "default": "replay"},
        "terminal": {"backend": "local"},
        "kanban": {"failure_limit": 3},
    });
    format!("{settings:#}\n")
}

fn make_profile(context: &Context, name: &str, description: &str, settings: &str) -> Result<()> {
    let request = CreateRequest {
        name: ProfileName::parse_new(name)?,
        content: ProfileContent::Fresh {
            bundled_skills: false,
        },
        description: Some(description.to_owned()),
    };
    let prepare = |staged: &Path| {
        hermes_fs::write_atomic(&staged.join("config.yaml"), settings.as_bytes(), 0o600)?;
        Ok(())
    };
    let policy = context.home_policy();
    create(&context.location, &request, &policy, &prepare)?;
    Ok(())
}

/// A directory of our own where temporary things are.
fn new_directory(env: &Environment) -> Result<PathBuf> {
    let place = env
        .os(&vars::TMPDIR)
        .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let pid = std::process::id();
    for number in 0..MOST_NAMES {
        let path = place.join(format!("hermes-demo-{pid}-{number}"));
        match hermes_fs::create_dir(&path, 0o700) {
            Ok(()) => return Ok(hermes_fs::canonicalize(&path)?),
            Err(hermes_fs::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(CommandError::environment(format!(
        "{} contains too many earlier demos",
        place.display()
    ))
    .hint("remove the hermes-demo-* directories there"))
}
