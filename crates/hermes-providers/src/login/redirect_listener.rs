//! The port of this machine that a browser is sent back to, with a code for who began the login.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use hermes_proc::{Wake, first_readable};
use hermes_text::one_line;
use reqwest::Url;

use super::LoginError;

/// How long a browser may take to send its request.
const READ_LIMIT: Duration = Duration::from_secs(5);
/// Longest request, or line that is typed, that is read.
const MAX_REQUEST: usize = 16 * 1024;

/// What the page of a server says that the person has declined.
const DECLINED: &str = "access_denied";
/// Characters of what a page reports.
const MESSAGE: usize = 300;

/// A port that waits for a browser.
pub(super) struct RedirectListener {
    listener: TcpListener,
}

/// Which request is the awaited one, and for how long.
pub(super) struct AwaitedRedirect<'a> {
    pub(super) paths: &'a [&'a str],
    /// What the request has to repeat, so that no other page can send one.
    pub(super) state: Option<&'a str>,
    pub(super) interrupt: &'a Wake,
    pub(super) deadline: Instant,
}

/// A terminal at which the address can be typed that a browser elsewhere was sent to.
pub(super) struct TypedAddress<'a> {
    pub(super) input: BorrowedFd<'a>,
    /// Told of a line that is no such address.
    pub(super) refused: &'a mut dyn FnMut(),
}

/// What the browser brought.
pub(super) struct Redirect {
    pub(super) code: String,
    /// Who issued the code (RFC 9207), if that was said.
    pub(super) issuer: Option<String>,
}

/// What a request means for the login.
enum Meaning {
    Another,
    Forged,
    End(Result<Redirect, LoginError>),
}

impl RedirectListener {
    /// Opens the first of these ports that is free; 0 is any.
    pub(super) fn open(ports: &[u16]) -> Result<Self, LoginError> {
        let mut failure = String::new();
        for port in ports {
            match TcpListener::bind(("127.0.0.1", *port)) {
                Ok(listener) => return Ok(Self { listener }),
                Err(error) => failure = format!("{error} (port {port})"),
            }
        }
        Err(LoginError::NoPort(failure))
    }

    pub(super) fn port(&self) -> u16 {
        let address = self.listener.local_addr();
        address.map_or(0, |address| address.port())
    }

    /// Waits for the awaited request, and answers all others.
    pub(super) fn wait(
        &self,
        awaited: &AwaitedRedirect<'_>,
        mut typed: Option<TypedAddress<'_>>,
    ) -> Result<Redirect, LoginError> {
        loop {
            let left = awaited.deadline.saturating_duration_since(Instant::now());
            let mut sources = vec![awaited.interrupt.as_fd(), self.listener.as_fd()];
            sources.extend(typed.as_ref().map(|typed| typed.input));
            match first_readable(&sources, Some(left)) {
                Ok(Some(0)) => return Err(LoginError::Interrupted),
                Ok(Some(1)) => {}
                Ok(Some(_)) => {
                    match typed.as_mut().and_then(|typed| typed.read(awaited)) {
                        Some(Meaning::End(end)) => return end,
                        Some(Meaning::Another | Meaning::Forged) => {}
                        // The terminal has gone; the browser may still come.
                        None => typed = None,
                    }
                    continue;
                }
                Ok(None) => return Err(LoginError::NobodyCame),
                Err(error) => return Err(LoginError::NoPort(error.to_string())),
            }
            // A connection that breaks is not the one that is waited for.
            let Ok((stream, _)) = self.listener.accept() else {
                continue;
            };
            if let Some(end) = serve(stream, awaited) {
                return end;
            }
        }
    }
}

impl TypedAddress<'_> {
    /// Reads a line; `None` if there will be no more.
    fn read(&mut self, awaited: &AwaitedRedirect<'_>) -> Option<Meaning> {
        let mut bytes = vec![0; MAX_REQUEST];
        let count = rustix::io::read(self.input, &mut bytes).ok()?;
        if count == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(bytes.get(..count)?).into_owned();
        let text = text.trim();
        if text.is_empty() {
            return Some(Meaning::Another);
        }
        let query = text.split_once('?').map_or(text, |(_, query)| query);
        let mut url = Url::parse("http://localhost").ok()?;
        url.set_query(Some(query));
        let found = meaning(&url, awaited.state);
        if !matches!(found, Meaning::End(_)) {
            (self.refused)();
        }
        Some(found)
    }
}

