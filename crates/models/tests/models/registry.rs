//! Who is asked, decided from flags, variables and settings.

use std::collections::HashMap;

use models::registry::Endpoint;
use models::table::{ModelFacts, Quirks, Table};
use models::wire::{Auth, Secret};
use models::{Choice, MockConfig, RegistryError, Resolved, UserProvider, choose};
use serde_json::Map;

use crate::support::choice;

fn decide(
    flags: (Option<&str>, Option<&str>),
    variables: &[(&str, &str)],
    providers: Vec<UserProvider>,
) -> Result<Resolved, RegistryError> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    let (provider, model) = (flags.0.map(str::to_owned), flags.1.map(str::to_owned));
    choose(&Choice { provider, model, providers, ..choice(&variable) })
}

fn user(name: &str, dialect: &str, url: &str, key: Option<&str>) -> UserProvider {
    UserProvider {
        name: name.into(),
        dialect: Some(dialect.into()),
        base_url: Some(url.into()),
        api_key_env: key.map(str::to_owned),
        model: Some("own-model".into()),
        small_model: None,
        quirks: None,
        body: Map::new(),
    }
}

const NONE: (Option<&str>, Option<&str>) = (None, None);

fn names(variables: &[(&str, &str)], flags: (Option<&str>, Option<&str>)) -> (String, String) {
    let resolved = decide(flags, variables, Vec::new()).unwrap();
    (resolved.provider, resolved.model_id)
}

fn pair(provider: &str, model: &str) -> (String, String) {
    (provider.into(), model.into())
}

fn url(resolved: Result<Resolved, RegistryError>) -> String {
    match resolved.unwrap().endpoint {
        Endpoint::Remote(site, _) => site.url.to_string(),
        Endpoint::Mock(_) => panic!("the mock has no address"),
    }
}

fn auth(resolved: Result<Resolved, RegistryError>) -> Auth {
    match resolved.unwrap().endpoint {
        Endpoint::Remote(site, _) => site.auth,
        Endpoint::Mock(_) => panic!("the mock has no key"),
    }
}

#[test]
fn providers_by_flag_then_variable_then_key_then_mock() {
    let keys = [("DEEPSEEK_API_KEY", "d"), ("ANTHROPIC_API_KEY", "a")];
    assert_eq!(names(&[], NONE), pair("mock", "mock"));
    assert_eq!(names(&keys[..1], NONE), pair("deepseek", "deepseek-flash"));
    assert_eq!(names(&keys, NONE), pair("anthropic", "claude-sonnet-5-5"));
    assert_eq!(names(&[("ANTHROPIC_AUTH_TOKEN", "t"), keys[0]], NONE).0, "anthropic");
    assert_eq!(names(&[("ANTHROPIC_API_KEY", " "), keys[0]], NONE).0, "deepseek");
    let mine = [keys[0], keys[1], ("MYAGENT_PROVIDER", "deepseek")];
    assert_eq!(names(&mine, NONE).0, "deepseek");
    let both = [("MYAGENT_PROVIDER", "deepseek"), ("RSAGENT_PROVIDER", "mock")];
    assert_eq!(names(&both, NONE).0, "mock");
    assert_eq!(names(&mine, (Some("mock"), None)), pair("mock", "mock"));
}

#[test]
fn models_by_flag_then_variable_then_provider() {
    let key = ("ANTHROPIC_API_KEY", "a");
    let vendor = ("ANTHROPIC_MODEL", "claude-vendor");
    let deepseek = ("DEEPSEEK_API_KEY", "d");
    assert_eq!(names(&[key, vendor], NONE).1, "claude-vendor");
    assert_eq!(names(&[deepseek, vendor], NONE), pair("deepseek", "deepseek-flash"));
    assert_eq!(names(&[key, vendor, ("MYAGENT_MODEL", "m")], NONE).1, "m");
    let both = [key, ("MYAGENT_MODEL", "m"), ("RSAGENT_MODEL", "r")];
    assert_eq!(names(&both, NONE).1, "r");
    assert_eq!(names(&both, (None, Some("f"))).1, "f");
    assert_eq!(names(&[deepseek], (None, Some("deepseek-v4-pro"))).1, "deepseek-v4-pro");
}

#[test]
fn base_urls_are_joined_sanely() {
    let at = |base: &str| url(decide(NONE, &[("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", base)], Vec::new()));
    assert_eq!(url(decide(NONE, &[("ANTHROPIC_API_KEY", "a")], Vec::new())), "https://api.anthropic.com/v1/messages");
    for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/v1/messages"] {
        assert_eq!(at(base), "http://h:1/v1/messages");
    }
    assert_eq!(at("https://h/gateway/v1"), "https://h/gateway/v1/messages");
    let deepseek = [("DEEPSEEK_API_KEY", "d"), ("ANTHROPIC_BASE_URL", "http://h:1")];
    assert_eq!(url(decide(NONE, &deepseek, Vec::new())), "https://api.deepseek.com/anthropic/v1/messages");
}

#[test]
fn a_token_counts_as_key_of_anthropic_and_goes_first() {
    let variables = [("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", "a")];
    assert_eq!(auth(decide(NONE, &variables, Vec::new())), Auth::Bearer(Secret("t".into())));
    assert_eq!(auth(decide(NONE, &variables[1..], Vec::new())), Auth::Key(Secret("a".into())));
}

