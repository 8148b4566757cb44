//! A LiteLLM proxy in front of the API server.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::packages;
use crate::served::{KEY, Served, free_port, program, succeeds};

/// The proxy needs a while to load on a busy machine.
const LONGEST_START: Duration = Duration::from_mins(3);
const PROXY_KEY: &str = "sk-key-of-the-proxy";

struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(served: &Served) -> Self {
        let port = free_port();
        let upstream = |name: &str, key: &str| {
            json!({
                "model_name": name,
                "litellm_params": {
                    "model": "openai/hermes-agent", "api_base": served.base_url(), "api_key": key,
                },
            })
        };
        // JSON is YAML.
        let config = json!({
            "model_list": [
                upstream("behind", KEY), upstream("locked-out", "not-the-key-at-all"),
            ],
            "litellm_settings": {"num_retries": 0, "telemetry": false},
            "general_settings": {"master_key": PROXY_KEY},
        });
        let config = served
            .home
            .put_outside("litellm.yaml", config.to_string(), 0o600);
        let log = std::fs::File::create(served.home.outside("litellm.log")).unwrap();
        let packages = packages::litellm();
        let child = Command::new(packages.program("litellm"))
            .arg("--config")
            .arg(config)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("HOME", served.home.user_home())
            // Prices come with the package; nothing is fetched.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut proxy = Self { child, port };
        proxy.wait(served);
        proxy
    }

    fn wait(&mut self, served: &Served) {
        let deadline = Instant::now() + LONGEST_START;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = self.child.try_wait().unwrap().is_some();
            if has_ended || Instant::now() > deadline {
                let log = std::fs::read_to_string(served.home.outside("litellm.log"));
                panic!("the proxy does not come up: {}", log.unwrap());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn chats_streams_responses_and_refusals_pass_through() {
    let served = Served::new();
    let proxy = Proxy::start(&served);
    let mut command = Command::new(packages::litellm().python());
    command
        .arg(program("through_litellm.py"))
        .env("API_BASE", format!("http://127.0.0.1:{}/v1", proxy.port))
        .env("API_KEY", PROXY_KEY);
    succeeds(&served, &mut command);
}
