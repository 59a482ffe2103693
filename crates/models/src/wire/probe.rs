//! Owns the question whether a provider is there and which models it has (`GET /v1/models`, which both
//! dialects have). Must not know what is done with the answer.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use kernel::{ErrorKind, ModelError};
use serde_json::{Value, json};

use super::{Site, error};
use crate::http::{Http, NetConfig};
use crate::table::Row;

/// Longer than this nobody waits for a list.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest list that is read, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;
/// What providers call the sizes of a model, and our names for them; the first that is there holds.
const NAMES: [(&str, &[&str]); 2] =
    [("contextWindow", &["max_input_tokens", "context_length", "max_model_len"]), ("maxOutput", &["max_tokens"])];

/// The models that a provider has, and what it says of each. The error says why it cannot be used.
pub async fn probe(site: &Site, network: &NetConfig) -> Result<BTreeMap<String, Row>, ModelError> {
    let late =
        || ModelError::new(ErrorKind::Stalled, format!("{} does not answer within {PATIENCE:?}", error::place(site)));
    tokio::time::timeout(PATIENCE, ask(site, network)).await.unwrap_or_else(|_| Err(late()))
}

async fn ask(site: &Site, network: &NetConfig) -> Result<BTreeMap<String, Row>, ModelError> {
    let http = Http::new(network.clone());
    let client = http.client(&site.url).map_err(|fault| ModelError::new(ErrorKind::Invalid, fault))?;
    let mut url = site.url.clone();
    let root = url.path().strip_suffix(site.dialect.endpoint()).unwrap_or("").to_owned();
    url.set_path(&format!("{root}/models"));
    let sent = site.authorized(client.get(url))?.send().await;
    let mut response = sent.map_err(|fault| error::unreachable(site, &fault))?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|fault| error::unreachable(site, &fault))? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            let text = format!("{} sent a list of models without end", error::place(site));
            return Err(ModelError::new(ErrorKind::Invalid, text));
        }
    }
    if !response.status().is_success() {
        let (status, headers) = (response.status().as_u16(), response.headers());
        return Err(error::of_response(site, "", status, headers, &body, SystemTime::now()));
    }
    Ok(read(&body))
}

/// What is no list has no models in it.
fn read(body: &[u8]) -> BTreeMap<String, Row> {
    let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let named = value["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|model| Some((model["id"].as_str()?.to_owned(), row(model))));
    named.collect()
}

fn row(model: &Value) -> Row {
    let known = |(ours, theirs): &(&str, &[&str])| {
        let size = theirs.iter().find_map(|name| model[*name].as_u64().filter(|size| *size > 0))?;
        Some(((*ours).to_owned(), json!(size)))
    };
    NAMES.iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_any_name() {
        let body = json!({"data": [
            {"id": "a", "max_input_tokens": 5, "max_tokens": 2, "capabilities": {}},
            {"id": "b", "context_length": 7, "max_tokens": null},
            {"id": "c", "max_model_len": 0},
            {"name": "d"},
        ]});
        let told: Vec<String> = read(body.to_string().as_bytes())
            .into_iter()
            .map(|(id, row)| format!("{id} {}", Value::Object(row)))
            .collect();
        assert_eq!(told, [r#"a {"contextWindow":5,"maxOutput":2}"#, r#"b {"contextWindow":7}"#, "c {}"]);
        assert_eq!(read(b"<html>"), BTreeMap::new());
        assert_eq!(read(b"[]"), BTreeMap::new());
    }
}
