//! Boards that are on a database server: which ones, and where.
//!
//! `board.json` of a board decides (`database`: an address, or `sqlite`), then the variable and the
//! setting that hold for all boards.

use std::path::{Path, PathBuf};

use hermes_board_pg::{AddressError, BoardAddress, Passwords, ServerAddress};
use hermes_config::dotenv::DotEnv;
use hermes_config::settings::{Config, Sources};
use hermes_config::{Environment, vars};
use hermes_home::Location;
use hermes_secret::SecretString;
use sha2::{Digest, Sha256};

use crate::boards::{BoardSlug, TransferSettings};

/// The setting for all boards.
const SETTING: &str = "kanban.database";
/// What `database` says of a board that is in a file, whatever is set for all.
const FILE: &str = "sqlite";
/// Names of schemas begin with this.
const PREFIX: &str = "hermes_";
/// PostgreSQL cuts longer names.
const LONGEST: usize = 63;
/// A settings file is a few thousand bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

/// What is configured about servers for all boards of an installation.
#[derive(Debug, Clone, Default)]
pub struct ServerSettings {
    address: Option<String>,
    /// Whether it comes from the variable, which outranks the path of a database in another variable.
    is_by_variable: bool,
    passwords: Passwords,
    transfer: TransferSettings,
}

impl ServerSettings {
    /// Reads settings and variables. Boards belong to the installation, so that what a profile does not
    /// set itself is looked up in the default one.
    pub fn resolve(config: &Config, env: &Environment, location: &Location) -> Self {
        let default_home = Some(&location.root).filter(|root| **root != location.home);
        let dotenv = || DotEnv::load(&default_home?.join(".env")).ok();
        let named = |name: &str| {
            let own = config.secret(name).map(|value| value.expose().to_owned());
            let own = own.filter(|value| !value.trim().is_empty());
            own.or_else(|| dotenv()?.get(name).map(str::to_owned))
        };
        let variable = &vars::HERMES_KANBAN_DATABASE_URL;
        let by_variable = env.text(variable).map(str::to_owned);
        let by_variable =
            by_variable.or_else(|| config.dotenv().get(variable.name).map(str::to_owned));
        let is_by_variable = by_variable.is_some();
        let filled = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let address = by_variable
            .or_else(|| filled(config.text(SETTING).to_owned()))
            .or_else(|| of_default(env, default_home?));
        let user_home = &location.user_home;
        let transfer = TransferSettings::resolve(config, env, user_home, default_home);
        // Boards in files need no password, and most are.
        let passwords = Passwords {
            given: named(vars::PGPASSWORD.name).map(SecretString::new),
            file: env
                .text(&vars::PGPASSFILE)
                .map(PathBuf::from)
                .or_else(|| Some(location.user_home.join(".pgpass"))),
            is_file_named: env.is_set(&vars::PGPASSFILE),
        };
        Self {
            address,
            is_by_variable,
            passwords,
            transfer,
        }
    }

    pub(super) fn is_by_variable(&self) -> bool {
        self.is_by_variable
    }

    /// The server of a board whose own file says this, or cannot be read; `None` if it is in a file.
    pub(super) fn of(
        &self,
        slug: &BoardSlug,
        own: Result<Option<String>, Unreadable>,
    ) -> Option<BoardServer> {
        match own {
            Ok(own) => self.chosen(slug, own),
            Err(Unreadable) => Some(BoardServer::unreadable()),
        }
    }

    fn chosen(&self, slug: &BoardSlug, own: Option<String>) -> Option<BoardServer> {
        let text = match own {
            Some(own) if own.trim() == FILE => return None,
            Some(own) => own,
            None => self.address.clone().filter(|text| text.trim() != FILE)?,
        };
        let place = ServerAddress::parse(&text).map(|address| {
            Box::new(BoardAddress {
                address,
                passwords: self.passwords.clone(),
                schema: schema_of(slug),
            })
        });
        Some(BoardServer {
            place,
            transfer: self.transfer.clone(),
        })
    }
}

