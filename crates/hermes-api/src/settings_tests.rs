use hermes_config::{Environment, vars};
use hermes_home::{SystemFacts, select};
use hermes_runtime::Program;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// What settings and variables say together.
fn resolved(
    config: &str,
    variables: &[(&str, &str)],
) -> Result<Option<ApiSettings>, SettingsError> {
    let home = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(&home.path().join("config.yaml"), config.as_bytes(), 0o600).unwrap();
    let env =
        Environment::from_pairs(variables.iter().copied()).with(&vars::HERMES_HOME, home.path());
    let selection = select(&[], &env, &SystemFacts::of_process()).unwrap();
    let program = Program::named("hermes");
    let context = Context::new(&env, SystemFacts::of_process(), &selection, program);
    ApiSettings::resolve(&context)
}

#[test]
fn a_key_alone_switches_the_server_on_and_the_settings_can_switch_it_off() {
    assert!(resolved("", &[]).unwrap().is_none());
    let on = resolved("", &[("API_SERVER_KEY", KEY)]).unwrap().unwrap();
    assert_eq!((on.host.as_str(), on.port), ("127.0.0.1", 8642));
    assert_eq!(on.model_name, "hermes-agent");
    assert_eq!(on.max_turns, Some(10));
    assert!(on.warnings.is_empty() && on.is_loopback());
    let off = "platforms: {api_server: {enabled: false}}";
    assert!(resolved(off, &[("API_SERVER_KEY", KEY)]).unwrap().is_none());
    let yes = resolved(
        "",
        &[("API_SERVER_ENABLED", "yes"), ("API_SERVER_KEY", KEY)],
    );
    assert!(yes.unwrap().is_some());
}

#[test]
fn weak_keys_are_refused_everywhere() {
    let on = ("API_SERVER_ENABLED", "true");
    let with = |key| resolved("", &[on, ("API_SERVER_KEY", key)]).map(Option::unwrap);
    assert_eq!(resolved("", &[on]).unwrap_err(), SettingsError::NoKey);
    let short = SettingsError::ShortKey {
        length: 5,
        least: 8,
    };
    assert_eq!(with("abcde").unwrap_err(), short);
    for placeholder in ["changeme", "ChangeMe", "your-api-key", "********", "none"] {
        assert_eq!(
            with(placeholder).unwrap_err(),
            SettingsError::PlaceholderKey
        );
    }
    assert_eq!(with("abcdefgh").unwrap().warnings.len(), 1);
    assert!(with("abcdefghijklmnop").unwrap().warnings.is_empty());
    let higher = "gateway: {api_server: {min_key_length: 20}}";
    let short = SettingsError::ShortKey {
        length: 16,
        least: 20,
    };
    let refused = resolved(higher, &[("API_SERVER_KEY", "abcdefghijklmnop")]);
    assert_eq!(refused.unwrap_err(), short);
}

#[test]
fn places_origins_and_models_are_read_from_both_sources() {
    let config = format!(
        "platforms:
  api_server:
    extra:
      host: 0.0.0.0
      port: 9000
      key: {KEY}
      cors_origins: ['https://a.example/', 'https://b.example']
      model_routes: {{fast: {{model: small, provider: openrouter}}, broken: 3}}
gateway: {{api_server: {{max_concurrent_runs: 0}}, agent_cache_mb: 1}}"
    );
    let read = resolved(&config, &[]).unwrap().unwrap();
    assert_eq!((read.host.as_str(), read.port), ("0.0.0.0", 9000));
    assert!(
        !read.is_loopback() && read.warnings.len() == 1,
        "{:?}",
        read.warnings
    );
    assert!(read.origins.allow("https://a.example") && !read.origins.allow("https://evil"));
    assert_eq!((read.max_turns, read.cache_bytes), (None, 1 << 20));
    assert_eq!(read.route(Some("fast")).unwrap().model, "small");
    assert_eq!(read.routes.len(), 1);
    let variables = [
        ("API_SERVER_KEY", KEY),
        ("API_SERVER_HOST", "localhost"),
        ("API_SERVER_PORT", "9001"),
        ("API_SERVER_CORS_ORIGINS", "https://c.example, *"),
        ("API_SERVER_MODEL_NAME", "mine"),
    ];
    let read = resolved(&config, &variables).unwrap().unwrap();
    assert_eq!((read.host.as_str(), read.port), ("localhost", 9001));
    assert_eq!(
        (read.origins, read.model_name.as_str()),
        (Origins::Any, "mine")
    );
}

#[test]
fn ports_that_do_not_exist_are_refused_and_words_mean_the_usual_one() {
    let with = |port| resolved("", &[("API_SERVER_KEY", KEY), ("API_SERVER_PORT", port)]);
    for (port, number) in [("0", 0), ("65536", 65_536), ("-1", -1)] {
        assert_eq!(with(port).unwrap_err(), SettingsError::Port(number));
    }
    assert_eq!(with("web").unwrap().unwrap().port, 8642);
    assert_eq!(origins(Some(&json!(7))), Origins::These(Vec::new()));
}
