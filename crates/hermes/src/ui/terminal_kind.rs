//! What kind of terminal the person sits at.

use std::io::IsTerminal;

use hermes_config::{Environment, vars};

/// Whether keys can be read and the screen can be drawn on.
pub(crate) fn is_full_terminal(env: &Environment) -> bool {
    let is_capable = env
        .text(&vars::TERM)
        .is_some_and(|kind| !kind.is_empty() && kind != "dumb");
    is_capable && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether the terminal shows UTF-8. Without any locale, as in containers, terminals do.
pub(crate) fn is_utf8(env: &Environment) -> bool {
    let names = [&vars::LC_ALL, &vars::LC_CTYPE, &vars::LANG];
    let locale = names
        .into_iter()
        .find_map(|name| env.text(name).filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
