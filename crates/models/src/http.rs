//! Owns the HTTP client: TLS, proxies, connections and their reuse.
//! Must not know dialects, and reads no environment: proxies and certificates arrive as data.

use std::error::Error;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reqwest::tls::Certificate;
use reqwest::{Client, NoProxy, Proxy, Url, redirect};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How the network is reached. The default is: directly, trusting what the system trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetConfig {
    /// Proxy of `https://` addresses.
    pub https_proxy: Option<String>,
    /// Proxy of `http://` addresses.
    pub http_proxy: Option<String>,
    /// Hosts that are reached without a proxy, apart by commas.
    pub no_proxy: Option<String>,
    /// PEM files with certificates that are trusted beside the system's.
    pub ca_files: Vec<PathBuf>,
}

/// A client that does not exist before its first use: a program that never calls a model loads no
/// certificates. All calls share its connections.
#[derive(Debug)]
pub struct Http {
    config: NetConfig,
    client: OnceLock<Result<Client, String>>,
    /// Whether the server has ever answered: before that, a wrong address is likelier than a bad moment.
    pub answered: AtomicBool,
}

impl Http {
    /// A client that reaches the network as `config` says.
    pub fn new(config: NetConfig) -> Self {
        Self { config, client: OnceLock::new(), answered: AtomicBool::new(false) }
    }

    /// The client for `url`. One `Http` serves one server: the first address decides whether TLS is
    /// set up. The error says which part of the configuration is at fault.
    pub fn client(&self, url: &Url) -> Result<&Client, String> {
        let built = self.client.get_or_init(|| {
            let proxied = |proxy: &Option<String>| proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https"));
            build(&self.config, url.scheme() == "https" || proxied(&self.config.http_proxy))
        });
        built.as_ref().map_err(String::clone)
    }
}

fn build(config: &NetConfig, tls: bool) -> Result<Client, String> {
    // The one crypto provider that is compiled in. Installing it can only fail because there is
    // one already, and then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("rsagent/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEP_ALIVE)
        // A redirect would carry the key to a host that nobody named.
        .redirect(redirect::Policy::none())
        .no_proxy();
    builder = match tls {
        true => builder.tls_certs_merge(certificates(config)?),
        // Without TLS the system's certificates need not be read.
        false => builder.tls_certs_only([]),
    };
    let direct = config.no_proxy.as_deref().and_then(NoProxy::from_string);
    if let Some(address) = &config.https_proxy {
        builder = builder.proxy(proxy(Proxy::https(address), address)?.no_proxy(direct.clone()));
    }
    if let Some(address) = &config.http_proxy {
        builder = builder.proxy(proxy(Proxy::http(address), address)?.no_proxy(direct));
    }
    builder.build().map_err(|fault| format!("the HTTP client cannot be set up: {}", cause(&fault)))
}

fn proxy(proxy: reqwest::Result<Proxy>, address: &str) -> Result<Proxy, String> {
    // What is before an `@` may be a password.
    let shown = address.rsplit('@').next().unwrap_or(address);
    proxy.map_err(|fault| format!("the proxy address {shown:?} cannot be used: {}", cause(&fault)))
}

fn certificates(config: &NetConfig) -> Result<Vec<Certificate>, String> {
    let mut all = Vec::new();
    for file in &config.ca_files {
        let fault =
            |fault: &dyn Error| format!("the certificate file {} cannot be used: {}", file.display(), cause(fault));
        let pem = std::fs::read(file).map_err(|error| fault(&error))?;
        all.extend(Certificate::from_pem_bundle(&pem).map_err(|error| fault(&error))?);
    }
    Ok(all)
}

/// The innermost reason: the outer ones repeat the address or say only that something failed.
pub(crate) fn cause(fault: &dyn Error) -> String {
    let mut inner = fault;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
