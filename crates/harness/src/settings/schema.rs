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
