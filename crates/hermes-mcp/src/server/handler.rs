//! What a server may ask of us: to look at its tools again, and, where its settings allow that, a model.
//! Asking a person is refused: it would be at the server's wish and at the user's cost.
#![expect(
    deprecated,
    reason = "the protocol is about to drop sampling; servers that people have today ask for it"
)]

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ErrorCode, ErrorData, Implementation, JsonObject, ProtocolVersion,
    SamplingCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

use crate::sampling::SamplingGate;

/// Our side of a connection.
#[derive(Default)]
pub(crate) struct Handler {
    /// Told when the server has other tools than before.
    pub(super) changed: Arc<Notify>,
    /// `None` if the server may not ask the model.
    pub(super) sampling: Option<Arc<SamplingGate>>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let ours = Implementation::new("hermes", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        capabilities.sampling = self.sampling.as_ref().map(|gate| {
            let mut sampling = SamplingCapability::default();
            sampling.tools = gate.has_tools().then(JsonObject::new);
            sampling
        });
        ClientConfig::new(capabilities, ours)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let Some(gate) = &self.sampling else {
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        };
        let answered = tokio::select! {
            answered = gate.answer(params) => answered,
            () = context.ct.cancelled() => Err("The request was taken back.".to_owned()),
        };
        answered.map_err(|reason| ErrorData::new(ErrorCode(-1), reason, None))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
