//! What a server may ask of us: to look at its tools again. Asking a model or a person is refused:
//! both would be at the server's wish and at the user's cost.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

/// Our side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Handler {
    /// Told when the server has other tools than before.
    pub(super) changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let ours = Implementation::new("hermes", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), ours)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
