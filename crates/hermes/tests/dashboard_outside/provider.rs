//! node-oidc-provider on loopback, and a browser that logs in on its pages.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::client::{Answer, Request};
use crate::packages;
use crate::server::{Server, dashboard};
use hermes_testkit::TestHome;

/// A provider. Ends when dropped.
pub(crate) struct Provider {
    pub(crate) port: u16,
    process: Child,
    /// What it prints; a program whose output nobody takes may end.
    _printed: BufReader<ChildStdout>,
}

impl Provider {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With variables of `programs/oidc_provider.mjs`.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let package = packages::oidc_provider();
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/dashboard_outside/programs/oidc_provider.mjs");
        let mut process = Command::new(package.node())
            .arg(program)
            .arg(package.file("oidc-provider/lib/index.js"))
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(process.stdout.take().unwrap());
        let port = printed
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("READY ")?.parse().ok())
            .unwrap_or_else(|| panic!("the provider does not come up"));
        Self {
            port,
            process,
            _printed: printed,
        }
    }

    pub(crate) fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A dashboard whose people log in here.
    pub(crate) fn dashboard(&self, home: &TestHome) -> Server {
        self.dashboard_with(home, &[])
    }

    pub(crate) fn dashboard_with(&self, home: &TestHome, more: &[(&str, &str)]) -> Server {
        let mut call = dashboard(home)
            .args(["--host", "0.0.0.0"])
            .env("HERMES_DASHBOARD_OIDC_ISSUER", self.root())
            .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "dash");
        for (name, value) in more {
            call = call.env(name, value);
        }
        Server::start(call)
    }

    /// What was asked of the token endpoint, oldest first.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let asked = Request::new(self.port, "GET", "/asked").send().expect(200);
        asked.as_array().unwrap().clone()
    }

    /// Requests of a kind that the token endpoint has taken.
    pub(crate) fn granted(&self, grant: &str) -> usize {
        let is_it = |one: &&Value| one["grant"] == grant && one["status"] == 200;
        self.asked().iter().filter(is_it).count()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A browser at the provider: it keeps cookies, follows its redirects and fills in its forms.
pub(crate) struct Browser {
    port: u16,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            port: provider.port,
            cookies: BTreeMap::new(),
        }
    }

    fn send(&mut self, request: &Request) -> Answer {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let answer = request.clone().header("Cookie", &cookies.join("; ")).send();
        for pair in answer.cookies().split("; ") {
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Logs in at an address of the provider; where it sends the browser then.
    pub(crate) fn log_in(&mut self, address: &str) -> String {
        let root = format!("http://127.0.0.1:{}", self.port);
        let mut place = address.to_owned();
        for _ in 0..10 {
            let path = place.strip_prefix(&root).unwrap_or(&place).to_owned();
            if !path.starts_with('/') {
                return place;
            }
            let mut answer = self.send(&Request::new(self.port, "GET", &path));
            if answer.status == 200 && path.starts_with("/interaction/") {
                let form = if answer.body.contains("value=\"login\"") {
                    "prompt=login&login=ada&password=x"
                } else {
                    "prompt=consent"
                };
                let filled = Request::new(self.port, "POST", &path)
                    .raw_body(form)
                    .header("Content-Type", "application/x-www-form-urlencoded");
                answer = self.send(&filled);
            }
            let next = answer.header("location");
            next.unwrap_or_else(|| panic!("{path}: {} {}", answer.status, answer.body))
                .clone_into(&mut place);
        }
        panic!("the provider leads nowhere: {place}");
    }
}
