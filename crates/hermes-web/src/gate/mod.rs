//! Who may ask: hosts and origins, the token of this machine, logins, sessions, tickets, limits and the
//! log of all that. `admission` puts it together.

mod audit;
mod cookies;
mod drain_secret;
mod forwarded;
mod headers;
mod hosts;
mod limits;
mod next;
mod password;
mod remote;
mod sessions;
mod settings;
mod state;
mod tickets;
mod visitor;
mod web_address;

pub(crate) use audit::{Entry, Event};
pub(crate) use cookies::{ALL as ALL_COOKIES, Cookie};
pub(crate) use drain_secret::{DRAIN_PATH, DrainSecret};
pub(crate) use forwarded::TrustedProxies;
pub(crate) use headers::secure;
pub(crate) use next::safe_next;
pub(crate) use password::PasswordSettings;
pub(crate) use remote::{LoginFailure, PendingLogin, RemoteSettings};
pub(crate) use sessions::{Identity, Purpose};
pub(crate) use settings::{GateSettings, LoginSettings, Mode, PASSWORD};
pub(crate) use state::Gate;
pub(crate) use tickets::LIFETIME as TICKET_LIFETIME;
pub(crate) use visitor::{Access, Visitor};
pub(crate) use web_address::WebAddress;
