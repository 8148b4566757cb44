//! A gateway elsewhere, in another container: `GATEWAY_HEALTH_URL` says where its health is asked for.
//! Only looked at when none runs here, and once for all who ask within a moment.

use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_http::{HttpSettings, Scheme};
use hermes_runtime::Context;
use serde_json::Value;

const USUAL_SECONDS: f64 = 3.0;
const MOST_SECONDS: f64 = 30.0;
/// Largest answer.
const MAX_BYTES: usize = 64 << 10;
/// How long an answer counts.
const FRESH: Duration = Duration::from_secs(2);

/// What the gateway said last, and when.
#[derive(Debug, Default)]
pub(crate) struct RemoteGateway(tokio::sync::Mutex<Option<(Instant, Option<Value>)>>);

/// The address without the path of a check.
pub(crate) fn address(context: &Context) -> Option<String> {
    let given = context.env.text(&vars::GATEWAY_HEALTH_URL)?.trim();
    let base = given.trim_end_matches('/');
    let base = base.strip_suffix("/detailed").unwrap_or(base);
    let base = base.strip_suffix("/health").unwrap_or(base);
    Some(base.to_owned()).filter(|base| !base.is_empty())
}

impl RemoteGateway {
    /// What a gateway elsewhere says of itself; `None` if there is none, or it does not answer.
    pub(crate) async fn health(&self, context: &Context) -> Option<Value> {
        let base = address(context)?;
        let mut latest = self.0.lock().await;
        if let Some((at, said)) = &*latest
            && at.elapsed() < FRESH
        {
            return said.clone();
        }
        let said = ask(context, &base).await;
        *latest = Some((Instant::now(), said.clone()));
        said
    }
}

async fn ask(context: &Context, base: &str) -> Option<Value> {
    let scheme = if base.starts_with("https:") {
        Scheme::Encrypted
    } else {
        Scheme::Plain
    };
    let seconds = context.env.text(&vars::GATEWAY_HEALTH_TIMEOUT);
    let seconds = seconds.and_then(|text| text.trim().parse().ok());
    let seconds: f64 = seconds
        .filter(|seconds| *seconds > 0.0)
        .unwrap_or(USUAL_SECONDS);
    let http = HttpSettings::resolve(context.config());
    let client = http
        .builder(scheme)
        .and_then(|builder| http.with_proxies(builder))
        .ok()?
        .timeout(Duration::from_secs_f64(seconds.min(MOST_SECONDS)))
        .build()
        .ok()?;
    for path in ["/health/detailed", "/health"] {
        let answer = client.get(format!("{base}{path}")).send().await;
        let Ok(answer) = answer else { continue };
        if !answer.status().is_success() {
            continue;
        }
        // Whatever it says: it answers.
        let bytes = hermes_http::read_body(answer, MAX_BYTES).await;
        let bytes = bytes.unwrap_or_default();
        return Some(serde_json::from_slice(&bytes).unwrap_or(Value::Null));
    }
    tracing::debug!("no gateway answers at GATEWAY_HEALTH_URL");
    None
}
