//! The way of a request to its endpoint, and the endpoints of a login.

mod admit;
mod asked;
mod login;
mod program;
mod renewal;

pub(crate) use admit::answered;
pub(crate) use login::{
    callback, login_page, logout, me, password_login, providers, start, ws_ticket,
};
