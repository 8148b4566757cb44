//! The sections of `config.yaml`, by area.

/// Declares sections the way `vars!` declares variables: what a setting is for stands above it.
macro_rules! sections {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal open = $open:literal {
            $($(#[doc = $key_doc:literal])+ $path:literal: $key:expr;)+
        }
    )+) => {
        pub(super) static SECTIONS: &[crate::schema::Section] = &[$(crate::schema::Section {
            name: $name,
            doc: concat!($($doc),+).trim_ascii(),
            keys: &[$($key.named($path, concat!($($key_doc),+).trim_ascii())),+],
            open: $open,
        }),+];
    };
}

mod agent;
mod gateway;
mod limits;
mod open;
mod safety;
mod scalars;
mod state;
mod surface;
mod terminal;

use super::key::Section;

/// Every section, in the order of the reference page: first those whose settings are ours.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    [
        agent::SECTIONS,
        terminal::SECTIONS,
        gateway::SECTIONS,
        safety::SECTIONS,
        state::SECTIONS,
        surface::SECTIONS,
        limits::SECTIONS,
        scalars::SECTIONS,
        open::SECTIONS,
    ]
    .into_iter()
    .flatten()
}
