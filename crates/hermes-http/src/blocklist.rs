//! Sites that nothing is fetched from (`security.website_blocklist`).

use std::path::{Path, PathBuf};

use hermes_config::{Config, vars};
use reqwest::Url;

/// Longest file of sites that is read.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Sites of the settings, and files with further ones, one per line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocklist {
    sites: Vec<String>,
    files: Vec<PathBuf>,
}

impl Blocklist {
    /// As the settings say; empty if it is switched off. Reads no file.
    pub(crate) fn resolve(config: &Config) -> Self {
        if !config.flag("security.website_blocklist.enabled") {
            return Self::default();
        }
        let sources = config.sources();
        let user_home = sources.env.text(&vars::HOME).map(Path::new);
        let files = config.texts("security.website_blocklist.shared_files");
        let files = files
            .into_iter()
            .map(str::trim)
            .filter(|file| !file.is_empty());
        Self {
            sites: config
                .texts("security.website_blocklist.domains")
                .into_iter()
                .filter_map(site)
                .collect(),
            files: files
                .map(|file| match (file.strip_prefix("~/"), user_home) {
                    (Some(below), Some(home)) => home.join(below),
                    _ => sources.home.join(file),
                })
                .collect(),
        }
    }

    /// Why nothing is fetched from the host of an address; `None` if it may be.
    pub(crate) fn refusal(&self, url: &Url) -> Option<String> {
        let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
        if self.sites.iter().any(|site| covers(site, &host)) {
            return Some(format!(
                "The host {host} is blocked by security.website_blocklist.domains."
            ));
        }
        let file = self.files.iter().find(|file| lists(file, &host))?;
        Some(format!("The host {host} is blocked by {}.", file.display()))
    }
}

/// Whether a file lists a host. One that cannot be read lists none, and the log has it.
fn lists(file: &Path, host: &str) -> bool {
    match hermes_fs::read_text_capped(file, LONGEST) {
        Ok(text) => text
            .lines()
            .filter_map(site)
            .any(|site| covers(&site, host)),
        Err(error) => {
            tracing::warn!(%error, "a list of blocked sites cannot be read");
            false
        }
    }
}

/// The host of an entry, which may be written as an address; `None` for comments and empty lines.
fn site(entry: &str) -> Option<String> {
    let entry = entry.trim().to_ascii_lowercase();
    if entry.starts_with('#') {
        return None;
    }
    let host = entry.split_once("://").map_or(&*entry, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host).trim();
    let (below, host) = match host.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", host),
    };
    // As addresses spell it: names in other scripts, and numbers of the sixth version.
    let url = Url::parse(&format!("http://{host}/")).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or(host);
    let host = host.trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host);
    (!host.is_empty()).then(|| format!("{below}{host}"))
}

/// Whether an entry is this host or one above it; `*.` before it means only those below.
fn covers(site: &str, host: &str) -> bool {
    let is_below = |site: &str| {
        let above = host.strip_suffix(site);
        above.is_some_and(|above| above.ends_with('.'))
    };
    match site.strip_prefix("*.") {
        Some(site) => is_below(site),
        None => host == site || is_below(site),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_cover_a_host_and_what_is_below() {
        let covered = |entry: &str, host: &str| site(entry).is_some_and(|site| covers(&site, host));
        for entry in [
            "example.com",
            "WWW.example.com.",
            "https://user@example.com:8080/path?x",
            "  example.com/a ",
        ] {
            assert!(covered(entry, "example.com"), "{entry}");
            assert!(covered(entry, "a.example.com"), "{entry}");
            assert!(!covered(entry, "badexample.com"), "{entry}");
        }
        assert!(covered("b\u{fc}cher.example", "xn--bcher-kva.example"));
        assert!(covered("[2001:db8::1]:8080", "[2001:db8::1]"));
        assert!(covered("*.example.com", "a.b.example.com"));
        assert!(!covered("*.example.com", "example.com"));
        for nothing in ["", "# example.com", "https://"] {
            assert!(!covered(nothing, "example.com"), "{nothing}");
        }
    }

    #[test]
    fn files_list_sites_and_one_that_is_missing_lists_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("sites.txt");
        hermes_fs::write_atomic(&file, b"# bad\nexample.org\n", 0o600).unwrap();
        let list = Blocklist {
            sites: vec!["example.com".to_owned()],
            files: vec![directory.path().join("missing"), file],
        };
        let refusal = |address: &str| list.refusal(&Url::parse(address).unwrap());
        assert!(refusal("http://example.com/x").unwrap().contains("domains"));
        assert!(
            refusal("https://a.example.org./")
                .unwrap()
                .contains("sites.txt")
        );
        assert_eq!(refusal("https://example.net/"), None);
    }
}
