//! Where the dashboard listens, who may ask, and whether it may start at all. Decided once, before
//! there is a socket.

use std::net::IpAddr;
use std::path::PathBuf;

use hermes_config::{Config, vars};
use hermes_runtime::Context;
use hermes_secret::SecretString;

use crate::gate::{
    DrainSecret, GateSettings, LoginSettings, Mode, PasswordSettings, RemoteSettings,
    TrustedProxies, WebAddress,
};

const DEFAULT_HOST: &str = "127.0.0.1";
/// All addresses of a container.
const EVERYWHERE: &str = "0.0.0.0";
const DEFAULT_PORT: u16 = 9119;
/// Exit code of a configuration that no second try can mend.
const CONFIGURATION: u8 = 78;

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct DashboardOptions {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub insecure: bool,
    pub chat: bool,
    /// Whether the container image runs it: others are meant to reach it, if they can log in.
    pub in_image: bool,
}

/// A dashboard as it is to run.
#[derive(Debug)]
pub struct DashboardSettings {
    pub(crate) gate: GateSettings,
    pub(crate) port: u16,
    /// A front-end of another build.
    pub(crate) web_dist: Option<PathBuf>,
    /// Whether the chat in a terminal is offered.
    pub(crate) has_chat: bool,
    warnings: Vec<String>,
}

/// Why a dashboard may not start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Others could reach it, and nothing would ask who they are.
    #[error("the dashboard would listen on {host} without asking anybody to log in")]
    NoGate { host: String },
    /// A variable has a value that means nothing.
    #[error("{name} is {value}, which is not a port")]
    Port { name: &'static str, value: String },
    /// A provider of logins cannot work as it is configured.
    #[error("the login {provider} cannot be used: {reason}")]
    Provider {
        provider: &'static str,
        reason: String,
    },
}

impl SettingsError {
    /// The exit code: a supervisor need not try again.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoGate { .. } | Self::Provider { .. } => CONFIGURATION,
            Self::Port { .. } => 2,
        }
    }

    /// What to do about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoGate { .. } => vec![
                "for a password set HERMES_DASHBOARD_BASIC_AUTH_USERNAME and \
                 HERMES_DASHBOARD_BASIC_AUTH_PASSWORD (or dashboard.basic_auth.username and \
                 .password_hash)"
                    .to_owned(),
                "for OpenID Connect set HERMES_DASHBOARD_OIDC_ISSUER and \
                 HERMES_DASHBOARD_OIDC_CLIENT_ID"
                    .to_owned(),
                "for the Nous portal set HERMES_DASHBOARD_OAUTH_CLIENT_ID".to_owned(),
                "without any of them use --host 127.0.0.1, or --insecure where the network is yours \
                 alone"
                    .to_owned(),
            ],
            Self::Port { .. } => vec!["a port is a number from 0 to 65535".to_owned()],
            Self::Provider { .. } => Vec::new(),
        }
    }
}

impl DashboardSettings {
    /// Combines flags, variables and settings.
    pub fn resolve(context: &Context, options: &DashboardOptions) -> Result<Self, SettingsError> {
        let env = &context.env;
        let config = context.config();
        let mut warnings = Vec::new();
        let host = options
            .host
            .as_deref()
            .or_else(|| env.text(&vars::HERMES_DASHBOARD_HOST));
        let logins = logins(config)?;
        let is_insecure = options.insecure || says_yes(env.text(&vars::HERMES_DASHBOARD_INSECURE));
        let host = match host {
            Some(host) => host.trim().to_owned(),
            None if options.in_image && (is_insecure || !logins.is_empty()) => {
                EVERYWHERE.to_owned()
            }
            None => {
                if options.in_image {
                    warnings.push(format!(
                        "no login is configured, so the dashboard listens on {DEFAULT_HOST} only, \
                         which nobody outside of the container reaches"
                    ));
                }
                DEFAULT_HOST.to_owned()
            }
        };
        let port = match (options.port, env.text(&vars::HERMES_DASHBOARD_PORT)) {
            (Some(port), _) => port,
            (None, Some(word)) => word.parse().map_err(|_| SettingsError::Port {
                name: vars::HERMES_DASHBOARD_PORT.name,
                value: hermes_text::shown(word, 80),
            })?,
            (None, None) => DEFAULT_PORT,
        };
        let mode = match (is_loopback(&host), is_insecure) {
            (true, _) => Mode::Local,
            (false, true) => {
                warnings.push(format!(
                    "--insecure: anybody who reaches {host} can read and change everything here"
                ));
                let full = says_yes(env.text(&vars::HERMES_DASHBOARD_INSECURE_FULL));
                Mode::Open { full }
            }
            (false, false) if logins.is_empty() => return Err(SettingsError::NoGate { host }),
            (false, false) => Mode::Gated,
        };
        let public_url = public_url(config, &mut warnings);
        let extra_hosts = match env.text(&vars::HERMES_DASHBOARD_EXTRA_HOSTS) {
            Some(names) => vec![names],
            None => config.texts("dashboard.extra_hosts"),
        };
        let extra_hosts = extra_hosts.into_iter().flat_map(|names| names.split(','));
        let extra_hosts = extra_hosts.map(|name| name.trim().to_lowercase());
        let proxies = config.texts("dashboard.trusted_proxies");
        let token = env
            .text(&vars::HERMES_DASHBOARD_SESSION_TOKEN)
            .map_or_else(|| hermes_fs::random_hex(64), str::to_owned);
        let drain_secret = drain_secret(context, &mut warnings);
        Ok(Self {
            gate: GateSettings {
                host,
                mode,
                token: SecretString::new(token),
                logins,
                drain_secret,
                public_url,
                extra_hosts: extra_hosts.filter(|name| !name.is_empty()).collect(),
                proxies: TrustedProxies::parse(&proxies, &mut warnings),
            },
            port,
            web_dist: env.os(&vars::HERMES_WEB_DIST).map(PathBuf::from),
            has_chat: options.chat || env.flag(&vars::HERMES_DASHBOARD_TUI),
            warnings,
        })
    }

