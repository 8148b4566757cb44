//! Tools of a memory service, as the model calls them.

use std::sync::Arc;

use hermes_memory::MemoryService;
use serde_json::Value;

use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

/// A tool of a memory service.
pub struct MemoryServiceTool {
    service: Arc<MemoryService>,
    index: usize,
}

impl MemoryServiceTool {
    /// All tools that a service has.
    pub fn of(service: &Arc<MemoryService>) -> Vec<Arc<dyn Tool>> {
        let tools = (0..service.tools().len()).map(|index| {
            let tool: Arc<dyn Tool> = Arc::new(Self {
                service: Arc::clone(service),
                index,
            });
            tool
        });
        tools.collect()
    }
}

impl Tool for MemoryServiceTool {
    fn spec(&self) -> ToolSpec<'_> {
        let Some(tool) = self.service.tools().get(self.index) else {
            return ToolSpec::DEFAULT;
        };
        ToolSpec {
            name: tool.name,
            toolset: "memory",
            description: tool.description,
            given_schema: Some(&tool.schema),
            reach: if tool.only_reads {
                ToolReach::ReadOnly
            } else {
                ToolReach::Anything
            },
            ..ToolSpec::DEFAULT
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let name = self.spec().name;
        self.service.call(name, args, &context.interrupt)
    }
}
