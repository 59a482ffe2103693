//! Failures as a person reads them: kind, sentence and hint, and never the key.

use std::time::{Duration, SystemTime};

use kernel::ErrorKind;
use models::NetConfig;

use crate::server::{Reply, Server};
use crate::support::{KEY, fail, hello, model_at, model_with};

/// What becomes of this reply, as kind and text with the address replaced.
async fn told(reply: Reply) -> (ErrorKind, String) {
    let server = Server::start(vec![reply]).await;
    let mut request = hello();
    request.retries = kernel::RetryBudget::new(0);
    let error = fail(&model_at(&server.url), request).await;
    assert!(!format!("{error:?}").contains(KEY));
    let host = server.url.trim_start_matches("http://");
    (error.kind, error.to_string().replace(host, "HOST"))
}

fn error(status: &'static str, kind: &str, message: &str) -> Reply {
    let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#);
    Reply::new(status, "application/json", &body)
}

#[tokio::test]
async fn a_wrong_key() {
    let (kind, text) =
        told(error("401 Unauthorized", "authentication_error", "invalid x-api-key sk-ant-secret-1234")).await;
    assert_eq!(kind, ErrorKind::Auth);
    insta::assert_snapshot!(text, @"anthropic (HOST) does not accept the key (401 authentication_error, request req_1: invalid x-api-key ***). Set ANTHROPIC_API_KEY to a valid key");
}

#[tokio::test]
async fn an_unknown_model() {
    let (kind, text) = told(error("404 Not Found", "not_found_error", "model: claude-test")).await;
    assert_eq!(kind, ErrorKind::NotFound);
    insta::assert_snapshot!(text, @r#"anthropic (HOST) does not know the model "claude-test" (404 not_found_error, request req_1: model: claude-test). Choose one with --model or RSAGENT_MODEL; known are claude-sonnet-5-5, claude-opus-5-5, claude-haiku-5-5, claude-fable-5-1"#);
    let deepseek = r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#;
    let (kind, _) = told(Reply::new("400 Bad Request", "application/json", deepseek)).await;
    assert_eq!(kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_wrong_address() {
    let (kind, text) = told(Reply::new("404 Not Found", "text/plain", "404 page not found")).await;
    assert_eq!(kind, ErrorKind::NotFound);
    insta::assert_snapshot!(text, @"anthropic (HOST) has nothing at /v1/messages (404: 404 page not found). Check the base URL of provider anthropic");
    let moved = Reply::new("307 Temporary Redirect", "text/html", "<a>").header("location", "https://x.test/");
    let (kind, text) = told(moved).await;
    assert_eq!(kind, ErrorKind::NotFound);
    insta::assert_snapshot!(text, @"anthropic (HOST) redirects to https://x.test/, which is not followed with a key. Check the base URL of provider anthropic");
}

#[tokio::test]
async fn a_host_that_has_answered_before_may_come_back() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let once = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\"stream\":true}") {
            let mut piece = [0; 4096];
            let length = connection.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..length]);
        }
        let answer = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        connection.write_all(answer.as_bytes()).unwrap();
    });
    let model = model_with(&[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &url)], NetConfig::default());
    let mut request = hello();
    request.retries = kernel::RetryBudget::new(0);
    assert_eq!(fail(&model, request.clone()).await.kind, ErrorKind::Auth);
    once.join().unwrap();
    assert_eq!(fail(&model, request).await.kind, ErrorKind::Transport);
}