#[test]
fn providers_of_the_user() {
    let local = || user("local", "anthropic", "http://127.0.0.1:8080", None);
    let resolved = decide((Some("local"), None), &[], vec![local()]).unwrap();
    assert_eq!((resolved.model_id.as_str(), resolved.facts.context_window), ("own-model", None));
    assert_eq!(auth(Ok(resolved)), Auth::Nothing);
    // Without a key nothing tells that it is wanted.
    assert_eq!(decide(NONE, &[], vec![local()]).unwrap().provider, "mock");
    let keyed = || vec![user("hub", "anthropic", "https://hub.test/v1", Some("HUB_KEY"))];
    assert_eq!(decide(NONE, &[("HUB_KEY", "h")], keyed()).unwrap().provider, "hub");
    let error = decide((Some("hub"), None), &[], keyed()).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"provider hub needs a key. Set HUB_KEY, keep one with `rsagent config set-key hub`, or choose another provider with --provider (mock needs none)");
    let other = vec![user("deepseek", "anthropic", "http://127.0.0.1:1", None)];
    let resolved = decide(NONE, &[("DEEPSEEK_API_KEY", "d")], other);
    assert_eq!(url(resolved), "http://127.0.0.1:1/v1/messages");
}

#[test]
fn ways_of_a_provider_may_be_set() {
    let quirks = Quirks { short_ids: true, ..Quirks::default() };
    let strict = UserProvider { quirks: Some(quirks.clone()), ..user("strict", "openai", "http://127.0.0.1:1", None) };
    match decide((Some("strict"), None), &[], vec![strict]).unwrap().endpoint {
        Endpoint::Remote(_, shape) => assert_eq!(shape.quirks, quirks),
        Endpoint::Mock(_) => panic!("the mock has no ways"),
    }
}

#[test]
fn what_cannot_be_chosen_says_what_to_do() {
    let told = |flags, providers| decide(flags, &[], providers).unwrap_err().to_string();
    insta::assert_snapshot!(told((Some("nobody"), None), Vec::new()), @r#"there is no provider "nobody". Choose one of anthropic, deepseek, openai, openrouter, qwen, kimi, glm, mistral, ollama, lmstudio, llamacpp, vllm, mock, or add it under "providers" in the settings file"#);
    insta::assert_snapshot!(told((Some("anthropic"), None), Vec::new()), @"provider anthropic needs a key. Set ANTHROPIC_API_KEY, keep one with `rsagent config set-key anthropic`, or choose another provider with --provider (mock needs none)");
    let gemini = vec![user("local", "gemini", "http://127.0.0.1:1/v1", None)];
    insta::assert_snapshot!(told((Some("local"), None), gemini), @r#"provider local: dialect "gemini" is not known. Write "anthropic" or "openai""#);
    insta::assert_snapshot!(told((Some("ollama"), None), Vec::new()), @"provider ollama needs the name of a model. Name one with --model, or set providers.ollama.model in the settings file");
    let broken = vec![user("local", "anthropic", "127.0.0.1:8080", None)];
    insta::assert_snapshot!(told((Some("local"), None), broken), @r#"provider local: "127.0.0.1:8080" is not a base URL (relative URL without a base). It looks like https://api.example.com"#);
    let taken = vec![user("mock", "anthropic", "http://127.0.0.1:1", None)];
    insta::assert_snapshot!(told(NONE, taken), @"providers.mock: this name is taken. Give the provider another one in the settings file");
}

#[test]
fn the_pace_of_the_mock() {
    let rate = |value| decide(NONE, &[("RSAGENT_MOCK_RATE", value)], Vec::new());
    assert_eq!(rate("50").unwrap().endpoint, Endpoint::Mock(MockConfig { rate: Some(50.0) }));
    let error = rate("fast").unwrap_err().to_string();
    insta::assert_snapshot!(error, @r#"RSAGENT_MOCK_RATE="fast" is not a number of tokens a second. Correct or unset it"#);
}

#[test]
fn bounds_of_models() {
    let sonnet = decide(NONE, &[("ANTHROPIC_API_KEY", "a")], Vec::new()).unwrap();
    assert_eq!((sonnet.max_tokens, sonnet.facts.context_window), (32_000, Some(1_000_000)));
    let facts = |model: &str| Table::built_in().facts(model).unwrap();
    assert_eq!(facts("claude-haiku-4-5-20251001").context_window, Some(200_000));
    assert_eq!(facts("deepseek-v4-pro").max_output, Some(384_000));
    assert_eq!(facts("claude-haiku-4-5-x"), ModelFacts::default());
}

#[test]
fn a_key_is_never_shown() {
    let resolved = decide(NONE, &[("ANTHROPIC_API_KEY", "top-secret")], Vec::new()).unwrap();
    assert!(!format!("{resolved:?}").contains("top-secret"));
}

/// A key that is kept counts like a variable, which goes before it.
#[test]
fn a_kept_key_is_used_where_no_variable_is_set() {
    let decide = |variables: &[(&str, &str)]| {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
        let key = |provider: &str| (provider == "deepseek").then(|| "sk-kept".to_owned());
        choose(&Choice { key: &key, ..choice(&variable) })
    };
    assert_eq!(decide(&[]).unwrap().provider, "deepseek");
    assert_eq!(auth(decide(&[])), Auth::Key(Secret("sk-kept".into())));
    assert_eq!(auth(decide(&[("DEEPSEEK_API_KEY", "sk-set")])), Auth::Key(Secret("sk-set".into())));
    assert_eq!(decide(&[("ANTHROPIC_API_KEY", "sk-set")]).unwrap().provider, "anthropic");
}
