//! Tokens that say by their first characters who issued them.

use super::Span;
use super::bytes::{at, before, is_token, run};

/// How sure a prefix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Nothing else begins like this.
    Sure,
    /// Ordinary names do too (`npm_config_cache`, `hf_hub_download`, `fc-list`): what follows must
    /// hold a digit or a capital, and no part of a longer name may stand before it.
    Ambiguous,
}

/// One prefix.
#[derive(Debug)]
pub(super) struct Vendor {
    pub(super) prefix: &'static str,
    /// Least number of token characters that follow.
    least: usize,
    /// Most of them; more make it something else.
    most: usize,
    trust: Trust,
}

const fn sure(prefix: &'static str, least: usize) -> Vendor {
    Vendor {
        prefix,
        least,
        most: usize::MAX,
        trust: Trust::Sure,
    }
}

const fn ambiguous(prefix: &'static str, least: usize) -> Vendor {
    Vendor {
        trust: Trust::Ambiguous,
        ..sure(prefix, least)
    }
}

const fn exactly(prefix: &'static str, length: usize) -> Vendor {
    Vendor {
        most: length,
        ..sure(prefix, length)
    }
}

/// All prefixes that are recognised.
pub(super) const VENDORS: &[Vendor] = &[
    sure("sk-", 10),
    sure("sk_live_", 10),
    sure("sk_test_", 10),
    sure("rk_live_", 10),
    ambiguous("sk_", 10),
    sure("ghp_", 10),
    sure("gho_", 10),
    sure("ghu_", 10),
    sure("ghs_", 10),
    sure("ghr_", 10),
    sure("github_pat_", 10),
    sure("glpat-", 10),
    sure("xoxb-", 10),
    sure("xoxa-", 10),
    sure("xoxp-", 10),
    sure("xoxr-", 10),
    sure("xoxs-", 10),
    sure("xapp-", 10),
    sure("AIza", 30),
    sure("ya29.", 20),
    exactly("AKIA", 16),
    exactly("ASIA", 16),
    sure("SG.", 10),
    sure("gAAAA", 20),
    sure("pplx-", 10),
    sure("gsk_", 10),
    sure("syt_", 10),
    sure("tvly-", 10),
    sure("bb_live_", 10),
    sure("dop_v1_", 10),
    sure("doo_v1_", 10),
    sure("retaindb_", 10),
    sure("AGE-SECRET-KEY-1", 20),
    sure("xai-", 30),
    sure("fw-", 30),
    sure("fw_", 30),
    sure("fpk_", 30),
    ambiguous("fal_", 10),
    ambiguous("fc-", 10),
    ambiguous("hf_", 10),
    ambiguous("r8_", 10),
    ambiguous("npm_", 10),
    ambiguous("pypi-", 10),
    ambiguous("exa_", 10),
    ambiguous("am_", 10),
    ambiguous("hsk-", 10),
    ambiguous("mem0_", 10),
    ambiguous("brv_", 10),
    ambiguous("ntn_", 10),
];

/// Whether the first characters of something are those of a token of some vendor.
pub(crate) fn begins_like_a_token(head: &str) -> bool {
    VENDORS
        .iter()
        .any(|vendor| head.starts_with(vendor.prefix) || vendor.prefix.starts_with(head))
}

/// The token that begins at `start` with the prefix of `vendor`, whose case still has to match.
pub(super) fn token(bytes: &[u8], start: usize, vendor: &Vendor) -> Option<Span> {
    let body = start + vendor.prefix.len();
    if bytes.get(start..body)? != vendor.prefix.as_bytes() {
        return None;
    }
    let joined = before(bytes, start).is_some_and(|byte| match vendor.trust {
        Trust::Sure => byte.is_ascii_alphanumeric() || byte == b'_',
        Trust::Ambiguous => is_token(byte),
    });
    if joined {
        return None;
    }
    let mut end = run(bytes, body, is_token);
    if end - body < vendor.least || end - body > vendor.most {
        return None;
    }
    let random = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    if vendor.trust == Trust::Ambiguous && !bytes.get(body..end)?.iter().any(random) {
        return None;
    }
    // SendGrid's and Google's tokens have parts; the padding of Fernet's belongs to it.
    while at(bytes, end) == Some(b'.') && matches!(vendor.prefix, "SG." | "ya29.") {
        let part = run(bytes, end + 1, is_token);
        if part == end + 1 {
            break;
        }
        end = part;
    }
    if vendor.prefix == "gAAAA" {
        end = run(bytes, end, |byte| byte == b'=');
    }
    Some(Span::log(start, end))
}
