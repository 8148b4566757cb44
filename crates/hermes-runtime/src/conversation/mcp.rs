//! MCP servers of a conversation that goes on: their tools change, and so do the settings.

use std::sync::Arc;

use hermes_config::Config;

use super::Conversation;
use crate::error::Result;
use crate::mcp::McpOffer;
use crate::opening::offered_tools;

impl Conversation {
    /// Offers what servers have now, if that is something else than before the last turn, or the
    /// settings name other servers.
    pub(super) fn follow_mcp_servers(&mut self) {
        let context = &self.context;
        let follows = context.config().flag("mcp.auto_reload_on_config_change");
        if follows && !self.tools.mcp.settings_are_current(context) {
            self.person
                .notify("The MCP servers of the settings have changed.");
            if let Err(error) = self.read_mcp_settings() {
                self.person.warn(&error.to_string(), None);
            }
            return;
        }
        self.tools.mcp.ask_again(context);
        if !self.tools.mcp.is_current(context) {
            let offer = self.tools.mcp.looked_at_again(context);
            if let Err(error) = self.offer_tools_of(offer) {
                self.person.warn(&error.to_string(), None);
            }
        }
    }

    /// Reads the settings of servers again, tries those that failed, and offers the tools of all.
    /// Returns how many servers there are, and how many tools they have.
    pub fn reload_mcp_servers(&mut self) -> Result<(usize, usize)> {
        for server in &self.tools.mcp.servers {
            server.forget_failures();
        }
        self.read_mcp_settings()
    }

    /// Reads the settings of servers again, starts none that need not be, and offers their tools.
    fn read_mcp_settings(&mut self) -> Result<(usize, usize)> {
        let config = Config::load_read_only(&self.context.sources());
        let redactor = Arc::clone(&self.agent.context().redactor);
        let offer = McpOffer::of_settings(&config, &self.context, &redactor);
        offer.tell(&*self.person);
        let servers = offer.servers.len();
        let tools = self.offer_tools_of(offer)?;
        Ok((servers, tools))
    }

    fn offer_tools_of(&mut self, offer: McpOffer) -> Result<usize> {
        let mut registry = self.tools.registry.without_servers();
        self.tools.plugins.add_new_to(&mut registry, &self.context);
        let own = registry.iter().count();
        offer.add_to(&mut registry, &self.context);
        let all = registry.iter().count();
        self.tools.registry = Arc::new(registry);
        self.tools.mcp = offer;
        let mut call = self.agent.context().clone();
        call.registry = Arc::clone(&self.tools.registry);
        let window = self.agent.provider().route().context_length;
        let tools = offered_tools(
            &mut call,
            &self.request,
            &self.tools,
            window,
            &self.context,
            &*self.person,
        )?;
        self.agent.change_tools(call, tools);
        Ok(all - own)
    }
}
