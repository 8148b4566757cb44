//! Giving titles to sessions. A title belongs to one session at a time.

use hermes_store::rusqlite::params;

use super::fragments::like_prefix;
use super::{Scope, SessionStore};
use crate::error::unknown;
use crate::title::{base_and_number, clean_title};
use crate::{Error, Result, SessionId};

impl SessionStore {
    /// Gives a session a title. If a predecessor in the same conversation has it, it moves; if any
    /// other session has it, this is an error. Gives the title as it was stored.
    pub fn set_title(&mut self, id: &SessionId, title: &str) -> Result<String> {
        let title = clean_title(title)?;
        self.write(|scope| {
            scope.must_exist(id)?;
            scope.free_title(id, &title)?;
            scope.execute(
                "UPDATE sessions SET title = ?2 WHERE id = ?1",
                params![id.as_str(), title],
            )?;
            Ok(title)
        })
    }

    /// Gives a session a title unless it has one, as a title that a model thought of must not
    /// replace a person's. Gives whether it was set.
    pub fn set_title_if_none(&mut self, id: &SessionId, title: &str) -> Result<bool> {
        let title = clean_title(title)?;
        self.write(|scope| {
            scope.must_exist(id)?;
            let has_one = scope
                .row(
                    "SELECT 1 FROM sessions WHERE id = ?1 AND title IS NOT NULL",
                    params![id.as_str()],
                    |_| Ok(()),
                )?
                .is_some();
            if has_one {
                return Ok(false);
            }
            scope.free_title(id, &title)?;
            scope.execute(
                "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title IS NULL",
                params![id.as_str(), title],
            )?;
            Ok(true)
        })
    }

    /// The next free variant of a title: `name`, `name #2`, `name #3`, ….
    pub fn next_title(&self, title: &str) -> Result<String> {
        let (base, _) = base_and_number(title);
        let taken = self.read(|scope| scope.variants(base))?;
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

impl Scope<'_> {
    /// Sessions with this title or a numbered variant of it, newest first.
    pub(super) fn variants(&self, base: &str) -> Result<Vec<(SessionId, String)>> {
        let all: Vec<(SessionId, String)> = self.rows(
            "SELECT id, title FROM sessions WHERE title = ?1 OR title LIKE ?2 ESCAPE '\\'
             ORDER BY started_at DESC, id DESC",
            params![base, like_prefix(&format!("{base} #"))],
            |row| Ok((SessionId::of_row(row.get(0)?), row.get(1)?)),
        )?;
        Ok(all
            .into_iter()
            .filter(|(_, title)| {
                title == base || matches!(base_and_number(title), (b, Some(_)) if b == base)
            })
            .collect())
    }

    fn free_title(&self, id: &SessionId, title: &str) -> Result<()> {
        let holder = self.row(
            "SELECT id FROM sessions WHERE title = ?1 AND id <> ?2",
            params![title, id.as_str()],
            |row| Ok(SessionId::of_row(row.get(0)?)),
        )?;
        let Some(holder) = holder else { return Ok(()) };
        // A predecessor is in no list; nobody could take the title from it by hand.
        if !self.is_continued_by(&holder, id)? {
            return Err(Error::TitleTaken {
                title: title.to_owned(),
                holder,
            });
        }
        let freed = self.execute(
            "UPDATE sessions SET title = NULL WHERE id = ?1",
            params![holder.as_str()],
        )?;
        if freed == 0 {
            return Err(unknown(&holder));
        }
        Ok(())
    }
}
