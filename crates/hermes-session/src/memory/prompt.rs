//! The part of a prompt that tells what is remembered.

use hermes_policy::injection::scan_strictly;
use hermes_text::with_separators;

use super::entries;
use super::files::{MemoryFiles, MemoryTarget, StoredMemory};

/// Characters of a file that reach a prompt, where the limit of the file is lower: somebody has
/// written it by hand.
const MOST_CHARS: usize = 20_000;

/// Signs of the line around the heading of a block.
const RULE_WIDTH: usize = 46;

impl MemoryFiles {
    /// One block for each file that is on and not empty, and what was left out of them, for the
    /// user.
    pub fn prompt_blocks(&self) -> (Vec<String>, Vec<String>) {
        let mut blocks = Vec::new();
        let mut notices = Vec::new();
        for target in MemoryTarget::ALL {
            if self.limit(target).is_none() {
                continue;
            }
            match self.read(target) {
                Ok(stored) if stored.entries.is_empty() => {}
                Ok(stored) => blocks.push(block(target, &stored, &mut notices)),
                Err(error) => notices.push(format!(
                    "{} is left out of this session: {error}.",
                    target.file_name()
                )),
            }
        }
        (blocks, notices)
    }
}

fn block(target: MemoryTarget, stored: &StoredMemory, notices: &mut Vec<String>) -> String {
    let file = target.file_name();
    let most = stored.limit.max(MOST_CHARS);
    let mut kept: Vec<String> = Vec::new();
    let mut line = 0;
    let mut chars = 0;
    for entry in &stored.entries {
        chars += entry.chars().count();
        if chars > most {
            break;
        }
        let (clean, blocked) = scan_strictly(file, entry);
        for mut one in blocked {
            one.line += line;
            notices.push(one.notice(file));
        }
        kept.push(clean.trim_end().to_owned());
        line += entry.matches('\n').count() + 2;
    }
    let missing = stored.entries.len() - kept.len();
    if missing > 0 {
        notices.push(format!(
            "{file} is too long: {missing} of its {} entries are left out of this session.",
            stored.entries.len()
        ));
    }
    let title = match target {
        MemoryTarget::Notes => "MEMORY (your personal notes)",
        MemoryTarget::User => "USER PROFILE (who the user is)",
    };
    let rule = "═".repeat(RULE_WIDTH);
    format!(
        "{rule}\n{title} [{}% — {}/{} chars]\n{rule}\n{}",
        stored.percent(),
        with_separators(stored.chars),
        with_separators(stored.limit),
        entries::join(&kept)
    )
}
