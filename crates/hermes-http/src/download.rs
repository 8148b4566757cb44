//! Files and pages from the web: bounded in size and time, and only from the public web.
//!
//! An address comes from a model that may have read it anywhere. Every host on the way, that of each
//! redirect included, is resolved once and checked, and the connection then goes to the address that
//! was checked.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hermes_config::Config;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};

use crate::blocklist::Blocklist;
use crate::{BodyError, HttpSettings, Scheme, read_body, root_cause};

/// Limit for all redirects and the whole file together.
const LIMIT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// Which hosts files may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reachable {
    #[default]
    Public,
    /// Also this machine and its neighbours (`security.allow_private_urls`).
    Anywhere,
}

/// Fetches files.
#[derive(Debug, Clone, Default)]
pub struct Downloads {
    pub reachable: Reachable,
    pub(crate) blocked: Blocklist,
    /// Whom an encrypted connection trusts. Proxies are not used.
    pub http: HttpSettings,
}

/// A file that was fetched.
#[derive(Debug)]
pub struct Downloaded {
    pub bytes: Vec<u8>,
    /// What the server says it is, without parameters.
    pub content_type: Option<String>,
    /// The last part of the address it came from.
    pub name: Option<String>,
}

impl Downloads {
    /// As the settings say.
    pub fn resolve(config: &Config) -> Self {
        Self {
            reachable: if config.flag("security.allow_private_urls") {
                Reachable::Anywhere
            } else {
                Reachable::Public
            },
            blocked: Blocklist::resolve(config),
            http: HttpSettings::resolve(config),
        }
    }

    /// Fetches a file of at most `most` bytes. The error is a sentence without the address, which may
    /// hold a secret.
    pub fn fetch(&self, address: &str, most: u64) -> Result<Downloaded, String> {
        let addresses = |url: &Url| self.allowed_addresses(url);
        self.fetch_from(address, most, &addresses)
    }

    /// Fetches a page of at most `most` bytes that is text; errors as in [`Downloads::fetch`].
    pub fn fetch_text(&self, address: &str, most: u64) -> Result<String, String> {
        let page = self.fetch(address, most)?;
        let is_other = page.content_type.as_deref().is_some_and(|kind| {
            let (kind, detail) = kind.split_once('/').unwrap_or((kind, ""));
            matches!(kind, "image" | "audio" | "video" | "font")
                || ["octet-stream", "pdf", "zip", "gzip"].contains(&detail)
        });
        if is_other {
            return Err("The page is not text.".to_owned());
        }
        String::from_utf8(page.bytes).map_err(|_| "The page is not text in UTF-8.".to_owned())
    }

    /// Why another program must not fetch from this address; `None` if it may, or if this is no
    /// address of the web.
    pub fn refusal(&self, address: &str) -> Option<String> {
        self.blocked.refusal(&Url::parse(address.trim()).ok()?)
    }

