//! How fast text is redacted: `cargo run --release -p hermes-secret --example redactor_speed`.
#![allow(clippy::print_stdout, reason = "an example that prints figures")]

use std::borrow::Cow;

use hermes_secret::Redactor;

fn main() {
    let plain = "turn finished in 1234 ms: 17 calls, 3 retries, model answered with 2048 characters of text\n";
    let busy = "gateway.auth: token refreshed for session 12:34:56 key=value https://api.example.com/v1/chat tokens=12\n";
    let secret = "POST https://api.example.com Authorization: Bearer sk-Ab3dEfGh1jKlMnOpQrSt OPENAI_API_KEY=abcdefghijklmnop\n";
    let start = std::time::Instant::now();
    let redactor = Redactor::new(["correct horse battery", "another known value"]);
    assert!(matches!(redactor.redact("x"), Cow::Borrowed(_)));
    println!("first line after {:?}", start.elapsed());
    for (name, line) in [("plain", plain), ("busy", busy), ("secret", secret)] {
        let start = std::time::Instant::now();
        let rounds = 200_000;
        let mut bytes = 0;
        for _ in 0..rounds {
            bytes += std::hint::black_box(redactor.redact(std::hint::black_box(line))).len();
        }
        #[expect(clippy::cast_precision_loss, reason = "a rough figure")]
        let rate = bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        println!("{name}: {rate:.0} MB/s");
    }
}
