//! The two files of a home, their limits, and how they are read.

use std::path::{Path, PathBuf};

use hermes_config::Config;

use super::entries;

/// Largest file that is read: hundreds of times what the limits allow.
const MAX_BYTES: u64 = 1024 * 1024;

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryTarget {
    /// The agent's own notes.
    Notes,
    /// What it knows about the user.
    User,
}

impl MemoryTarget {
    /// Both, in the order of a prompt.
    pub const ALL: [Self; 2] = [Self::Notes, Self::User];

    /// The target of this name, as tools and flags write it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == name)
    }

    /// `memory` or `user`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notes => "memory",
            Self::User => "user",
        }
    }

    /// `MEMORY.md` or `USER.md`.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Notes => "MEMORY.md",
            Self::User => "USER.md",
        }
    }

    /// The setting that switches it off.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Notes => "memory.memory_enabled",
            Self::User => "memory.user_profile_enabled",
        }
    }
}

/// The memory of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFiles {
    directory: PathBuf,
    /// Most characters of each; `None` if it is switched off.
    notes: Option<usize>,
    user: Option<usize>,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredMemory {
    pub entries: Vec<String>,
    /// Characters of the whole.
    pub chars: usize,
    /// Most characters.
    pub limit: usize,
}

impl StoredMemory {
    pub(super) fn new(entries: Vec<String>, limit: usize) -> Self {
        Self {
            chars: entries::count_chars(&entries),
            entries,
            limit,
        }
    }

    /// How full it is, from 0 to 100.
    pub fn percent(&self) -> usize {
        match self.limit {
            0 => 0,
            limit => (self.chars * 100 / limit).min(100),
        }
    }
}

impl MemoryFiles {
    /// The memory of a home under these settings.
    pub fn resolve(home: &Path, config: &Config) -> Self {
        let limit = |target: MemoryTarget, key: &str| {
            let count = config
                .int(key)
                .and_then(|count| usize::try_from(count).ok());
            config.flag(target.setting()).then(|| count.unwrap_or(0))
        };
        Self {
            directory: home.join("memories"),
            notes: limit(MemoryTarget::Notes, "memory.memory_char_limit"),
            user: limit(MemoryTarget::User, "memory.user_char_limit"),
        }
    }

    /// Most characters of a file; `None` if it is switched off.
    pub fn limit(&self, target: MemoryTarget) -> Option<usize> {
        match target {
            MemoryTarget::Notes => self.notes,
            MemoryTarget::User => self.user,
        }
    }

    /// Whether both are switched off.
    pub fn is_off(&self) -> bool {
        self.notes.is_none() && self.user.is_none()
    }

    /// The file.
    pub fn path(&self, target: MemoryTarget) -> PathBuf {
        self.directory.join(target.file_name())
    }

    /// What a file holds now, switched off or not; nothing if there is none.
    pub fn read(&self, target: MemoryTarget) -> hermes_fs::Result<StoredMemory> {
        let path = self.path(target);
        let text = match hermes_fs::read_text_capped(&path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => String::new(),
            Err(error) => return Err(error),
        };
        let limit = self.limit(target).unwrap_or(0);
        Ok(StoredMemory::new(entries::parse(&text), limit))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}
