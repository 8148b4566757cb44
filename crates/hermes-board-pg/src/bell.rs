//! Tells when a board on a server changes: at once if the server says so, and after a while if it does
//! not, because what it says can get lost.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::address::ServerAddress;
use crate::board_address::BoardAddress;
use crate::driver;
use crate::error::{Error, Result};
use crate::raw::{Raw, last_row};

/// How often the number of the last change is read.
const POLL: Duration = Duration::from_secs(2);
/// Pause after a connection failed.
const RETRY: Duration = Duration::from_secs(1);

type Key = (ServerAddress, String, String);

static HEARD: Mutex<Option<HashSet<Key>>> = Mutex::new(None);

/// Calls `ring` whenever the board may have changed, as long as this process lives. `name` tells
/// listeners apart: a second one of the same name changes nothing. `ring` must not wait.
pub fn listen(
    place: &BoardAddress,
    name: &str,
    ring: impl Fn() + Send + Sync + 'static,
) -> std::io::Result<()> {
    let key = (place.address.clone(), place.schema.clone(), name.to_owned());
    let is_new = {
        let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get_or_insert_default().insert(key)
    };
    if is_new {
        let place = place.clone();
        driver::handle()?.spawn(async move {
            let mut version = None;
            loop {
                if let Err(error) = hear(&place, &mut version, &ring).await {
                    tracing::debug!(%error, "the signals of a board are not heard");
                }
                // Once the server is back, somebody has to look.
                version = None;
                tokio::time::sleep(RETRY).await;
            }
        });
    }
    Ok(())
}

/// Listens until the connection fails.
async fn hear(
    place: &BoardAddress,
    version: &mut Option<String>,
    ring: &(impl Fn() + Send + Sync + 'static),
) -> Result<()> {
    let (raw, mut signals) = Raw::connect_async(&place.address, &place.passwords).await?;
    let failed = |error: tokio_postgres::Error| Error::of_statement(&place.address, &error);
    let schema = &place.schema;
    let listening = format!("LISTEN \"{schema}\"");
    raw.client.batch_execute(&listening).await.map_err(failed)?;
    let asked = format!("SELECT version FROM \"{schema}\".hermes_board");
    loop {
        let answer = tokio::time::timeout(POLL * 5, raw.client.simple_query(&asked));
        let answer = answer.await.map_err(|_| Error::Lost {
            place: place.address.place(),
            detail: "no answer".to_owned(),
        })?;
        let now = last_row(answer.map_err(failed)?)
            .into_iter()
            .next()
            .flatten();
        if *version != now {
            *version = now;
            ring();
        }
        match tokio::time::timeout(POLL, signals.recv()).await {
            Ok(Some(())) | Err(_) => {}
            Ok(None) => {
                return Err(Error::Lost {
                    place: place.address.place(),
                    detail: "the server closed it".to_owned(),
                });
            }
        }
    }
}
