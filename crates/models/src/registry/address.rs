//! Owns how a base URL and the path of an endpoint are put together. Must not know providers.

use reqwest::Url;

/// The address of an endpoint such as `/v1/messages` at `base`, which may end in a slash, in a version
/// of its own such as `/v4`, or in the whole path.
pub(super) fn join(base: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|fault| fault.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("it must begin with https:// or http://".to_owned());
    }
    let given = url.path().trim_end_matches('/');
    let (version, rest) = path.split_at(path[1..].find('/').map_or(path.len(), |at| at + 1));
    let root = given.strip_suffix(rest).unwrap_or(given);
    let last = root.rsplit('/').next().unwrap_or("");
    let versioned = last.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    let joined = if versioned { format!("{root}{rest}") } else { format!("{root}{version}{rest}") };
    url.set_path(&joined);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them() {
        let at = |base: &str, path: &str| join(base, path).unwrap().to_string();
        let chat = "/v1/chat/completions";
        for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/v1/chat/completions"] {
            assert_eq!(at(base, chat), "http://h:1/v1/chat/completions");
        }
        assert_eq!(at("https://h/api/paas/v4", chat), "https://h/api/paas/v4/chat/completions");
        assert_eq!(at("https://h/api/v1beta/", chat), "https://h/api/v1beta/chat/completions");
        assert_eq!(at("https://h/compatible-mode", chat), "https://h/compatible-mode/v1/chat/completions");
        assert_eq!(at("https://h/anthropic", "/v1/messages"), "https://h/anthropic/v1/messages");
        assert_eq!(join("h:1", chat).unwrap_err(), "it must begin with https:// or http://");
    }
}
