//! Owns the published JSON Schema of settings files. Must not know what a value leads to.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::content::Settings;
use super::known::known;

/// The schema: our keys with their meaning, and those that are only kept.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Settings).to_value();
    let kept: Vec<_> = known().into_iter().collect();
    for (key, known) in kept {
        let about = format!("Of Claude Code; kept and without effect here. {}", known.about);
        let place = match key.split_once('.') {
            None => schema.pointer_mut("/properties"),
            Some(_) => schema.pointer_mut("/$defs/Permissions/properties"),
        };
        let name = key.rsplit('.').next().unwrap_or(&key).to_owned();
        if let Some(Value::Object(properties)) = place {
            // A key that has a meaning here keeps it.
            properties.entry(name).or_insert_with(|| json!({"type": known.kind, "description": about}));
        }
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        sort(properties);
    }
    schema
}

fn sort(properties: &mut Map<String, Value>) {
    let mut all: Vec<(String, Value)> = std::mem::take(properties).into_iter().collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    properties.extend(all);
}

pub(super) fn effort(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "enum": ["low", "medium", "high", "xhigh", "max", null]})
}

pub(super) fn mode(_: &mut SchemaGenerator) -> Schema {
    let modes = ["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "manual", "auto"];
    let modes: Vec<Value> = modes.into_iter().map(Value::from).chain([Value::Null]).collect();
    json_schema!({"type": ["string", "null"], "enum": modes})
}

pub(super) fn quirks(_: &mut SchemaGenerator) -> Schema {
    let names = ["maxCompletionTokens", "shortIds", "noReasoning", "echo", "reasoningDetails", "files", "typedSchemas"];
    let properties: Map<String, Value> =
        names.into_iter().map(|name| (name.to_owned(), json!({"type": "boolean"}))).collect();
    json_schema!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

pub(super) fn models(_: &mut SchemaGenerator) -> Schema {
    let tokens = json!({"type": "integer", "minimum": 0});
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "like": {"type": "string", "description": "A model whose facts hold as well."},
                "contextWindow": {"description": "Prompt and answer together, in tokens.", "allOf": [tokens]},
                "maxOutput": {"description": "The longest answer, in tokens.", "allOf": [tokens]},
                "minPrefix": {"description": "The shortest prompt that is cached, in tokens.", "allOf": [tokens]},
                "images": {"type": "boolean", "description": "Whether it can see images and documents."},
                "thinking": {"type": "object", "description": "How it is told to think."},
                "efforts": {"type": "object", "description": "Levels of effort, and what is sent for each."},
                "rejects": {
                    "type": "array", "items": {"type": "string"},
                    "description": "Fields of a request that it refuses."
                },
                "prices": {
                    "type": "array", "items": {"type": "object"},
                    "description": "US dollars for a million tokens, by size of the prompt, the smallest first."
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of JSON Schema that ours uses. Gives where a value does not fit.
    fn misfits(whole: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(name) = schema["$ref"].as_str() {
            return misfits(whole, whole.pointer(name.trim_start_matches('#')).unwrap(), value, at);
        }
        if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let fits = any.iter().any(|schema| misfits(whole, schema, value, at).is_empty());
            return if fits { Vec::new() } else { vec![at.to_owned()] };
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            Value::Null => Vec::new(),
            kind => vec![kind.clone()],
        };
        let is = |kind: &Value| match kind.as_str().unwrap() {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.is_u64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            other => panic!("{other}"),
        };
        let listed = schema["enum"].as_array().is_none_or(|values| values.contains(value));
        let one = schema["const"].is_null() || schema["const"] == *value;
        if !kinds.is_empty() && !kinds.iter().any(is) || !listed || !one {
            return vec![at.to_owned()];
        }
        let mut found = Vec::new();
        for (key, part) in value.as_object().into_iter().flatten() {
            let schema = match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => {
                    found.push(format!("{at}.{key}"));
                    continue;
                }
                (Value::Null, schema) | (schema, _) => schema,
            };
            found.extend(misfits(whole, schema, part, &format!("{at}.{key}")));
        }
        for (index, part) in value.as_array().into_iter().flatten().enumerate() {
            found.extend(misfits(whole, &schema["items"], part, &format!("{at}[{index}]")));
        }
        found
    }

    fn check(value: &Value) -> Vec<String> {
        let schema = schema();
        misfits(&schema, &schema, value, "")
    }

    /// A key that gets a meaning leaves the list of those that have none.
    #[test]
    fn no_key_is_both_ours_and_only_kept() {
        let ours = schemars::schema_for!(Settings).to_value();
        let both: Vec<String> = known().into_keys().filter(|key| !ours["properties"][key].is_null()).collect();
        assert_eq!(both, Vec::<String>::new());
    }

    /// The schema and the types that read a file are of one mind.
    #[test]
    fn our_examples_fit_and_wrong_types_do_not() {
        let readme = include_str!("../../../../README.md");
        let (_, settings) = readme.split_once("\n## Settings\n").unwrap();
        let example = settings.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let full = json!({
            "$schema": "x", "model": "m", "fallbackModel": ["a"], "effortLevel": "xhigh", "alwaysThinkingEnabled": false,
            "permissions": {"allow": ["Read"], "ask": [], "deny": [], "defaultMode": "dontAsk",
                "additionalDirectories": ["/a"], "disableBypassPermissionsMode": "disable", "builtinDeny": [],
                "disableAutoMode": "disable"},
            "env": {"A": "x", "B": 1, "C": true}, "hooks": {}, "trustedFolders": ["/a"],
            "providers": {"p": {"dialect": "openai", "baseUrl": "http://x", "apiKeyEnv": "K", "model": "m",
                "smallModel": "s", "quirks": {"shortIds": true}, "body": {"x": [1]}}},
            "models": {"m": {"contextWindow": 1, "maxOutput": 1, "images": true, "prices": [{"input": 1, "output": 2}]}}
        });
        for value in [serde_json::from_str(example).unwrap(), full, json!({"fallbackModel": "a"}), json!({})] {
            assert_eq!(check(&value), Vec::<String>::new(), "{value}");
            assert_eq!(super::super::file::typed(&value.to_string()).unwrap().unknown_keys(), Vec::<String>::new());
        }
        for (value, at) in [
            (json!([]), ""),
            (json!({"model": 1}), ".model"),
            (json!({"effortLevel": "huge"}), ".effortLevel"),
            (json!({"fallbackModel": 1}), ".fallbackModel"),
            (json!({"permissions": []}), ".permissions"),
            (json!({"permissions": {"deny": [1]}}), ".permissions.deny[0]"),
            (json!({"permissions": {"defaultMode": "wild"}}), ".permissions.defaultMode"),
            (
                json!({"permissions": {"disableBypassPermissionsMode": "no"}}),
                ".permissions.disableBypassPermissionsMode",
            ),
            (json!({"env": {"A": []}}), ".env.A"),
            (json!({"providers": {"p": {"quirks": {"x": true}}}}), ".providers.p.quirks.x"),
        ] {
            assert_eq!(check(&value), [at], "{value}");
            let read = super::super::file::object(&value.to_string())
                .and_then(|_| super::super::file::typed(&value.to_string()));
            assert!(read.is_err(), "{value}");
        }
    }
}
