//! Owns what a failure means: status, error type and text become a [`ModelError`] that says what
//! happened, where, and what to do. Must not know how the failure reached us.
//!
//! Types and statuses: the vendor's error page (August 2026). Texts are for matching only, loosely,
//! and live in `error_texts.json`.

use std::time::{Duration, SystemTime};

use kernel::{ErrorKind, ModelError};
use reqwest::header::{HeaderMap, LOCATION};
use serde::Deserialize;
use serde_json::Value;

use super::{Auth, Secret, Site};
use crate::http::cause;

const TEXTS: &str = include_str!("error_texts.json");
/// A server's own words are shown up to this many characters.
const SHOWN: usize = 300;

/// Each text is recognised by parts that all occur in it, in lower case.
#[derive(Debug, Default, Deserialize)]
struct Texts {
    overflow: Vec<Vec<String>>,
    billing: Vec<Vec<String>>,
    quota: Vec<Vec<String>>,
    unknown_model: Vec<Vec<String>>,
    media: Vec<Vec<String>>,
    thinking: Vec<Vec<String>>,
}

/// What the server said.
#[derive(Default)]
struct Fault {
    kind: String,
    /// A status that stands in the body.
    status: Option<u16>,
    text: String,
    /// Everything in which a known text may hide, in lower case.
    haystack: String,
    request: Option<String>,
    wait: Option<Duration>,
    /// The server's own opinion on trying again.
    should_retry: Option<bool>,
    /// It said nothing at all.
    silent: bool,
}

/// `anthropic (api.anthropic.com)`.
pub(crate) fn place(site: &Site) -> String {
    let host = site.url.host_str().unwrap_or("?");
    match site.url.port() {
        Some(port) => format!("{} ({host}:{port})", site.provider),
        None => format!("{} ({host})", site.provider),
    }
}

/// No answer at all.
pub(crate) fn unreachable(site: &Site, fault: &reqwest::Error) -> ModelError {
    let why = cause(fault);
    let text = match fault.is_connect() {
        true => format!("{} cannot be reached: {why}", place(site)),
        false => format!("the connection to {} failed: {why}", place(site)),
    };
    let hint = match why.to_ascii_lowercase().contains("certificate") {
        true => "If a proxy signs the connection, name its certificate in SSL_CERT_FILE or NODE_EXTRA_CA_CERTS",
        false => "Check the network, the base URL of the provider, and HTTPS_PROXY",
    };
    ModelError::new(ErrorKind::Transport, redacted(site, &text)).with_hint(hint)
}

/// No answer at all, and never one before: a server that cannot be connected to is most likely not
/// there, and asking again only makes a person wait for the news.
pub(crate) fn never_reached(site: &Site, fault: &reqwest::Error) -> ModelError {
    let error = unreachable(site, fault);
    match fault.is_connect() {
        true => ModelError { kind: ErrorKind::NotFound, ..error },
        false => error,
    }
}

/// The answer ended too early.
pub(crate) fn cut(site: &Site, why: Option<&str>) -> ModelError {
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let text = format!("the answer of {} was cut off before its end{why}", place(site));
    ModelError::new(ErrorKind::Transport, text)
}

/// A success that no Messages API sent.
pub(crate) fn no_model(site: &Site, content_type: &str) -> ModelError {
    let kind = if content_type.is_empty() { "no content type" } else { content_type };
    let text = format!("{} answered with {kind} instead of events of a model", place(site));
    ModelError::new(ErrorKind::NotFound, text).with_hint(base_url_hint(site))
}

/// An `error` event in a stream, or a body that is an error in spite of its status.
pub(crate) fn of_event(site: &Site, model: &str, value: &Value) -> ModelError {
    let fault = Fault::read(value);
    let status = status_of(&fault.kind).or(fault.status).unwrap_or(500);
    typed(site, model, status, &fault)
}

/// A response without success. `now` is what a date in `retry-after` is compared with.
pub(crate) fn of_response(
    site: &Site,
    model: &str,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    now: SystemTime,
) -> ModelError {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if (300..400).contains(&status) {
        let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
        let text = format!("{} redirects to {to}, which is not followed with a key", place(site));
        return ModelError::new(ErrorKind::NotFound, text).with_hint(base_url_hint(site));
    }
    let mut fault = match serde_json::from_slice(body) {
        Ok(value) => Fault::read(&value),
        Err(_) => Fault::of_text(&String::from_utf8_lossy(body)),
    };
    let request = header("request-id").or_else(|| header("x-request-id"));
    fault.request = fault.request.or_else(|| request.map(str::to_owned));
    fault.wait = wait(header("retry-after-ms"), header("retry-after"), now);
    fault.should_retry = header("x-should-retry").and_then(|value| value.parse().ok());
    // A precise status says more than a type that a gateway made up.
    let status = match status {
        400 | 422 => status_of(&fault.kind).unwrap_or(status),
        status => status,
    };
    typed(site, model, status, &fault)
}