    /// What whoever starts the dashboard must know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// `1`, `true` or `yes`; everything else means no.
fn says_yes(word: Option<&str>) -> bool {
    let yes = ["1", "true", "yes"];
    word.is_some_and(|word| yes.iter().any(|yes| word.eq_ignore_ascii_case(yes)))
}

/// Whether only this machine reaches the address. Addresses of private networks are not it.
fn is_loopback(host: &str) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

fn public_url(config: &Config, warnings: &mut Vec<String>) -> Option<WebAddress> {
    let text = config.text("dashboard.public_url");
    if text.is_empty() {
        return None;
    }
    let address = WebAddress::parse(text);
    if address.is_none() {
        warnings.push(format!(
            "dashboard.public_url is {}, which is not an address of the web; it is ignored",
            hermes_text::shown(text, 80)
        ));
    }
    address
}

/// The secret of a service that may let the gateway take no new work.
fn drain_secret(context: &Context, warnings: &mut Vec<String>) -> Option<DrainSecret> {
    let variable = &vars::HERMES_DASHBOARD_DRAIN_SECRET;
    let secret = SecretString::new(context.env.text(variable)?);
    let taken = DrainSecret::new(&secret);
    taken
        .map_err(|reason| {
            warnings.push(format!("{} is not used: {reason}", variable.name));
        })
        .ok()
}

/// The ways to log in that are configured.
fn logins(config: &Config) -> Result<LoginSettings, SettingsError> {
    let text = |key: &str| Some(config.text(key).trim().to_owned()).filter(|text| !text.is_empty());
    let secret = |key: &str| text(key).map(SecretString::new);
    let mut logins = LoginSettings {
        signing_key: secret("dashboard.basic_auth.secret"),
        ..LoginSettings::default()
    };
    if let Some(username) = text("dashboard.basic_auth.username") {
        let hash = secret("dashboard.basic_auth.password_hash");
        let plain = secret("dashboard.basic_auth.password");
        let failed = |reason: String| SettingsError::Provider {
            provider: "basic",
            reason,
        };
        if hash.is_some() || plain.is_some() {
            let seconds = config.int("dashboard.basic_auth.session_ttl_seconds");
            let password = PasswordSettings::new(username, hash, plain, seconds).map_err(failed)?;
            logins.password = Some(password);
        }
    }
    if let Some(client) = text("dashboard.oauth.client_id") {
        let nous = RemoteSettings::nous(&client, text("dashboard.oauth.portal_url").as_deref())
            .map_err(|reason| SettingsError::Provider {
                provider: "nous",
                reason,
            })?;
        logins.remote.push(nous);
    }
    let issuer = text("dashboard.oauth.self_hosted.issuer");
    let client = text("dashboard.oauth.self_hosted.client_id");
    if let (Some(issuer), Some(client)) = (issuer, client) {
        let mut oidc = RemoteSettings::oidc(
            &issuer,
            &client,
            text("dashboard.oauth.self_hosted.scopes").as_deref(),
        )
        .map_err(|reason| SettingsError::Provider {
            provider: "self-hosted",
            reason,
        })?;
        oidc.client_secret = secret("dashboard.oauth.self_hosted.client_secret");
        logins.remote.push(oidc);
    }
    Ok(logins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for own in [
            "127.0.0.1",
            "localhost",
            "LOCALHOST",
            "::1",
            "[::1]",
            "127.1.2.3",
        ] {
            assert!(is_loopback(own), "{own}");
        }
        let others = [
            "0.0.0.0",
            "::",
            "10.0.0.1",
            "192.168.1.2",
            "100.64.0.1",
            "169.254.1.1",
            "fe80::1",
            "localhost.evil.com",
            "",
        ];
        for other in others {
            assert!(!is_loopback(other), "{other}");
        }
    }

    #[test]
    fn only_three_words_mean_yes() {
        for yes in ["1", "true", "YES"] {
            assert!(says_yes(Some(yes)), "{yes}");
        }
        for no in ["0", "on", "no", "false", "2", ""] {
            assert!(!says_yes(Some(no)), "{no}");
        }
        assert!(!says_yes(None));
    }
}
