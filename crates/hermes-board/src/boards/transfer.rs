//! How files get from one machine of a board to another: by the database, or by a directory that all
//! machines see; and how much of it.

use std::path::{Path, PathBuf};

use hermes_config::Environment;
use hermes_config::settings::{Config, Sources};

/// The settings, below `kanban`.
const SHARED: &str = "kanban.shared_files";
const PER_FILE: &str = "kanban.transfer_max_file_bytes";
const PER_CARD: &str = "kanban.transfer_max_bytes";
/// A settings file is a few thousand bytes.
const LIMIT: u64 = 4 * 1024 * 1024;
const MIB: u64 = 1024 * 1024;

/// How files travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferSettings {
    /// The directory that all machines see; the database if there is none.
    pub shared_files: Option<PathBuf>,
    /// Most bytes of one file, or of one workspace.
    pub max_file_bytes: u64,
    /// Most bytes of all files of a card.
    pub max_bytes: u64,
}

impl Default for TransferSettings {
    fn default() -> Self {
        Self {
            shared_files: None,
            max_file_bytes: 64 * MIB,
            max_bytes: 256 * MIB,
        }
    }
}

impl TransferSettings {
    /// Boards belong to the installation: what a profile leaves as it is counts as the default profile
    /// has it.
    pub(super) fn resolve(
        config: &Config,
        env: &Environment,
        user_home: &Path,
        default_home: Option<&PathBuf>,
    ) -> Self {
        let own = Self::of(config, user_home);
        let Some(home) = default_home.filter(|_| own == Self::default()) else {
            return own;
        };
        // Most files do not even have these words in them.
        let text = hermes_fs::read_text_capped(&home.join("config.yaml"), LIMIT);
        let says = |text: &String| text.contains("shared_files") || text.contains("transfer_max");
        if text.ok().is_some_and(|text| says(&text)) {
            return Self::of(&Config::load_read_only(&Sources::new(env, home)), user_home);
        }
        own
    }

    fn of(config: &Config, user_home: &Path) -> Self {
        let bytes = |key: &str, default: u64| {
            let set = config
                .int(key)
                .and_then(|number| u64::try_from(number).ok());
            set.filter(|number| *number > 0).unwrap_or(default)
        };
        let usual = Self::default();
        let shared = config.text(SHARED).trim();
        let shared = Some(shared).filter(|text| !text.is_empty()).map(|text| {
            let path = Path::new(text);
            path.strip_prefix("~")
                .map_or_else(|_| path.to_owned(), |rest| user_home.join(rest))
        });
        Self {
            shared_files: shared,
            max_file_bytes: bytes(PER_FILE, usual.max_file_bytes),
            max_bytes: bytes(PER_CARD, usual.max_bytes),
        }
    }
}
