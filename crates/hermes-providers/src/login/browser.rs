//! A login in the browser: a page of the provider, which sends the browser back to a port of this
//! machine with a code. The code is of use only to who knows the verifier of its challenge.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::{Wake, first_readable};
use hermes_secret::SecretString;
use reqwest::Url;
use serde_json::json;

use super::client::{LoginClient, form};
use super::pkce::Pkce;
use super::{LoginConnection, LoginError};

/// The port that the provider's documentation names; another one if it is taken.
const USUAL_PORT: u16 = 3000;
/// How long the person may take in the browser.
const LIMIT: Duration = Duration::from_mins(10);
/// How long a browser may take to send its request.
const READ_LIMIT: Duration = Duration::from_secs(5);
/// Longest request line that is read.
const MAX_REQUEST: usize = 16 * 1024;

/// A login at OpenRouter, which gives a key.
#[derive(Debug, Clone)]
pub struct BrowserLogin {
    /// Address of the API, whose host has the page as well.
    pub base_url: String,
    /// Address of the host with the page, if it is another.
    pub page_host: Option<String>,
    pub connection: LoginConnection,
}

impl BrowserLogin {
    /// Waits for the browser to come back. `show` gets the page to open.
    pub fn run(
        &self,
        config: &Config,
        interrupt: &Wake,
        show: &mut dyn FnMut(&str),
    ) -> Result<SecretString, LoginError> {
        let client = LoginClient::new(config, &self.connection, &self.base_url)?;
        let listener = listen().map_err(|error| LoginError::NoPort(error.to_string()))?;
        let port = listener.local_addr().map_or(0, |address| address.port());
        // Nobody but the provider's page knows the path.
        let path = format!("/callback/{}", hermes_fs::random_hex(32));
        let pkce = Pkce::new();
        let query = form(&[
            ("callback_url", &format!("http://localhost:{port}{path}")),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
        ]);
        show(&format!("{}/auth?{query}", self.page_root()?));
        let code = wait_for_code(&listener, &path, interrupt, Instant::now() + LIMIT)?;
        let body = json!({
            "code": code, "code_verifier": pkce.verifier, "code_challenge_method": "S256",
        });
        let answer = client.post_json("/auth/keys", &body)?;
        if answer.status != 200 {
            return Err(client.refused(&answer));
        }
        let key = answer.value["key"].as_str().filter(|key| !key.is_empty());
        key.map(SecretString::from)
            .ok_or_else(|| client.incomplete("a key"))
    }

    /// Scheme, host and port of the page.
    fn page_root(&self) -> Result<String, LoginError> {
        let url = self.page_host.as_ref().unwrap_or(&self.base_url);
        let parsed = Url::parse(url).map_err(|_| LoginError::Address(url.clone()))?;
        Ok(parsed.origin().ascii_serialization())
    }
}

fn listen() -> std::io::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", USUAL_PORT)).or_else(|_| TcpListener::bind(("127.0.0.1", 0)))
}

fn wait_for_code(
    listener: &TcpListener,
    path: &str,
    interrupt: &Wake,
    deadline: Instant,
) -> Result<String, LoginError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match first_readable(&[interrupt.as_fd(), listener.as_fd()], Some(left)) {
            Ok(Some(1)) => {}
            Ok(Some(_)) => return Err(LoginError::Interrupted),
            Ok(None) => return Err(LoginError::NobodyCame),
            Err(error) => return Err(LoginError::NoPort(error.to_string())),
        }
        // A connection that breaks is not the one that is waited for.
        let Ok((stream, _)) = listener.accept() else {
            continue;
        };
        if let Some(result) = serve(stream, path) {
            return result;
        }
    }
}

/// Answers one request; `None` if it is not the one that is waited for.
fn serve(mut stream: TcpStream, path: &str) -> Option<Result<String, LoginError>> {
    let target = request_target(&mut stream)?;
    let url = Url::parse("http://localhost").ok()?.join(&target).ok()?;
    if url.path() != path {
        respond(&mut stream, 404, "There is nothing here.");
        return None;
    }
    let find = |name: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.into_owned())
    };
    if let Some(code) = find("code") {
        respond(
            &mut stream,
            200,
            "Logged in. You can close this page and go back to the terminal.",
        );
        return Some(Ok(code));
    }
    respond(&mut stream, 200, "Not logged in. You can close this page.");
    Some(Err(LoginError::Denied))
}

/// The target of a GET request.
fn request_target(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(READ_LIMIT)).ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).ok()?;
        bytes.extend_from_slice(chunk.get(..count)?);
        if count == 0 || bytes.len() > MAX_REQUEST {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next()?.split_whitespace();
    (words.next()? == "GET").then(|| words.next().map(str::to_owned))?
}

fn respond(stream: &mut TcpStream, status: u16, sentence: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Hermes</title><p>{sentence}</p>");
    let text = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that has gone has seen enough.
    drop(stream.write_all(text.as_bytes()));
}