/// `retry-after` in seconds or as a date; `retry-after-ms` is read first, as the vendor's clients do.
fn wait(millis: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let of_millis = millis.and_then(number).map(|millis| millis / 1000.0);
    if let Some(seconds) = of_millis.or_else(|| after.and_then(number)) {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let date = httpdate::parse_http_date(after?.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

impl Fault {
    /// Both shapes: `{"error": {"type", "message", "details"}}` and `{"error": {"message", "type",
    /// "code"}}`; the same without `error` round it; also a bare text or a `detail`. A gateway puts the
    /// words of the server behind it into `metadata.raw`.
    fn read(value: &Value) -> Self {
        let error = if value["error"].is_object() { &value["error"] } else { value };
        let texts = [&error["message"], &value["error"], &value["message"], &value["detail"]];
        let said = texts.into_iter().find(|text| !text.is_null() && *text != error);
        let mut text = said.map(words).unwrap_or_default();
        if let Some(raw) = error["metadata"]["raw"].as_str() {
            let inner = serde_json::from_str::<Value>(raw).map(|raw| Self::read(&raw).text);
            let inner = inner.ok().filter(|inner| !inner.is_empty()).unwrap_or_else(|| Self::of_text(raw).text);
            text = format!("{text}: {inner}");
        }
        let codes = [&error["details"]["error_code"], &error["code"], &error["type"]];
        let mut haystack = text.to_lowercase();
        for code in codes.iter().filter_map(|code| code.as_str()) {
            haystack.push('\n');
            haystack.push_str(&code.to_lowercase());
        }
        // The code is more precise where both say something.
        let kinds = || [&error["code"], &error["type"]].into_iter().filter_map(Value::as_str);
        let kind = kinds().find(|kind| status_of(kind).is_some()).or_else(|| kinds().next_back()).unwrap_or("");
        let code = &error["code"];
        let number = code.as_u64().or_else(|| code.as_str()?.parse().ok());
        Self {
            kind: if kind == "error" { "" } else { kind }.to_owned(),
            status: number.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)),
            text,
            haystack,
            request: value["request_id"].as_str().map(str::to_owned),
            ..Self::default()
        }
    }

    /// What is not JSON comes from something in between. A page is never shown.
    fn of_text(text: &str) -> Self {
        let text = text.trim();
        let shown = if text.starts_with('<') { "" } else { text };
        Self { text: shown.to_owned(), haystack: shown.to_lowercase(), silent: text.is_empty(), ..Self::default() }
    }

    fn matches(&self, texts: &[Vec<String>]) -> bool {
        texts.iter().any(|parts| parts.iter().all(|part| self.haystack.contains(part)))
    }

    /// `(529 overloaded_error, request req_1: Overloaded)`.
    fn detail(&self, site: &Site, status: u16) -> String {
        let mut detail = status.to_string();
        if !self.kind.is_empty() {
            detail = format!("{detail} {}", self.kind);
        }
        if let Some(request) = &self.request {
            detail = format!("{detail}, request {request}");
        }
        if !self.text.is_empty() {
            detail = format!("{detail}: {}", self.text);
        }
        let mut line = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(SHOWN) {
            line.truncate(end);
            line.push('…');
        }
        format!("({})", redacted(site, &line))
    }
}

/// A text, or the JSON of what stands in its place.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The status that comes with an error type or code.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "conflict_error" => 409,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        "context_length_exceeded" | "exceed_context_size_error" | "BadRequestError" => 400,
        "invalid_api_key" | "AuthenticationError" => 401,
        "model_not_found" | "NotFoundError" => 404,
        "rate_limit_exceeded" | "insufficient_quota" | "exceeded_current_quota_error" | "RateLimitError" => 429,
        "rate_limit_reached_error" => 429,
        "server_error" | "internal_server_error" | "InternalServerError" => 500,
        "service_unavailable" | "unavailable_error" | "engine_overloaded_error" => 503,
        _ => return None,
    })
}

