//! The thread that drives connections, and the clients it uses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_http::{HttpSettings, Scheme, root_cause};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Url};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::exchange::{Exchange, Head, Next, Queue};
use super::redirect;

pub(crate) use reqwest::Method;

/// How long an idle connection is kept: shorter than servers do, so that theirs is never the one
/// that is gone when we write.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Idle connections that are kept, encrypted ones only. A plain one is on this machine or next to
/// it
/// and costs nothing to make, whereas answers in small pieces over a used one meet the delayed
/// acknowledgements of TCP: 40 ms for every answer of a server that does not know better.
const IDLE_CONNECTIONS: usize = 8;

/// How long conversations that begin share a transport. After that the next one makes another, which
/// reads the certificates anew.
const SHARED_FOR: Duration = Duration::from_mins(10);

/// The transport of the conversations that began last.
static SHARED: Mutex<Option<SharedTransport>> = Mutex::new(None);

/// A transport for everybody with the same settings.
struct SharedTransport {
    transport: Arc<Transport>,
    made: Instant,
}

/// A request, whole. Never printed: its headers hold the key.
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

/// Makes requests. Shared by every route of a conversation, and by the conversations of a process: each
/// has a thread, and for encrypted connections all certificates.
pub(crate) struct Transport {
    settings: HttpSettings,
    running: Mutex<Option<Running>>,
}

struct Running {
    handle: Handle,
    plain: Option<Client>,
    encrypted: Option<Client>,
    /// Dropped with the rest, it ends the thread.
    _until: oneshot::Sender<()>,
}

impl Transport {
    pub(crate) fn new(settings: HttpSettings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            running: Mutex::new(None),
        })
    }

    /// The transport that others with these settings use as well.
    pub(crate) fn shared(settings: HttpSettings) -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*shared
            && known.transport.settings == settings
            && known.made.elapsed() < SHARED_FOR
        {
            return Arc::clone(&known.transport);
        }
        let transport = Self::new(settings);
        *shared = Some(SharedTransport {
            transport: Arc::clone(&transport),
            made: Instant::now(),
        });
        transport
    }

    /// Starts a request. What fails here fails before anything was sent.
    pub(crate) fn send(&self, request: HttpRequest) -> Result<Exchange, String> {
        let url = Url::parse(&request.url).map_err(|_| "its address is not a URL".to_owned())?;
        let (handle, client) = self.client_for(&url)?;
        let queue = Queue::new().map_err(|error| format!("out of file descriptors: {error}"))?;
        let queue = Arc::new(queue);
        let headers = header_map(&request.headers)?;
        let driven = drive(client, request, url, headers, Arc::clone(&queue));
        let task = handle.spawn(driven).abort_handle();
        Ok(Exchange {
            queue,
            task: Some((task, handle)),
        })
    }

    /// Forgets all connections: the next request makes a new one.
    pub(crate) fn reset(&self) {
        if let Some(running) = self.lock().as_mut() {
            running.plain = None;
            running.encrypted = None;
        }
    }

    fn client_for(&self, url: &Url) -> Result<(Handle, Client), String> {
        let mut guard = self.lock();
        let running = match guard.take() {
            Some(running) => running,
            None => start()?,
        };
        let running = guard.insert(running);
        let (slot, scheme) = match url.scheme() {
            "https" => (&mut running.encrypted, Scheme::Encrypted),
            "http" => (&mut running.plain, Scheme::Plain),
            other => return Err(format!("an address cannot begin with `{other}:`")),
        };
        let client = match slot {
            Some(client) => client.clone(),
            None => slot.insert(self.build(scheme)?).clone(),
        };
        Ok((running.handle.clone(), client))
    }

    fn build(&self, scheme: Scheme) -> Result<Client, String> {
        let idle_connections = match scheme {
            Scheme::Encrypted => IDLE_CONNECTIONS,
            Scheme::Plain => 0,
        };
        let builder = self.settings.builder(scheme)?;
        self.settings
            .with_proxies(builder)?
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(idle_connections)
            .build()
            .map_err(reason)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start() -> Result<Running, String> {
    let failed = |error: std::io::Error| format!("could not start the network thread: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(failed)?;
    let handle = runtime.handle().clone();
    let (until, ended) = oneshot::channel::<()>();
    std::thread::Builder::new()
        .name("hermes-http".to_owned())
        .stack_size(512 * 1024)
        .spawn(move || {
            // Ends with an error, always: the other side is dropped, never used.
            drop(runtime.block_on(ended));
            runtime.shutdown_background();
        })
        .map_err(failed)?;
    Ok(Running {
        handle,
        plain: None,
        encrypted: None,
        _until: until,
    })
}

fn header_map(headers: &[(&'static str, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the header `{name}` contains invalid characters"))?;
        value.set_sensitive(true);
        map.append(HeaderName::from_static(name), value);
    }
    Ok(map)
}

/// Runs on the network thread.
async fn drive(
    client: Client,
    request: HttpRequest,
    url: Url,
    headers: HeaderMap,
    queue: Arc<Queue>,
) {
    let mut response = match answer(&client, &request, url, &headers).await {
        Ok(response) => response,
        Err(next) => return queue.put(next).await,
    };
    let head = Head {
        status: response.status().as_u16(),
        headers: std::mem::take(response.headers_mut()),
    };
    queue.put(Next::Head(head)).await;
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => queue.put(Next::Chunk(bytes)).await,
            Ok(None) => return queue.put(Next::End).await,
            Err(error) => return queue.put(Next::Failed(reason(error))).await,
        }
    }
}

async fn answer(
    client: &Client,
    request: &HttpRequest,
    mut url: Url,
    headers: &HeaderMap,
) -> Result<reqwest::Response, Next> {
    let method = &request.method;
    for _ in 0..=redirect::MAX_REDIRECTS {
        let sent = client
            .request(method.clone(), url.clone())
            .headers(headers.clone())
            .body(request.body.clone())
            .send();
        let response = sent.await.map_err(|error| Next::Failed(reason(error)))?;
        let location = response.headers().get(LOCATION);
        let status = response.status();
        match location.and_then(|value| value.to_str().ok()) {
            Some(location) if status.is_redirection() => {
                url = redirect::target(&url, method, status.as_u16(), location)
                    .map_err(Next::Redirected)?;
            }
            _ => return Ok(response),
        }
    }
    Err(Next::Redirected("it redirects in a loop".to_owned()))
}

/// What went wrong. Addresses stay out: they may hold a key.
fn reason(error: reqwest::Error) -> String {
    let what = if error.is_connect() {
        "no connection"
    } else if error.is_builder() {
        "the request could not be sent"
    } else {
        "the connection broke"
    };
    format!("{what}: {}", root_cause(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_settings_share_a_transport_and_others_do_not() {
        let settings = HttpSettings {
            no_proxy: Some("transport.test".to_owned()),
            ..HttpSettings::default()
        };
        let first = Transport::shared(settings.clone());
        assert!(Arc::ptr_eq(&first, &Transport::shared(settings.clone())));
        let other = Transport::shared(HttpSettings {
            http_proxy: Some("http://127.0.0.1:9".to_owned()),
            ..settings.clone()
        });
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(!Arc::ptr_eq(&first, &Transport::shared(settings)));
    }
}
