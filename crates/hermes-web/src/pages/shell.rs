//! What all pages have around them.

/// A page in the navigation.
pub(crate) struct NavItem {
    /// Its path without the slash, also the name of its icon.
    pub(crate) page: &'static str,
    pub(crate) label: &'static str,
    /// What goes to it after `g`.
    pub(crate) key: &'static str,
}

/// Every page, in order. The first four have a place of their own on a small screen.
pub(crate) const NAV: &[NavItem] = &[
    item("board", "Board", "b"),
    item("chat", "Chat", "c"),
    item("sessions", "Sessions", "s"),
    item("status", "Status", "t"),
    item("logs", "Logs", "l"),
    item("usage", "Usage", "u"),
    item("cron", "Cron", "r"),
    item("skills", "Skills and tools", "k"),
    item("profiles", "Profiles", "p"),
    item("config", "Config", "o"),
    item("keys", "Keys", "e"),
];

const fn item(page: &'static str, label: &'static str, key: &'static str) -> NavItem {
    NavItem { page, label, key }
}

/// Pages with a place of their own on a small screen.
const FIRST: usize = 4;

/// The frame of a page.
pub(crate) struct Shell {
    pub(crate) title: String,
    /// Its place in the navigation.
    pub(crate) page: &'static str,
    /// What stands before every path, if a proxy puts the dashboard below one.
    pub(crate) base: String,
    /// Where the assets of this build are.
    pub(crate) assets: String,
    /// The token of this process, in a page that only this machine can ask for; else empty.
    pub(crate) token: String,
    /// Who is signed in.
    pub(crate) user: Option<String>,
    pub(crate) insecure: bool,
    pub(crate) profile: String,
    pub(crate) version: &'static str,
    /// The script of the page.
    pub(crate) module: Option<&'static str>,
    /// Classes of the content.
    pub(crate) body: &'static str,
    /// The last event of the board that the page shows.
    pub(crate) events: Option<i64>,
    pub(crate) board: Option<String>,
    /// After how many seconds the page looks again.
    pub(crate) refresh: Option<u32>,
    pub(crate) nav: &'static [NavItem],
}

impl Shell {
    pub(crate) fn is_live(&self) -> bool {
        self.events.is_some() || self.refresh.is_some()
    }

    pub(crate) fn first_nav(&self) -> &'static [NavItem] {
        self.nav.get(..FIRST).unwrap_or(self.nav)
    }

    pub(crate) fn other_nav(&self) -> &'static [NavItem] {
        self.nav.get(FIRST..).unwrap_or_default()
    }
}

/// What is wrong with a page, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
}