fn kind_of(status: u16, fault: &Fault) -> ErrorKind {
    let texts: Texts = serde_json::from_str(TEXTS).unwrap_or_default();
    let may_overflow = !matches!(status, 401..=404 | 429);
    let kind = match status {
        _ if may_overflow && fault.matches(&texts.overflow) => ErrorKind::ContextOverflow,
        400 | 402 | 403 | 422 if fault.matches(&texts.billing) => ErrorKind::Billing,
        // A spending limit without an end in sight; with one, waiting helps.
        429 if fault.wait.is_none() && fault.matches(&texts.billing) => ErrorKind::Billing,
        // Whatever the server says of waiting, this needs money.
        429 if fault.matches(&texts.quota) => ErrorKind::Billing,
        400 | 422 if fault.matches(&texts.unknown_model) => ErrorKind::NotFound,
        400 | 422 if fault.matches(&texts.thinking) => ErrorKind::Thinking,
        // Where models are chosen by what they can take, none was found.
        400 | 404 | 415 | 422 if fault.matches(&texts.media) => ErrorKind::Media,
        401 | 403 => ErrorKind::Auth,
        402 => ErrorKind::Billing,
        404 => ErrorKind::NotFound,
        413 => ErrorKind::TooLarge,
        // So some servers refuse a prompt that does not fit.
        400 | 422 if fault.silent => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimited(fault.wait),
        408 | 409 | 500.. => ErrorKind::Overloaded(fault.wait),
        _ => ErrorKind::Invalid,
    };
    match fault.should_retry {
        Some(true) if !kind.is_transient() => ErrorKind::Overloaded(fault.wait),
        Some(false) if kind.is_transient() => ErrorKind::Invalid,
        Some(_) | None => kind,
    }
}

fn typed(site: &Site, model: &str, status: u16, fault: &Fault) -> ModelError {
    let (place, detail) = (place(site), fault.detail(site, status));
    let kind = kind_of(status, fault);
    let error = |text: String| ModelError::new(kind, text);
    match kind {
        ErrorKind::Auth if status == 403 => {
            error(format!("{place} does not allow this {detail}")).with_hint(site.key_hint.as_str())
        }
        ErrorKind::Auth => error(format!("{place} does not accept the key {detail}")).with_hint(site.key_hint.as_str()),
        ErrorKind::Billing => error(format!("{place} does not bill this account {detail}"))
            .with_hint("Add credit or raise its spending limit, or choose another provider with --provider"),
        ErrorKind::NotFound if names_model(fault, status) => {
            let known = match site.models.is_empty() {
                true => String::new(),
                false => format!("; known are {}", site.models.join(", ")),
            };
            error(format!("{place} does not know the model {model:?} {detail}"))
                .with_hint(format!("Choose one with --model or RSAGENT_MODEL{known}"))
        }
        ErrorKind::NotFound => {
            error(format!("{place} has nothing at {} {detail}", site.url.path())).with_hint(base_url_hint(site))
        }
        ErrorKind::TooLarge if fault.silent => {
            error(format!("{place} refuses the request without a word {detail}; perhaps it is too large"))
                .with_hint("Shorten the conversation with /compact, or begin a new one with /clear")
        }
        ErrorKind::TooLarge => error(format!("the request is too large for {place} {detail}"))
            .with_hint("Shorten the conversation with /compact, or begin a new one with /clear"),
        ErrorKind::ContextOverflow => {
            error(format!("the conversation does not fit the context window of {model} at {place} {detail}"))
                .with_hint("Shorten it with /compact, or begin a new one with /clear")
        }
        ErrorKind::Media => error(format!("{place} cannot take an image or document of the conversation {detail}"))
            .with_hint("Begin a new conversation with /clear"),
        ErrorKind::Thinking => error(format!("{place} does not take the thinking in the conversation {detail}"))
            .with_hint("Begin a new conversation with /clear"),
        ErrorKind::RateLimited(_) => {
            error(format!("{place} limits how often it is called {detail}")).with_hint("Wait a little and ask again")
        }
        ErrorKind::Overloaded(_) => {
            error(format!("{place} is overloaded or broken {detail}")).with_hint("Ask again later")
        }
        ErrorKind::Transport | ErrorKind::Stalled | ErrorKind::Invalid | ErrorKind::Refused => {
            error(format!("{place} does not take the request {detail}"))
        }
    }
}

/// Whether it is the model that was not found, and not the address.
fn names_model(fault: &Fault, status: u16) -> bool {
    status != 404 || fault.haystack.contains("model")
}

fn base_url_hint(site: &Site) -> String {
    format!("Check the base URL of provider {}", site.provider)
}

/// A key of fewer bytes is a stand-in, and its letters may be anywhere.
const REAL_KEY: usize = 8;

/// The text without the key, should a server repeat it.
fn redacted(site: &Site, text: &str) -> String {
    match &site.auth {
        Auth::Key(Secret(key)) | Auth::Bearer(Secret(key)) if key.len() >= REAL_KEY => {
            text.replace(key.as_str(), "***")
        }
        Auth::Key(_) | Auth::Bearer(_) | Auth::Nothing => text.to_owned(),
    }
}
