//! Which hosts may work on a card, as arguments.

use hermes_board::model::Placement;

use super::cards::NAME;
use super::session::BoardSession;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(super) struct PlacementArgs {
    /// Label that the host of the worker must have; can be repeated, then it must have all
    #[arg(long, value_name = "LABEL")]
    host: Vec<String>,
    /// Name of the host that the worker must run on
    #[arg(long, value_name = "NAME")]
    on: Option<String>,
}

impl PlacementArgs {
    pub(super) fn parse(&self) -> Result<Placement> {
        let labels = self.host.iter().map(String::as_str);
        let parsed = Placement::parse(labels, self.on.as_deref());
        Ok(parsed.map_err(hermes_board::Error::from)?)
    }
}

/// Warns that no host is known that could work on such a card; one may still come.
pub(super) fn warn_about_hosts(session: &BoardSession<'_>, placement: &Placement) -> Result<()> {
    if placement.is_anywhere() {
        return Ok(());
    }
    let hosts = session.store.hosts()?;
    let known = |name: &String| hosts.iter().any(|used| used.host.is_called(name));
    if let Some(name) = placement.host.as_ref().filter(|name| !known(name)) {
        session.warn(format!(
            "no host called {} is known yet",
            one_line(name, NAME)
        ))?;
    }
    for label in &placement.labels {
        if !hosts.iter().any(|used| used.host.labels.contains(label)) {
            session.warn(format!("no host is known yet that has the label {label}"))?;
        }
    }
    Ok(())
}
