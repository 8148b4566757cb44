//! Projects: short names for repositories.
//!
//! They are in a database of the profile that another program owns. It is only read; a project that
//! cannot be found there does not prevent a card.

use std::path::{Path, PathBuf};

use hermes_store::Database;
use hermes_store::rusqlite::{OptionalExtension, Row};

use crate::store::ProjectLink;

/// Finds a project of the profile with this home by its id, else by its short name. `None` if there
/// is no such project, or none that could be read.
pub fn find_project(home: &Path, id_or_slug: &str) -> Option<ProjectLink> {
    let wanted = id_or_slug.trim();
    let path = home.join("projects.db");
    if wanted.is_empty() || !path.exists() {
        return None;
    }
    look_up(&path, wanted).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read the projects; the card is created without one");
        None
    })
}

fn look_up(path: &Path, wanted: &str) -> hermes_store::Result<Option<ProjectLink>> {
    let database = Database::open_read_only(path)?;
    database
        .connection()
        .query_row(
            "SELECT id, slug, primary_path FROM projects WHERE id = ?1 OR slug = lower(?1)
             ORDER BY id = ?1 DESC LIMIT 1",
            [wanted],
            project_of_row,
        )
        .optional()
        .map_err(hermes_store::Error::sqlite("read", path))
}

fn project_of_row(row: &Row<'_>) -> hermes_store::rusqlite::Result<ProjectLink> {
    let repository: Option<String> = row.get("primary_path")?;
    Ok(ProjectLink {
        id: row.get("id")?,
        slug: row.get("slug")?,
        repository: repository
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_store::OpenOptions;
    use pretty_assertions::assert_eq;

    #[test]
    fn projects_are_found_by_id_or_short_name() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(find_project(home.path(), "site"), None);
        let path = home.path().join("projects.db");
        let database = Database::open(&path, &OpenOptions::default()).unwrap();
        database
            .connection()
            .execute_batch(
                "CREATE TABLE projects (id TEXT PRIMARY KEY, slug TEXT, primary_path TEXT);
                 INSERT INTO projects VALUES ('p_1', 'site', '/srv/site'), ('p_2', 'bare', NULL)",
            )
            .unwrap();
        let site = ProjectLink {
            id: "p_1".to_owned(),
            slug: "site".to_owned(),
            repository: Some(PathBuf::from("/srv/site")),
        };
        assert_eq!(find_project(home.path(), "p_1"), Some(site.clone()));
        assert_eq!(find_project(home.path(), " Site "), Some(site));
        assert_eq!(find_project(home.path(), "bare").unwrap().repository, None);
        for unknown in ["", "other", "p_3"] {
            assert_eq!(find_project(home.path(), unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn projects_that_cannot_be_read_are_none() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("projects.db");
        hermes_fs::write_atomic(&path, b"no database at all, and long enough", 0o600).unwrap();
        assert_eq!(find_project(home.path(), "site"), None);
    }
}
