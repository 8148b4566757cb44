//! Titles of sessions. A title belongs to one session at a time.

use hermes_store::rusqlite::params;

use super::sql_fragments::like_prefix;
use super::{SessionStore, SessionTransaction};
use crate::title::{base_and_number, clean_title};
use crate::{Error, Result, SessionId};

impl SessionStore {
    /// Sets the title of a session and returns it as stored. A title moves from a predecessor in the
    /// same conversation; a title of any other session is an error.
    pub fn set_title(&mut self, id: &SessionId, title: &str) -> Result<String> {
        let title = clean_title(title)?;
        self.write(|transaction| transaction.set_title(id, &title))?;
        Ok(title)
    }

    /// Sets the title of a session that has none: a generated title must not replace the user's.
    /// Returns whether it was set.
    pub fn set_title_if_none(&mut self, id: &SessionId, title: &str) -> Result<bool> {
        let title = clean_title(title)?;
        self.write(|transaction| {
            if transaction.known_session(id)?.title.is_some() {
                return Ok(false);
            }
            transaction.set_title(id, &title)?;
            Ok(true)
        })
    }

    /// The next free variant of a title: `name`, `name #2`, `name #3`, ….
    pub fn next_title(&self, title: &str) -> Result<String> {
        let (base, _) = base_and_number(title);
        let taken = self.read(|transaction| transaction.variants(base))?;
        let highest = taken
            .iter()
            .map(|(_, title)| base_and_number(title).1.unwrap_or(1))
            .max();
        Ok(match highest {
            None => base.to_owned(),
            Some(number) => format!("{base} #{}", number + 1),
        })
    }
}

impl SessionTransaction<'_> {
    /// Sessions with this title or a numbered variant of it, newest first.
    pub(super) fn variants(&self, base: &str) -> Result<Vec<(SessionId, String)>> {
        let all: Vec<(SessionId, String)> = self.rows(
            "SELECT id, title FROM sessions WHERE title = ?1 OR title LIKE ?2 ESCAPE '\\'
             ORDER BY started_at DESC, id DESC",
            params![base, like_prefix(&format!("{base} #"))],
            |row| Ok((SessionId::from_row(row.get(0)?), row.get(1)?)),
        )?;
        Ok(all
            .into_iter()
            .filter(|(_, title)| {
                title == base || matches!(base_and_number(title), (b, Some(_)) if b == base)
            })
            .collect())
    }

    fn set_title(&self, id: &SessionId, title: &str) -> Result<()> {
        self.must_exist(id)?;
        self.free_title(id, title)?;
        self.execute(
            "UPDATE sessions SET title = ?2 WHERE id = ?1",
            params![id.as_str(), title],
        )?;
        Ok(())
    }

    fn free_title(&self, id: &SessionId, title: &str) -> Result<()> {
        let holder = self.session_id(
            "SELECT id FROM sessions WHERE title = ?1 AND id <> ?2",
            params![title, id.as_str()],
        )?;
        let Some(holder) = holder else { return Ok(()) };
        // Nobody could rename a predecessor by hand: it is in no list.
        if !self.is_continued_by(&holder, id)? {
            return Err(Error::TitleTaken {
                title: title.to_owned(),
                holder: holder.to_string(),
            });
        }
        self.execute(
            "UPDATE sessions SET title = NULL WHERE id = ?1",
            params![holder.as_str()],
        )?;
        Ok(())
    }
}
