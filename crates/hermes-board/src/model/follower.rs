//! Where those who follow a card hear of it.

use crate::model::TaskId;
use crate::{Error, Result};

/// Where a follower hears of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follower {
    /// A file of this name, in the home of the profile that delivers.
    File(String),
    /// Comments on another card of the board.
    Card(TaskId),
    /// A chat, as soon as its platform is connected.
    Chat,
}

impl Follower {
    /// What platform and chat of a subscription mean.
    pub fn of(platform: &str, chat: &str) -> Result<Self> {
        match platform.trim().to_ascii_lowercase().as_str() {
            "local" => match TaskId::new(chat.trim()).as_file_name() {
                Some(name) => Ok(Self::File(name.to_owned())),
                None => Err(Error::BadRequest(format!(
                    "'{}' cannot be the name of a file of notices: use letters, digits, '-' and \
                     '_', at most 64",
                    crate::shown(chat, 64)
                ))),
            },
            "board" | "kanban" => Ok(Self::Card(TaskId::new(chat.trim()))),
            _ => Ok(Self::Chat),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_are_files_cards_and_chats() {
        let of = |platform, chat| Follower::of(platform, chat).unwrap();
        assert_eq!(of("local", "ops"), Follower::File("ops".to_owned()));
        assert_eq!(of("Board", " t_1 "), Follower::Card(TaskId::new("t_1")));
        assert_eq!(of("kanban", "t_1"), Follower::Card(TaskId::new("t_1")));
        assert_eq!(of("telegram", "-100:7"), Follower::Chat);
        for odd in ["../x", "a/b", ".hidden", "a b", ""] {
            let refused = Follower::of("local", odd).unwrap_err().to_string();
            assert!(refused.contains("name of a file"), "{odd}: {refused}");
        }
    }
}