    fn fetch_from(
        &self,
        address: &str,
        most: u64,
        addresses: &Resolver<'_>,
    ) -> Result<Downloaded, String> {
        let url = Url::parse(address.trim())
            .map_err(|error| format!("The address is not valid: {error}."))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| format!("The network cannot be used: {error}."))?;
        runtime.block_on(async {
            let fetched = self.follow(url, most, addresses);
            let fetched = tokio::time::timeout(LIMIT, fetched).await;
            fetched.unwrap_or_else(|_| {
                let seconds = LIMIT.as_secs();
                Err(format!("The download took longer than {seconds} s."))
            })
        })
    }

    async fn follow(
        &self,
        mut url: Url,
        most: u64,
        addresses: &Resolver<'_>,
    ) -> Result<Downloaded, String> {
        for _ in 0..=MOST_REDIRECTS {
            if let Some(refusal) = self.blocked.refusal(&url) {
                return Err(refusal);
            }
            let client = self.client_for(&url, addresses)?;
            let response = client.get(url.clone()).send().await.map_err(reason)?;
            let status = response.status();
            let location = response.headers().get(LOCATION);
            match location.and_then(|value| value.to_str().ok()) {
                Some(location) if status.is_redirection() => {
                    let next = url.join(location);
                    url = next.map_err(|_| "The server redirects to an invalid address.")?;
                }
                _ if status.is_success() => return read(response, &url, most).await,
                _ => {
                    let code = status.as_u16();
                    return Err(format!("The server answered with HTTP {code}."));
                }
            }
        }
        Err(format!(
            "The server redirects more than {MOST_REDIRECTS} times."
        ))
    }

    /// The addresses of a host that connections may be made to.
    fn allowed_addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, String> {
        let host = host_of(url)?;
        let found = url
            .socket_addrs(|| None)
            .map_err(|_| format!("The host {host} could not be found."))?;
        let allowed: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| self.reachable == Reachable::Anywhere || is_public(address.ip()))
            .collect();
        if allowed.is_empty() {
            return Err(format!(
                "The host {host} is not on the public web (security.allow_private_urls is off)."
            ));
        }
        Ok(allowed)
    }

    /// A client that connects to the allowed addresses of this host, and to no others.
    fn client_for(&self, url: &Url, addresses: &Resolver<'_>) -> Result<Client, String> {
        let scheme = match url.scheme() {
            "http" => Scheme::Plain,
            "https" => Scheme::Encrypted,
            _ => return Err("Only http and https addresses can be fetched.".to_owned()),
        };
        let host = host_of(url)?;
        let allowed = addresses(url)?;
        let builder = self.http.builder(scheme);
        let builder = builder.map_err(|error| format!("The download failed: {error}."))?;
        builder
            .connect_timeout(CONNECT_TIMEOUT)
            // No proxy: it would resolve the name again, and perhaps to another address.
            .resolve_to_addrs(host, &allowed)
            .build()
            .map_err(reason)
    }
}

/// Finds the addresses of the host of a URL that connections may be made to; an error if there are
/// none.
type Resolver<'r> = dyn Fn(&Url) -> Result<Vec<SocketAddr>, String> + 'r;

async fn read(response: Response, url: &Url, most: u64) -> Result<Downloaded, String> {
    let too_large = || format!("The file has more than {} MiB.", most / (1024 * 1024));
    if response
        .content_length()
        .is_some_and(|length| length > most)
    {
        return Err(too_large());
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_owned());
    let bytes = read_body(response, usize::try_from(most).unwrap_or(usize::MAX)).await;
    let bytes = bytes.map_err(|error| match error {
        BodyError::TooLong => too_large(),
        BodyError::Broken(why) => format!("The download failed: {why}."),
    })?;
    let name = url.path_segments().and_then(|mut parts| parts.next_back());
    Ok(Downloaded {
        bytes,
        content_type,
        name: name.filter(|name| !name.is_empty()).map(str::to_owned),
    })
}

fn host_of(url: &Url) -> Result<&str, String> {
    url.host_str()
        .ok_or_else(|| "The address has no host.".to_owned())
}

fn reason(error: reqwest::Error) -> String {
    format!("The download failed: {}.", root_cause(error))
}

