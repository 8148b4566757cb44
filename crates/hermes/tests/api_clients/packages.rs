//! The clients and their versions.

use hermes_testkit::{NodePackage, PythonPackages};

const OPENAI: &str = "3.51.0";
const AGENTS: &str = "0.24.0";
const OPENAI_NODE: &str = "7.55.0";
const LITELLM: &str = "1.106.2";
/// The frameworks below the proxy, which names no versions of them.
const BELOW_LITELLM: [&str; 3] = ["fastapi==0.162.7", "starlette==1.10.0", "uvicorn==0.54.0"];
const SCHEMATHESIS: &str = "4.32.5";

/// OpenAI's SDK and the agent framework on top of it.
pub(crate) fn openai() -> PythonPackages {
    PythonPackages::install(
        &format!("openai-{OPENAI}-agents-{AGENTS}"),
        &[
            &format!("openai=={OPENAI}"),
            &format!("openai-agents=={AGENTS}"),
        ],
    )
}

pub(crate) fn openai_node() -> NodePackage {
    NodePackage::install(
        &format!("openai-node-{OPENAI_NODE}"),
        &format!("openai@{OPENAI_NODE}"),
    )
}

/// The proxy, which brings an SDK of its own.
pub(crate) fn litellm() -> PythonPackages {
    let package = format!("litellm[proxy]=={LITELLM}");
    let packages: Vec<&str> = [package.as_str()]
        .into_iter()
        .chain(BELOW_LITELLM)
        .collect();
    PythonPackages::install(&format!("litellm-{LITELLM}"), &packages)
}

pub(crate) fn schemathesis() -> PythonPackages {
    PythonPackages::install(
        &format!("schemathesis-{SCHEMATHESIS}"),
        &[&format!("schemathesis=={SCHEMATHESIS}")],
    )
}
