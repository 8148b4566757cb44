//! Chromium without a window, spoken to over the DevTools protocol. Only what these tests need.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

/// Long enough for a busy machine; what is late by this much will not come.
const PATIENCE: Duration = Duration::from_mins(2);

/// A browser with one page. Ends when dropped.
pub(crate) struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    last: u64,
    events: VecDeque<Value>,
    /// Documents that the page has loaded.
    pub(crate) navigations: usize,
    /// What scripts of the page have thrown, and what the browser has refused.
    pub(crate) complaints: Vec<String>,
    /// Answers that were no success: their status and path.
    pub(crate) refusals: Vec<(u64, String)>,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = TempDir::with_prefix("hermes-browser-").unwrap();
        let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
        let program = program.iter().find(|path| Path::new(path).exists());
        let program = program.expect("Chromium was not found (Debian: apt-get install chromium)");
        let child = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args([
                "--disable-sync",
                "--disable-extensions",
                "--disable-dev-shm-usage",
            ])
            .args(["--remote-debugging-port=0", "--window-size=1400,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (port, path) = debugging_port(profile.path());
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (socket, _) = client(format!("ws://127.0.0.1:{port}{path}"), stream).unwrap();
        let wait = Some(Duration::from_millis(50));
        socket.get_ref().set_read_timeout(wait).unwrap();
        let mut browser = Self {
            child,
            socket,
            session: String::new(),
            last: 0,
            events: VecDeque::new(),
            navigations: 0,
            complaints: Vec::new(),
            refusals: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let made = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target);
        let session = attached["sessionId"].as_str().unwrap();
        session.clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// One command of the protocol.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            assert!(
                Instant::now() < until,
                "the browser does not answer {method}"
            );
            let Some(answer) = self.read() else { continue };
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; events are taken note of on the way.
    fn read(&mut self) -> Option<Value> {
        let text = match self.socket.read() {
            Ok(Message::Text(text)) => text,
            Ok(_) => return None,
            Err(Error::Io(error))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                return None;
            }
            Err(error) => panic!("the browser has gone: {error}"),
        };
        let message: Value = serde_json::from_str(text.as_str()).unwrap();
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Page.frameNavigated") if params["frame"]["parentId"].is_null() => {
                self.navigations += 1;
            }
            Some("Runtime.exceptionThrown") => {
                let details = &params["exceptionDetails"];
                let text = details["exception"]["description"].as_str();
                self.complaints.push(text.unwrap_or_default().to_owned());
            }
            Some("Network.responseReceived") => {
                let response = &params["response"];
                let status = response["status"].as_u64().unwrap_or_default();
                let url = response["url"].as_str().unwrap_or_default();
                let path = url.splitn(4, '/').nth(3).unwrap_or_default();
                let path = path.split('?').next().unwrap_or_default();
                if status >= 400 {
                    self.refusals.push((status, format!("/{path}")));
                }
            }
            Some("Log.entryAdded") if params["entry"]["source"] == "security" => {
                let text = params["entry"]["text"].as_str();
                self.complaints.push(text.unwrap_or_default().to_owned());
            }
            _ => {}
        }
        if message["method"].is_string() {
            self.events.push_back(message.clone());
            while self.events.len() > 2_000 {
                self.events.pop_front();
            }
        }
        Some(message)
    }

    /// Takes note of what happens for so long.
    pub(crate) fn watch(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.read();
        }
    }

    /// Opens an address and waits until the page and its scripts are there.
    #[track_caller]
    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.until(
            &format!("{url} is loaded"),
            "document.readyState === 'complete' && (document.documentElement.dataset.ready === '1' || !document.querySelector('.frame'))",
        );
    }

    /// What an expression says; promises are waited for.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        let wrong = &answer["exceptionDetails"];
        assert!(wrong.is_null(), "{expression}: {wrong}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true. While a page is being replaced there is nothing to ask.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, expression: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let params =
                json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
            self.last += 1;
            let id = self.last;
            let message = json!({"id": id, "method": "Runtime.evaluate", "params": params, "sessionId": self.session});
            self.socket
                .send(Message::text(message.to_string()))
                .unwrap();
            let answer = loop {
                if Instant::now() > until {
                    break Value::Null;
                }
                if let Some(answer) = self.read()
                    && answer["id"] == id
                {
                    break answer;
                }
            };
            if answer["result"]["result"]["value"] == true {
                return;
            }
            if Instant::now() > until {
                let page = self.eval("document.body ? document.body.innerText.slice(0, 3000) : ''");
                panic!(
                    "never came true: {what}\n{}\n{page}",
                    self.complaints.join("\n")
                );
            }
            self.watch(Duration::from_millis(60));
        }
    }

    /// The text of the first element that fits.
    #[track_caller]
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let selector = json!(selector);
        let found = self.eval(&format!(
            "document.querySelector({selector})?.innerText ?? null"
        ));
        let found = found.as_str().map(str::to_owned);
        found.unwrap_or_else(|| panic!("there is no {selector} on the page"))
    }

    /// The middle of an element, which is scrolled into view.
    #[track_caller]
    fn middle(&mut self, selector: &str) -> (f64, f64) {
        let name = json!(selector);
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null; \
             e.scrollIntoView({{block: 'center', inline: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        let at = |index: usize| place[index].as_f64();
        match (at(0), at(1)) {
            (Some(x), Some(y)) => (x, y),
            _ => panic!("there is no {selector} on the page"),
        }
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), buttons: u32) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let params = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1,
        });
        self.call("Input.dispatchMouseEvent", params);
    }

    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let at = self.middle(selector);
        self.mouse("mouseMoved", at, 0);
        self.mouse("mousePressed", at, 1);
        self.mouse("mouseReleased", at, 0);
    }

    /// Drags one element onto another, in small steps as a hand does.
    #[track_caller]
    pub(crate) fn drag(&mut self, from: &str, to: &str) {
        let end = self.middle(to);
        let begin = self.middle(from);
        self.mouse("mouseMoved", begin, 0);
        self.mouse("mousePressed", begin, 1);
        for step in 1..=8 {
            let share = f64::from(step) / 8.0;
            let x = begin.0 + (end.0 - begin.0) * share;
            let y = begin.1 + (end.1 - begin.1) * share;
            self.mouse("mouseMoved", (x, y), 1);
        }
        self.mouse("mouseReleased", end, 0);
    }

    /// Types into whatever has the focus.
    pub(crate) fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Clicks a field, empties it and types.
    #[track_caller]
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.click(selector);
        let name = json!(selector);
        self.eval(&format!("document.querySelector({name}).select?.()"));
        self.insert(text);
    }

    /// Presses a key, such as `Enter` or `ArrowRight`; modifiers: 8 is Shift.
    pub(crate) fn key(&mut self, key: &str, modifiers: u32) {
        let text = match key {
            "Enter" => Some("\r".to_owned()),
            key if key.chars().count() == 1 => Some(key.to_owned()),
            _ => None,
        };
        let mut params =
            json!({"type": "keyDown", "key": key, "code": key, "modifiers": modifiers});
        let number = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        if number > 0 {
            params["windowsVirtualKeyCode"] = json!(number);
        }
        if let Some(text) = text {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", params.clone());
        params["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", params);
    }

    /// Which colours the system prefers.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": feature}));
    }

    /// The size of the screen.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let is_small = width < 600;
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_small,
        });
        self.call("Emulation.setDeviceMetricsOverride", params);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Where a browser that has just been started can be spoken to.
fn debugging_port(profile: &Path) -> (u16, String) {
    let file = profile.join("DevToolsActivePort");
    let until = Instant::now() + PATIENCE;
    loop {
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        let mut lines = written.lines();
        if let (Some(port), Some(path)) = (lines.next(), lines.next()) {
            return (port.parse().unwrap(), path.to_owned());
        }
        assert!(Instant::now() < until, "Chromium does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}
