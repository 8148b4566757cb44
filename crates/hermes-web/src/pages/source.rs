//! What pages show, from the API of this process.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use hyper::service::Service as _;
use hyper::{Request, StatusCode};
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shell::Trouble;
use crate::app::App;
use crate::call::Call;
use crate::gate::Visitor;
use crate::shared_reads::Reading;

/// Largest answer that a page reads.
const MOST_BYTES: usize = 64 << 20;

/// The endpoints without the gate: whoever asks for a page has passed it.
static ENDPOINTS: OnceLock<TowerToHyperService<Router>> = OnceLock::new();

fn endpoints(app: &App) -> &'static TowerToHyperService<Router> {
    ENDPOINTS.get_or_init(|| {
        let mut router = Router::new();
        for route in app.routes {
            router = router.route(route.path, (route.endpoint)(route.verb));
        }
        TowerToHyperService::new(router)
    })
}

/// Asks the API in the name of a visitor.
pub(super) struct Source {
    app: Arc<App>,
    visitor: Visitor,
}

impl Source {
    pub(super) fn of(call: &Call) -> Self {
        Self {
            app: Arc::clone(&call.app),
            visitor: call.visitor.clone(),
        }
    }

    /// What the API answers, or what is wrong.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        parsed(path, self.read(path).await?)
    }

    /// The same for what many ask for at once.
    pub(super) async fn get_shared<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        let reading = self.app.reads.read(path, || self.read(path)).await?;
        parsed(path, reading)
    }

    async fn read(&self, path: &str) -> Result<Reading, Trouble> {
        let request = Request::get(path).body(Body::empty());
        let mut request = request.map_err(|_| unreadable())?;
        request.extensions_mut().insert(Arc::clone(&self.app));
        request.extensions_mut().insert(self.visitor.clone());
        let answered: Result<Response, Infallible> = endpoints(&self.app).call(request).await;
        let response = match answered {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_BYTES)
            .collect()
            .await;
        let body = body.map_err(|error| {
            tracing::error!(path, %error, "a page cannot read what the API answers");
            unreadable()
        })?;
        Ok((status, body.to_bytes()))
    }
}

fn parsed<T: DeserializeOwned>(path: &str, (status, body): Reading) -> Result<T, Trouble> {
    if status.is_success() {
        return serde_json::from_slice(&body).map_err(|error| {
            tracing::error!(path, %error, "a page cannot read what the API answers");
            unreadable()
        });
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let detail = answer["detail"].as_str().unwrap_or_default();
    Err(refused(status, detail))
}

fn unreadable() -> Trouble {
    Trouble {
        title: "This page could not be made".to_owned(),
        detail: "The answer of the API could not be read.".to_owned(),
        hint: Some("The reason is in the log: hermes logs gui".to_owned()),
    }
}

fn refused(status: StatusCode, detail: &str) -> Trouble {
    let title = match status {
        StatusCode::NOT_FOUND => "There is no such thing",
        StatusCode::CONFLICT => "This is not possible now",
        StatusCode::SERVICE_UNAVAILABLE => "This cannot be read now",
        _ => "This could not be read",
    };
    let shown = if detail.is_empty() {
        format!("The API answered {}.", status.as_u16())
    } else {
        detail.to_owned()
    };
    Trouble {
        title: title.to_owned(),
        detail: shown,
        hint: (status.is_server_error()).then(|| hint(detail).to_owned()),
    }
}

/// What to do about a failure.
fn hint(detail: &str) -> &'static str {
    if detail.contains("keeps it locked") {
        "Another program is working on this file. Load the page again in a moment; if that does not \
         help, `fuser -v` with the path of the file names the program, to be waited for or ended."
    } else {
        "Look at it with `hermes doctor`; the log has more: `hermes logs gui`."
    }
}
