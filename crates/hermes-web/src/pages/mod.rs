//! Pages for people: compiled templates, assets under names that change with their content, and the
//! list of pages. A page is an entry of [`PAGES`] with a file of its own.

mod assets;
mod front_end;
mod layout;
mod login;
mod status;

pub(crate) use assets::asset;
pub(crate) use front_end::other_path;
pub(crate) use layout::page_response;
pub(crate) use login::{LoginPage, LoginProvider};

use crate::call::{Answered, Call};

/// One page.
pub(crate) struct Page {
    pub(crate) path: &'static str,
    /// Its name in the navigation.
    pub(crate) label: &'static str,
    pub(crate) render: fn(&Call) -> Answered,
}

/// All pages, in the order of the navigation.
pub(crate) const PAGES: &[Page] = &[Page {
    path: "/",
    label: "Status",
    render: status::status,
}];