#[tokio::test]
async fn an_unreachable_host() {
    // Port 9 of loopback: nobody listens.
    let model =
        model_with(&[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")], NetConfig::default());
    // Not asked again: an address that never answered is most likely wrong.
    let error = fail(&model, hello()).await;
    assert_eq!(error.kind, ErrorKind::NotFound);
    // What comes between is the system's own word for it.
    let text = error.to_string();
    let hint = ". Check the network, the base URL of the provider, and HTTPS_PROXY";
    assert!(text.starts_with("anthropic (127.0.0.1:9) cannot be reached: "), "{text}");
    assert!(text.ends_with(hint), "{text}");
}

#[tokio::test]
async fn retry_gateway_html_4b9c76() {
    let page = "<html><head><title>502</title></head><body>Bad gateway</body></html>";
    let (kind, text) = told(Reply::new("502 Bad Gateway", "text/html", page)).await;
    assert_eq!(kind, ErrorKind::Overloaded(None));
    insta::assert_snapshot!(text, @"anthropic (HOST) is overloaded or broken (502). Ask again later");
}

/// A refusal without a word may be for the size of the prompt; whether it is worth trying with less,
/// the size decides (the loop's test of the same name).
#[tokio::test]
async fn retry_overflow_6a3b98() {
    for status in ["413 Payload Too Large", "400 Bad Request", "422 Unprocessable Entity"] {
        for content_type in ["application/json", "text/plain"] {
            let (kind, text) = told(Reply::new(status, content_type, "")).await;
            assert_eq!(kind, ErrorKind::TooLarge, "{status}");
            let number = &status[..3];
            let expected = format!(
                "anthropic (HOST) refuses the request without a word ({number}); perhaps it is too large. \
                 Shorten the conversation with /compact, or begin a new one with /clear"
            );
            assert_eq!(text, expected);
        }
    }
    // What says something says it, and a page is no silence.
    let page = "<html><body>Bad request</body></html>";
    assert_eq!(told(Reply::new("400 Bad Request", "text/html", page)).await.0, ErrorKind::Invalid);
    assert_eq!(told(Reply::new("400 Bad Request", "text/plain", "bad")).await.0, ErrorKind::Invalid);
    assert_eq!(told(Reply::new("404 Not Found", "text/plain", "")).await.0, ErrorKind::NotFound);
    assert_eq!(told(Reply::new("502 Bad Gateway", "text/plain", "")).await.0, ErrorKind::Overloaded(None));
}

#[tokio::test]
async fn retry_429_a28d8f() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your monthly limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    let reply = Reply::new("429 Too Many Requests", "application/json", body);
    let (kind, text) = told(reply.clone()).await;
    assert_eq!(kind, ErrorKind::Billing);
    insta::assert_snapshot!(text, @"anthropic (HOST) does not bill this account (429 rate_limit_error: This request would exceed your monthly limit). Add credit or raise its spending limit, or choose another provider with --provider");
    let (kind, _) = told(reply.header("retry-after", "7")).await;
    assert_eq!(kind, ErrorKind::RateLimited(Some(Duration::from_secs(7))));
}

#[tokio::test]
async fn kinds_by_status_type_and_text() {
    let bad = "400 Bad Request";
    let cases = [
        (error("402 Payment Required", "billing_error", "no"), ErrorKind::Billing),
        (error("403 Forbidden", "permission_error", "no"), ErrorKind::Auth),
        (error("413 Payload Too Large", "request_too_large", "no"), ErrorKind::TooLarge),
        (Reply::new("413 Payload Too Large", "text/html", ""), ErrorKind::TooLarge),
        (error("408 Request Timeout", "x", "no"), ErrorKind::Overloaded(None)),
        (error("409 Conflict", "conflict_error", "no"), ErrorKind::Overloaded(None)),
        (error("500 Internal Server Error", "api_error", "no"), ErrorKind::Overloaded(None)),
        (error("503 Service Unavailable", "x", "busy"), ErrorKind::Overloaded(None)),
        (error("529 Overloaded", "overloaded_error", "no"), ErrorKind::Overloaded(None)),
        (error(bad, "invalid_request_error", "messages: text must be non-empty"), ErrorKind::Invalid),
        (error(bad, "overloaded_error", "no"), ErrorKind::Overloaded(None)),
        (
            error(
                bad,
                "invalid_request_error",
                "You have reached your specified API usage limits. You will regain access on 2026-12-01",
            ),
            ErrorKind::Billing,
        ),
        (error(bad, "invalid_request_error", "Your credit balance is too low to access the API"), ErrorKind::Billing),
        (
            error(bad, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            ErrorKind::ContextOverflow,
        ),
        (error(bad, "x", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"), ErrorKind::ContextOverflow),
        (error("429 Too Many Requests", "rate_limit_error", "prompt is too long"), ErrorKind::RateLimited(None)),
        (
            Reply::new(
                "402 Payment Required",
                "application/json",
                r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            ),
            ErrorKind::Billing,
        ),
        (
            Reply::new("422 Unprocessable Entity", "application/json", r#"{"error":{"message":"bad field"}}"#),
            ErrorKind::Invalid,
        ),
        (error("500 Internal Server Error", "api_error", "no").header("x-should-retry", "false"), ErrorKind::Invalid),
        (error(bad, "x", "no").header("x-should-retry", "true"), ErrorKind::Overloaded(None)),
    ];
    for (reply, expected) in cases {
        let shown = format!("{reply:?}");
        assert_eq!(told(reply).await.0, expected, "{shown}");
    }
}

#[tokio::test]
async fn how_long_to_wait() {
    let limited = || error("429 Too Many Requests", "rate_limit_error", "no");
    let seconds = |seconds| ErrorKind::RateLimited(Some(Duration::from_secs(seconds)));
    assert_eq!(told(limited().header("retry-after", "300")).await.0, seconds(300));
    let both = limited().header("retry-after", "9").header("retry-after-ms", "1500");
    assert_eq!(told(both).await.0, ErrorKind::RateLimited(Some(Duration::from_millis(1500))));
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    assert_eq!(told(limited().header("retry-after", past)).await.0, seconds(0));
    let hour = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    let (ErrorKind::RateLimited(Some(wait)), _) = told(limited().header("retry-after", &hour)).await else {
        panic!("no wait");
    };
    assert!(wait > Duration::from_secs(3000) && wait <= Duration::from_secs(3600));
    assert_eq!(told(limited().header("retry-after", "soon")).await.0, ErrorKind::RateLimited(None));
}

#[tokio::test]
async fn the_words_of_a_server_are_one_short_line() {
    let long = format!("a\n\n{}", "b".repeat(5000));
    let (_, text) = told(Reply::new("400 Bad Request", "text/plain", &long)).await;
    assert!(text.chars().count() < 400 && !text.contains('\n'), "{text}");
}

#[tokio::test]
async fn a_certificate_file_that_cannot_be_read() {
    let network = NetConfig { ca_files: vec!["/no/such.pem".into()], ..NetConfig::default() };
    let model = model_with(&[("ANTHROPIC_API_KEY", KEY)], network);
    let error = fail(&model, hello()).await;
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.message.contains("/no/such.pem"), "{error}");
    assert!(error.to_string().contains("NODE_EXTRA_CA_CERTS"), "{error}");
}
