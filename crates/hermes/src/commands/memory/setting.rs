//! Writing a setting or a key.

use hermes_config::settings::{SetRequest, set};

use crate::context::Context;
use crate::error::Result;

/// Writes one.
pub(super) fn write(key: &str, value: &str, context: &Context) -> Result<()> {
    context.ensure_home()?;
    let request = SetRequest {
        key,
        value,
        force: false,
    };
    set(&context.sources_to_write(), &request)?;
    Ok(())
}
