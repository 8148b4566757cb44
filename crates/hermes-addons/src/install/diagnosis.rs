//! What an installer's output means.

use hermes_proc::Captured;

use crate::error::{AddonError, Code};

/// Characters of each output that are quoted.
const TAIL: usize = 2_000;

/// Signs in what installers print, the first that is found decides. A connection that fails is named
/// before whatever an installer concludes from it.
const SIGNS: &[(Code, &[&str])] = &[
    (
        Code::NoSpace,
        &["no space left on device", "disk quota exceeded"],
    ),
    (
        Code::HashMismatch,
        &[
            "do not match the hashes",
            "eintegrity",
            "hash mismatch for",
            "hash mismatch",
        ],
    ),
    (
        Code::Offline,
        &[
            "eai_again",
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "newconnectionerror",
            "max retries exceeded",
            "connection refused",
            "connection reset",
            "connection broken",
            "connection error",
            "connecttimeout",
            "failed to establish a new connection",
            "temporary failure in name resolution",
            "name or service not known",
            "network is unreachable",
            "error sending request",
            "dns error",
            "tcp connect error",
            "proxyerror",
            "operation timed out",
            "read timed out",
            "certificate verify failed",
            "self_signed_cert",
            "unable to get local issuer",
            "invalid peer certificate",
        ],
    ),
    (
        Code::NoWheel,
        &[
            "no wheels with a matching",
            "no usable wheels",
            "has no wheels",
        ],
    ),
    (
        Code::IndexError,
        &[
            "e404",
            "etarget",
            "no matching distribution found",
            "was not found in the package registry",
            "was not found in the provided package locations",
            "there is no version of",
            "404 client error",
            "not found in the package",
            "unexpected content type",
            "content-type",
            "failed to parse",
            "received some unexpected",
            "expected a json",
        ],
    ),
    (
        Code::Conflict,
        &[
            "resolutionimpossible",
            "conflicting dependencies",
            "no solution found",
        ],
    ),
];

/// The error of an installer that ended with a failure.
pub(crate) fn of_failure(output: &Captured, specs: &[&str]) -> AddonError {
    let text = all_text(output);
    let lower = text.to_lowercase();
    let code = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| lower.contains(sign)))
        .map_or(Code::InstallerFailed, |(code, _)| *code);
    let package =
        culprit(&text).unwrap_or_else(|| specs.first().copied().unwrap_or_default().to_owned());
    let (reason, hint) = match code {
        Code::Offline => (
            format!(
                "cannot reach the package index: {}",
                system_error(&text).unwrap_or_else(|| cause(&text))
            ),
            "try again, or name another source with --mirror or --wheelhouse",
        ),
        Code::HashMismatch => (
            format!("{package} does not match the pinned hash; nothing was installed"),
            "report it: the file that the package index gave is not the one that was checked",
        ),
        Code::NoWheel => (
            format!("{package} has no wheel for this interpreter"),
            "name another interpreter with --python",
        ),
        Code::IndexError => (
            format!(
                "the package index has no {package} (withdrawn or quarantined), or did not answer as an index does"
            ),
            "check the index of this machine, name another with --mirror, or update Hermes",
        ),
        Code::Conflict => (
            format!(
                "no versions agree with all that is asked for: {}",
                cause(&text)
            ),
            "change the pins so that they agree",
        ),
        Code::NoSpace => (
            "no space left on the disk".to_owned(),
            "free some space and try again",
        ),
        _ => (
            format!("the installer failed: {}", cause(&text)),
            "its whole output is in the log",
        ),
    };
    AddonError::new(code, reason).hint(hint)
}

/// The end of what an installer printed: errors first, then output where the cause may stand.
pub(super) fn tail(output: &Captured) -> String {
    let errors = last(&String::from_utf8_lossy(&output.stderr));
    let printed = last(&String::from_utf8_lossy(&output.stdout));
    match (errors.is_empty(), printed.is_empty()) {
        (false, false) => format!("{errors}\n{printed}"),
        _ => format!("{errors}{printed}"),
    }
}

fn last(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(TAIL);
    text.chars().skip(skipped).collect()
}

fn all_text(output: &Captured) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    )
}

/// What the system said, where an installer quotes it: `[Errno 111] Connection refused`.
fn system_error(text: &str) -> Option<String> {
    let (_, quoted) = text.split_once("[Errno ")?;
    let (_, quoted) = quoted.split_once("] ")?;
    let end = quoted.find(['\'', '"', ')', '\n']).unwrap_or(quoted.len());
    Some(hermes_text::one_line(quoted.get(..end)?.trim(), 200))
}

/// The line that says what went wrong: the last that is an error of pip or the end of uv's chain.
fn cause(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let strip = |line: &str| {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let line = ["error:", "ERROR:", "Caused by:", "cause:"]
            .iter()
            .find_map(|start| line.strip_prefix(start))
            .unwrap_or(line);
        hermes_text::one_line(line.trim(), 300)
    };
    let is_chained = |line: &&str| {
        line.starts_with('╰') || line.starts_with("cause:") || line.contains("Caused by")
    };
    let chained = lines().rfind(is_chained);
    let warned = lines().find(|line| line.to_lowercase().contains("error("));
    let failed = lines().rfind(|line| line.to_lowercase().starts_with("error"));
    let found = chained
        .or(warned)
        .or(failed)
        .or_else(|| lines().next_back());
    found.map_or_else(|| "it printed nothing".to_owned(), strip)
}

/// The first `name==version` in the output.
fn culprit(text: &str) -> Option<String> {
    let separators = |c: char| c.is_whitespace() || matches!(c, '`' | '\'' | '"' | '(' | ')' | ',');
    text.split(separators)
        .map(|word| word.trim_end_matches(['.', ':', ';']))
        .find(|word| crate::spec::is_pinned(word))
        .map(str::to_owned)
}