/// Answers one request; the end of the login, if it is the awaited one.
fn serve(
    mut stream: TcpStream,
    awaited: &AwaitedRedirect<'_>,
) -> Option<Result<Redirect, LoginError>> {
    let target = request_target(&mut stream, READ_LIMIT)?;
    let url = Url::parse("http://localhost").ok()?.join(&target).ok()?;
    let found = if awaited.paths.contains(&url.path()) {
        meaning(&url, awaited.state)
    } else {
        Meaning::Another
    };
    let (status, sentence) = match &found {
        Meaning::Another => (404, "There is nothing here."),
        Meaning::Forged => (
            400,
            "This page does not belong to the login that is waiting.",
        ),
        Meaning::End(Ok(_)) => (
            200,
            "Logged in. You can close this page and go back to the terminal.",
        ),
        Meaning::End(Err(_)) => (200, "Not logged in. You can close this page."),
    };
    respond(&mut stream, status, sentence);
    match found {
        Meaning::End(end) => Some(end),
        Meaning::Another | Meaning::Forged => None,
    }
}

fn meaning(url: &Url, state: Option<&str>) -> Meaning {
    let find = |name: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.into_owned())
    };
    if state.is_some() && find("state").as_deref() != state {
        return Meaning::Forged;
    }
    Meaning::End(match (find("code"), find("error")) {
        (Some(code), _) => Ok(Redirect {
            code,
            issuer: find("iss"),
        }),
        (None, Some(error)) if error != DECLINED => {
            let described = find("error_description").unwrap_or_default();
            let said = format!("{error} {described}");
            Err(LoginError::Reported(one_line(said.trim(), MESSAGE)))
        }
        (None, _) => Err(LoginError::Denied),
    })
}

/// The target of a GET request, all of which comes within the limit.
fn request_target(stream: &mut TcpStream, limit: Duration) -> Option<String> {
    let deadline = Instant::now() + limit;
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        stream.set_read_timeout(Some(left)).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(target: &str, state: Option<&str>) -> Option<bool> {
        let url = Url::parse("http://localhost")
            .unwrap()
            .join(target)
            .unwrap();
        match meaning(&url, state) {
            Meaning::End(end) => Some(end.is_ok()),
            Meaning::Another | Meaning::Forged => None,
        }
    }

    #[test]
    fn only_who_knows_the_state_ends_the_login() {
        let state = Some("expected");
        assert_eq!(ends("/callback?code=1&state=expected", state), Some(true));
        assert_eq!(
            ends("/callback?error=no&state=expected", state),
            Some(false)
        );
        for forged in [
            "/callback?code=1&state=other",
            "/callback?code=1",
            "/callback?code=1&state=",
            "/callback?error=no",
            "/callback",
        ] {
            assert_eq!(ends(forged, state), None, "{forged}");
        }
        assert_eq!(ends("/callback?code=1", None), Some(true));
    }

    #[test]
    fn what_the_page_reports_is_passed_on() {
        let of = |query: &str| {
            let url = Url::parse(&format!("http://localhost/?{query}")).unwrap();
            match meaning(&url, None) {
                Meaning::End(Err(error)) => error.to_string(),
                _ => panic!("{query}"),
            }
        };
        let reported = of("error=invalid_scope&error_description=no+such+scope");
        assert!(
            reported.contains("invalid_scope no such scope"),
            "{reported}"
        );
        assert_eq!(of("error=access_denied"), LoginError::Denied.to_string());
        assert_eq!(of(""), LoginError::Denied.to_string());
    }

    #[test]
    fn nobody_keeps_the_port_busy_by_sending_slowly() {
        let listener = RedirectListener::open(&[0]).unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", listener.port())).unwrap();
        let (mut stream, _) = listener.listener.accept().unwrap();
        let dripping = std::thread::spawn(move || {
            // Until the other end has had enough.
            while client.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let target = request_target(&mut stream, Duration::from_millis(200));
        assert_eq!(target, None);
        drop(stream);
        dripping.join().unwrap();
    }

    #[test]
    fn a_taken_port_is_named() {
        let taken = RedirectListener::open(&[0]).unwrap();
        let other = RedirectListener::open(&[taken.port(), 0]).unwrap();
        assert_ne!(other.port(), taken.port());
        let refused = RedirectListener::open(&[taken.port()]).err().unwrap();
        assert!(refused.to_string().contains(&taken.port().to_string()));
    }
}