/// Whether an address belongs to the public web: no machine of ours, no neighbour, no service of a
/// cloud, no address inside another.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_documentation()
                || address.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && b & 0xc0 == 64)
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && b & 0xfe == 18))
        }
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = address.to_ipv4_mapped() {
        return is_public(IpAddr::V4(inside));
    }
    let [first, second, ..] = address.segments();
    // Only what is handed out to the public at all, without tunnels and examples.
    first & 0xe000 == 0x2000
        && first != 0x2002
        && !(first == 0x2001 && (second == 0 || second == 0xdb8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for inner in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(inner.parse().unwrap()), "{inner}");
        }
        for outer in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(outer.parse().unwrap()), "{outer}");
        }
    }

    #[test]
    fn invalid_and_private_addresses_are_refused_before_anything_is_sent() {
        let downloads = Downloads::default();
        let refused = |address: &str| downloads.fetch(address, 10).unwrap_err();
        for (address, part) in [
            ("", "is not valid"),
            ("not an address", "is not valid"),
            ("ftp://example.com/x", "Only http and https"),
            ("file:///etc/passwd", "Only http and https"),
            ("http://127.0.0.1:1/x", "not on the public web"),
            ("http://[::1]/x", "not on the public web"),
            ("http://2130706433/x", "not on the public web"),
            ("http://0x7f.1/x", "not on the public web"),
            (
                "http://169.254.169.254/latest/meta-data",
                "not on the public web",
            ),
            ("http://localhost/x", "not on the public web"),
        ] {
            let message = refused(address);
            assert!(message.contains(part), "{address}: {message}");
        }
    }

    /// A server on this machine that plays one of the public web: `/to?<address>` redirects there,
    /// `/hops/<n>` redirects to itself n times. Notes what it was asked for.
    struct Web {
        port: u16,
        asked: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
    }

    impl Web {
        fn start() -> Self {
            use std::io::{BufRead, BufReader, Write};

            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let web = Self {
                port: listener.local_addr().unwrap().port(),
                asked: std::sync::Arc::default(),
            };
            let (asked, port) = (std::sync::Arc::clone(&web.asked), web.port);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let first = lines.next().unwrap().unwrap();
                    while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                    let path = first.split(' ').nth(1).unwrap().to_owned();
                    let hops = path.strip_prefix("/hops/");
                    let next = match hops.and_then(|hops| hops.parse::<u32>().ok()) {
                        Some(0) => None,
                        Some(hops) => Some(format!("http://public.test:{port}/hops/{}", hops - 1)),
                        None => path.strip_prefix("/to?").map(str::to_owned),
                    };
                    asked.lock().unwrap().push(path);
                    let answer = match next {
                        Some(next) => format!(
                            "HTTP/1.1 302 Found\r\nLocation: {next}\r\nContent-Length: 0\r\n\
                             Connection: close\r\n\r\n"
                        ),
                        None => {
                            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
                                .to_owned()
                        }
                    };
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            });
            web
        }

        /// Fetches as if this server, by its name, were on the public web.
        fn fetch(&self, path: &str) -> Result<Downloaded, String> {
            let downloads = Downloads::default();
            let addresses = |url: &Url| match url.host_str() {
                Some("public.test") => Ok(vec![SocketAddr::from(([127, 0, 0, 1], self.port))]),
                _ => downloads.allowed_addresses(url),
            };
            let address = format!("http://public.test:{}{path}", self.port);
            downloads.fetch_from(&address, 10, &addresses)
        }

        fn asked(&self) -> usize {
            self.asked.lock().unwrap().len()
        }
    }

    #[test]
    fn a_redirect_to_a_private_host_is_refused() {
        let web = Web::start();
        let port = web.port;
        for (inner, part) in [
            (
                format!("http://127.0.0.1:{port}/secret"),
                "not on the public web",
            ),
            (
                format!("http://localhost:{port}/secret"),
                "not on the public web",
            ),
            (
                format!("http://[::ffff:127.0.0.1]:{port}/secret"),
                "not on the public web",
            ),
            (
                "http://169.254.169.254/latest".to_owned(),
                "not on the public web",
            ),
            ("file:///etc/passwd".to_owned(), "Only http and https"),
        ] {
            let before = web.asked();
            let message = web.fetch(&format!("/to?{inner}")).unwrap_err();
            assert!(message.contains(part), "{inner}: {message}");
            assert_eq!(web.asked(), before + 1, "{inner} was asked");
        }
    }

    #[test]
    fn five_redirects_are_followed_and_a_sixth_is_not() {
        let web = Web::start();
        assert_eq!(web.fetch("/hops/5").unwrap().bytes, b"hi");
        assert_eq!(web.asked(), 6);
        let message = web.fetch("/hops/6").unwrap_err();
        assert!(message.contains("more than 5 times"), "{message}");
        assert_eq!(web.asked(), 12);
    }
}
