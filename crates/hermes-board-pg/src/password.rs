//! Where the password of a connection comes from: `PGPASSWORD`, or the file of `PGPASSFILE`.

use std::path::PathBuf;

use hermes_secret::SecretString;

use crate::address::ServerAddress;
use crate::error::{Error, Result};

/// A file of passwords is a few lines.
const LIMIT: u64 = 1024 * 1024;

/// What is known about passwords.
#[derive(Debug, Clone, Default)]
pub struct Passwords {
    /// `PGPASSWORD`, from the environment or `.env`.
    pub given: Option<SecretString>,
    /// The file of passwords, whether it exists or not.
    pub file: Option<PathBuf>,
    /// Whether the file was asked for by name; the usual one may be missing.
    pub is_file_named: bool,
}

impl Passwords {
    /// The password of an address, if there is one.
    pub(crate) fn of(&self, address: &ServerAddress) -> Result<Option<SecretString>> {
        if let Some(given) = &self.given {
            return Ok(Some(given.clone()));
        }
        let Some(path) = &self.file else {
            return Ok(None);
        };
        let unusable = |problem: &str| Error::PasswordFile {
            path: path.clone(),
            problem: problem.to_owned(),
        };
        let meta = match hermes_fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.is_not_found() && !self.is_file_named => return Ok(None),
            Err(error) if error.is_not_found() => return Err(unusable("does not exist")),
            Err(_) => return Err(unusable("cannot be read")),
        };
        if std::os::unix::fs::MetadataExt::mode(&meta) & 0o077 != 0 {
            // As PostgreSQL's own programs do.
            return Err(unusable(
                "can be read by others; `chmod 600` makes it usable",
            ));
        }
        let text = hermes_fs::read_text_capped(path, LIMIT);
        let text = text.map_err(|_| unusable("cannot be read"))?;
        Ok(text.lines().find_map(|line| matching(line, address)))
    }
}

/// The password of a line `host:port:database:user:password` that is about this address.
fn matching(line: &str, address: &ServerAddress) -> Option<SecretString> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let [host, port, database, user, password] = fields.as_slice() else {
        return None;
    };
    let is = |field: &str, value: &str| field == "*" || field == value;
    let is_host = address.hosts.iter().any(|(name, number)| {
        let local = name.starts_with('/') && host == "localhost";
        (is(host, name) || local) && is(port, &number.to_string())
    });
    (is_host && is(database, &address.database) && is(user, &address.user))
        .then(|| SecretString::new(password.clone()))
}

/// The fields between colons; a backslash takes what follows as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(sign) = rest.next() {
        let literal = match sign {
            '\\' => rest.next(),
            ':' if fields.len() < 5 => None,
            sign => Some(sign),
        };
        match (literal, fields.last_mut()) {
            (Some(literal), Some(field)) => field.push(literal),
            _ => fields.push(String::new()),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn find(text: &str) -> Option<String> {
        let address = ServerAddress::parse("postgres://ann@db:6000/team").unwrap();
        let mut found = text.lines().filter_map(|line| matching(line, &address));
        found.next().map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        assert_eq!(find("db:6000:team:ann:one"), Some("one".to_owned()));
        assert_eq!(
            find("# db:6000:team:ann:no\n*:*:*:ann:a\\:b\\\\c:d"),
            Some("a:b\\c:d".to_owned())
        );
        for other in [
            "db:5432:team:ann:x",
            "db2:*:*:ann:x",
            "*:*:*:bob:x",
            "db:6000:team:ann",
        ] {
            assert_eq!(find(other), None, "{other}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests access files directly")]
    fn a_file_for_all_to_read_is_refused_by_name() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pass");
        let address = ServerAddress::parse("postgres://ann@db/team").unwrap();
        let passwords = |named| Passwords {
            given: None,
            file: Some(path.clone()),
            is_file_named: named,
        };
        assert!(passwords(false).of(&address).unwrap().is_none());
        let missing = passwords(true).of(&address).unwrap_err().to_string();
        assert!(missing.contains("does not exist"), "{missing}");
        std::fs::write(&path, "*:*:*:*:hunter2\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = passwords(true).of(&address).unwrap_err();
        assert!(open.to_string().contains("chmod 600"), "{open}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let found = passwords(true).of(&address).unwrap().unwrap();
        assert_eq!(found.expose(), "hunter2");
    }
}
