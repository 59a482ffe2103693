//! Owns who is called: one provider as a call sees it, with what errors need to name.
//! Must not know how a call is made.

use std::fmt;

use kernel::{ErrorKind, ModelError};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Url};

use super::Dialect;

/// A key or token. It is never shown: not by `Debug`, not in an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How a provider knows who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `x-api-key`.
    Key(Secret),
    /// `authorization: Bearer`.
    Bearer(Secret),
    /// Not at all, as servers on this machine.
    Nothing,
}

/// One provider as a call sees it, with what errors need to name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The provider's name.
    pub provider: String,
    /// How it speaks.
    pub dialect: Dialect,
    /// The full address that is called.
    pub url: Url,
    /// How it knows us.
    pub auth: Auth,
    /// What to do about a missing or wrong key, as a sentence without its full stop.
    pub key_hint: String,
    /// Models that it is known to have.
    pub models: Vec<String>,
}

impl Site {
    /// The request with what every call carries beside its body.
    pub(crate) fn authorized(&self, request: RequestBuilder) -> Result<RequestBuilder, ModelError> {
        let mut request = request.header(CONTENT_TYPE, "application/json");
        for (name, value) in self.dialect.headers() {
            request = request.header(*name, *value);
        }
        let (name, value) = match &self.auth {
            Auth::Nothing => return Ok(request),
            Auth::Key(Secret(key)) => ("x-api-key", key.clone()),
            Auth::Bearer(Secret(token)) => (AUTHORIZATION.as_str(), format!("Bearer {token}")),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let text = format!("the key of {} holds characters that no key has", self.provider);
            ModelError::new(ErrorKind::Auth, text).with_hint(self.key_hint.as_str())
        })?;
        value.set_sensitive(true);
        Ok(request.header(name, value))
    }
}
