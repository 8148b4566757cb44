//! The page on which people log in, and the one for those who cannot come in.

use askama::Template;

use super::assets;
use super::shown::segment;

/// A way to log in.
pub(crate) struct LoginProvider {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
}

#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct LoginPage {
    pub(crate) prefix: String,
    pub(crate) next: String,
    pub(crate) has_password: bool,
    pub(crate) providers: Vec<LoginProvider>,
    /// Whether anybody has to.
    pub(crate) is_needed: bool,
}

impl LoginPage {
    fn assets(&self) -> String {
        assets::directory(&self.prefix)
    }

    fn next_query(&self) -> String {
        segment(&self.next)
    }
}

/// What somebody sees who is no person. It has nothing of the other pages, not even their look.
#[derive(Template)]
#[template(path = "refused.html")]
pub(crate) struct RefusedPage<'a> {
    pub(crate) message: &'a str,
}
