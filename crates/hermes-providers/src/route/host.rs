//! Hosts: local hosts, and the vendors of others.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Url;

/// The host of an address in lower case; empty if there is none.
pub(crate) fn host_of(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str).unwrap_or_default();
    host.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Whether a host is this domain or below it.
pub(crate) fn is_host(host: &str, domain: &str) -> bool {
    host == domain
        || host
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
}

/// Whether a host is one of Azure's for models, in any of its clouds.
pub(crate) fn is_azure(host: &str) -> bool {
    host.contains(".services.ai.azure.") || host.contains(".openai.azure.")
}

/// Whether a host is this machine, a container on it, or in a private network.
pub(crate) fn is_local(host: &str) -> bool {
    // As names are written that are looked up as they are.
    let host = host.strip_suffix('.').unwrap_or(host);
    if host == "localhost" || host.ends_with(".localhost") {
        return true;
    }
    let inside = ["docker.internal", "containers.internal", "lima.internal"];
    if inside.iter().any(|domain| is_host(host, domain)) {
        return true;
    }
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => is_local_v4(ip),
        Ok(IpAddr::V6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => is_local_v4(ip),
            None => {
                let is_own = ip.is_loopback() || ip.is_unspecified();
                is_own || ip.is_unicast_link_local() || ip.is_unique_local()
            }
        },
        Err(_) => false,
    }
}

fn is_local_v4(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let shared = first == 100 && (64..128).contains(&second);
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || shared
}

/// The variable with the key of an unknown vendor: `DEEPSEEK_API_KEY` for `api.deepseek.com`. None
/// for IP addresses and for vendors whose variables have their own rules.
pub(crate) fn vendor_variable(host: &str) -> Option<String> {
    if is_local(host) || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let labels: Vec<&str> = host.split('.').collect();
    // Registrable domains have two labels, or three below such suffixes as `com.cn`.
    let [.., before, second, _] = labels.as_slice() else {
        let [vendor, _] = labels.as_slice() else {
            return None;
        };
        return named(vendor);
    };
    let is_suffix = ["co", "com", "net", "org", "ac", "gov"].contains(second);
    named(if is_suffix { before } else { second })
}

fn named(vendor: &str) -> Option<String> {
    let name = vendor.to_ascii_uppercase().replace('-', "_");
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let excepted = ["OPENAI", "OPENROUTER", "OLLAMA"].contains(&name.as_str());
    (plain && !name.is_empty() && !excepted).then(|| format!("{name}_API_KEY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_hosts_are_recognised() {
        for host in [
            "localhost",
            "127.0.0.1",
            "::1",
            "::",
            "localhost.",
            "10.1.2.3",
            "192.168.0.9",
            "172.16.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "host.docker.internal",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "openai.com",
            "localhost.example.com",
            "docker.internal.example.com",
        ] {
            assert!(!is_local(host), "{host}");
        }
        assert_eq!(host_of("http://[::1]:80/x"), "::1");
        assert_eq!(host_of("not a url"), "");
    }

    #[test]
    fn a_domain_is_not_its_suffix() {
        assert!(is_host("api.openai.com", "openai.com"));
        assert!(!is_host("evilopenai.com", "openai.com"));
        assert!(!is_host("openai.com.evil.example", "openai.com"));
    }

    #[test]
    fn vendor_variable_is_derived_from_the_host() {
        for (host, variable) in [
            ("api.deepseek.com", Some("DEEPSEEK_API_KEY")),
            ("deepseek.com", Some("DEEPSEEK_API_KEY")),
            ("api.some-lab.com.cn", Some("SOME_LAB_API_KEY")),
            ("api.openai.com", None),
            ("openrouter.ai", None),
            ("127.0.0.1", None),
            ("192.168.1.1", None),
            ("localhost", None),
        ] {
            assert_eq!(vendor_variable(host).as_deref(), variable, "{host}");
        }
    }
}