/// What the default profile sets for all boards. Most files do not even have the word in them.
fn of_default(env: &Environment, home: &Path) -> Option<String> {
    let text = hermes_fs::read_text_capped(&home.join("config.yaml"), LIMIT).ok()?;
    if !text.contains("database") {
        return None;
    }
    let config = Config::load_read_only(&Sources::new(env, home));
    Some(config.text(SETTING).to_owned()).filter(|text| !text.trim().is_empty())
}

/// The schema of a board.
fn schema_of(slug: &BoardSlug) -> String {
    let whole = format!("{PREFIX}{slug}");
    if whole.len() <= LONGEST {
        return whole;
    }
    // Slugs are plain letters.
    let digest = Sha256::digest(slug.as_str());
    let mut end = String::from("_");
    for byte in digest.iter().take(8) {
        end.push_str(&format!("{byte:02x}"));
    }
    let kept: String = whole.chars().take(LONGEST - end.len()).collect();
    kept + &end
}

/// A file of a board that speaks of a server and cannot be read: the board must not be taken for an empty
/// one in a file.
#[derive(Debug)]
pub(crate) struct Unreadable;

/// Where a board on a server is, or why nobody can tell.
#[derive(Debug, Clone)]
pub struct BoardServer {
    place: Result<Box<BoardAddress>, AddressError>,
    /// How files get from one of its machines to another.
    pub(crate) transfer: TransferSettings,
}

impl PartialEq for BoardServer {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for BoardServer {}

impl BoardServer {
    fn key(&self) -> Result<(&ServerAddress, &str), &AddressError> {
        let place = self.place.as_ref();
        place.map(|place| (&place.address, place.schema.as_str()))
    }

    /// A board whose own file does not say where it is, though it should.
    fn unreadable() -> Self {
        Self {
            place: Err(AddressError::Invalid(
                "the board.json of the board cannot be read".to_owned(),
            )),
            transfer: TransferSettings::default(),
        }
    }

    pub(crate) fn place(&self) -> Result<&BoardAddress, AddressError> {
        self.place.as_deref().map_err(Clone::clone)
    }

    /// What the schema of a board is called that has moved away and must make room.
    pub(crate) fn aside(schema: &str, at: &str) -> String {
        let end = format!("_moved-{at}");
        let kept: String = schema.chars().take(LONGEST - end.len()).collect();
        kept + &end
    }

    /// The address, without a password; `None` if it is invalid.
    pub fn address(&self) -> Option<String> {
        let place = self.place.as_ref().ok()?;
        Some(place.address.to_string())
    }

    /// What a process of ours needs to get to the same server.
    pub(crate) fn password(&self) -> Option<&SecretString> {
        self.place.as_ref().ok()?.passwords.given.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_boards_differ_and_fit() {
        let slug = |text: &str| BoardSlug::parse(text).unwrap();
        assert_eq!(schema_of(&slug("team-2")), "hermes_team-2");
        let long = |last: &str| schema_of(&slug(&format!("{}{last}", "a".repeat(60))));
        assert_eq!(long("x").len(), LONGEST);
        assert_ne!(long("x"), long("y"));
    }

    #[test]
    fn the_board_decides_before_the_setting() {
        let all = ServerSettings {
            address: Some("postgres://a@all/x".to_owned()),
            ..ServerSettings::default()
        };
        let slug = BoardSlug::default_board();
        let address = |settings: &ServerSettings, own: Option<&str>| {
            let server = settings.chosen(&slug, own.map(str::to_owned));
            server.map(|server| server.address())
        };
        assert_eq!(
            address(&all, None),
            Some(Some("postgres://a@all/x".to_owned()))
        );
        assert_eq!(address(&all, Some("sqlite")), None);
        let own = "postgres://a@own/x";
        assert_eq!(address(&all, Some(own)), Some(Some(own.to_owned())));
        assert_eq!(address(&ServerSettings::default(), None), None);
        // An address that cannot be used is not taken for none.
        assert_eq!(address(&all, Some("nonsense")), Some(None));
    }
}
