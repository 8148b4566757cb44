//! A route of requests: address, wire format, limits and timeouts.

mod api_mode;
mod copilot;
mod host;
mod settings;

pub(crate) use api_mode::ApiMode;
pub(crate) use copilot::{program_header, turn_headers};
pub(crate) use host::{host_of, is_azure, is_host, is_local, vendor_variable};
pub(crate) use settings::{Address, EffortStyle, Route, Timeouts};
