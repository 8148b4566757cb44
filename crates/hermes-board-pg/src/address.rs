//! Addresses of servers: `postgres://USER@HOST[:PORT][,HOST…]/DATABASE?sslmode=…`.
//!
//! An address never holds a password. One that does is refused before anything can show it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Port of a server that names none.
const PORT: u16 = 5432;
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a board is, and how its server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    pub(crate) user: String,
    /// Names or directories of sockets, with ports, in the order they are tried.
    pub(crate) hosts: Vec<(String, u16)>,
    pub(crate) database: String,
    pub(crate) ssl_mode: SslMode,
    /// Certificates that are trusted; those of the system if not given.
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    /// The address as it was written.
    text: String,
}

/// How a connection is protected; the words are those of PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SslMode {
    Disable,
    /// Encrypted if the server can do that.
    Prefer,
    /// Encrypted; the server may be anybody, unless root certificates are given.
    Require,
    /// With a certificate that is trusted.
    VerifyCa,
    /// With a certificate that is trusted and names the host.
    VerifyFull,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address of the board's database contains a password")]
    Password,
    #[error("the address of the board's database is invalid: {0}")]
    Invalid(String),
}

impl AddressError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Password => {
                "take it out of the address and put it into `.env` as PGPASSWORD, or \
                 into the file that PGPASSFILE names"
                    .to_owned()
            }
            Self::Invalid(_) => {
                "write it as postgres://USER@HOST/DATABASE?sslmode=verify-full".to_owned()
            }
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ServerAddress {
    /// Reads an address. A database that is not named has the name of the user.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let invalid = |what: &str| AddressError::Invalid(what.to_owned());
        let rest = ["postgres://", "postgresql://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme))
            .ok_or_else(|| invalid("it does not begin with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, hosts) = match authority.rsplit_once('@') {
            Some((userinfo, hosts)) => (userinfo, hosts),
            None => ("", authority),
        };
        if userinfo.contains(':') {
            return Err(AddressError::Password);
        }
        let mut address = Self {
            user: decode(userinfo)?,
            hosts: hosts_of(hosts)?,
            database: decode(path)?,
            ssl_mode: SslMode::Prefer,
            root_certificates: None,
            connect_timeout: CONNECT_TIMEOUT,
            text: text.to_owned(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            address.set(&decode(name)?, decode(value)?)?;
        }
        if address.user.is_empty() {
            return Err(invalid("it names no user"));
        }
        if address.hosts.is_empty() {
            return Err(invalid("it names no host"));
        }
        if address.database.is_empty() {
            address.database.clone_from(&address.user);
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), AddressError> {
        match name {
            "password" => return Err(AddressError::Password),
            "user" => self.user = value,
            "dbname" => self.database = value,
            "host" => self.hosts = hosts_of(&value)?,
            "sslmode" => {
                self.ssl_mode = match value.as_str() {
                    "disable" => SslMode::Disable,
                    "prefer" | "allow" => SslMode::Prefer,
                    "require" => SslMode::Require,
                    "verify-ca" => SslMode::VerifyCa,
                    "verify-full" => SslMode::VerifyFull,
                    _ => {
                        return Err(AddressError::Invalid(
                            "sslmode is disable, prefer, require, verify-ca or verify-full"
                                .to_owned(),
                        ));
                    }
                }
            }
            "sslrootcert" => {
                self.root_certificates = (value != "system").then(|| PathBuf::from(value));
            }
            "connect_timeout" => {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| {
                    AddressError::Invalid("connect_timeout is a number of seconds".to_owned())
                })?;
                self.connect_timeout = Duration::from_secs(seconds);
            }
            _ => {
                return Err(AddressError::Invalid(format!(
                    "there is no parameter '{}'; known are sslmode, sslrootcert, connect_timeout, \
                     host, user and dbname",
                    name.escape_default()
                )));
            }
        }
        Ok(())
    }

    /// The first host, as messages name it.
    pub(crate) fn place(&self) -> String {
        let hosts = self
            .hosts
            .iter()
            .map(|(host, port)| format!("{host}:{port}"));
        hosts.collect::<Vec<_>>().join(", ")
    }
}

fn hosts_of(text: &str) -> Result<Vec<(String, u16)>, AddressError> {
    text.split(',')
        .filter(|host| !host.is_empty())
        .map(|host| {
            // `[::1]:5432`: the colons between brackets are of the address.
            let (name, port) = match host.rsplit_once(':') {
                Some((name, port)) if !port.contains(']') => (name, Some(port)),
                _ => (host, None),
            };
            let name = name.trim_start_matches('[').trim_end_matches(']');
            let port = port.map_or(Ok(PORT), str::parse);
            let port = port.map_err(|_| {
                AddressError::Invalid("a port is a number from 1 to 65535".to_owned())
            })?;
            Ok((decode(name)?, port))
        })
        .collect()
}

/// Replaces `%41` and the like.
fn decode(text: &str) -> Result<String, AddressError> {
    let broken = || AddressError::Invalid("a '%' is not followed by two digits".to_owned());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let byte = rest.next()?;
            char::from(byte).to_digit(16)
        };
        let (high, low) = digit().zip(digit()).ok_or_else(broken)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| broken())?);
    }
    let text = String::from_utf8(bytes).map_err(|_| broken())?;
    if text.contains('\0') {
        return Err(AddressError::Invalid("it contains a NUL".to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let one = ServerAddress::parse(
            "postgres://ann%40x@db.example:6000,[::1]/team?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        )
        .unwrap();
        assert_eq!(one.user, "ann@x");
        assert_eq!(
            one.hosts,
            [("db.example".to_owned(), 6000), ("::1".to_owned(), 5432)]
        );
        assert_eq!(one.database, "team");
        assert_eq!(one.ssl_mode, SslMode::VerifyFull);
        assert_eq!(one.root_certificates, Some(PathBuf::from("/etc/ca.pem")));
        let two = ServerAddress::parse("postgresql://bob@/?host=/run/postgresql").unwrap();
        assert_eq!(two.hosts, [("/run/postgresql".to_owned(), 5432)]);
        assert_eq!(two.database, "bob");
        assert_eq!(two.ssl_mode, SslMode::Prefer);
    }

    #[test]
    fn a_password_is_refused_and_never_shown() {
        for text in [
            "postgres://ann:hunter2@db/x",
            "postgres://ann@db/x?password=hunter2",
            "postgres://ann@db/x?%70assword=hunter2",
        ] {
            let refused = ServerAddress::parse(text).unwrap_err();
            assert_eq!(refused, AddressError::Password, "{text}");
            let shown = format!("{refused} {refused:?} {}", refused.hint());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("mysql://a@b/c", "postgres://"),
            ("postgres://db/x", "no user"),
            ("postgres://ann@/x", "no host"),
            ("postgres://ann@db:99999/x", "port"),
            ("postgres://ann@db/x?sslmode=maybe", "sslmode"),
            ("postgres://ann@db/x?colour=red", "'colour'"),
            ("postgres://ann@db/x?connect_timeout=0", "connect_timeout"),
            ("postgres://a%4@db/x", "'%'"),
        ] {
            let refused = ServerAddress::parse(text).unwrap_err().to_string();
            assert!(refused.contains(word), "{text}: {refused}");
        }
    }
}
