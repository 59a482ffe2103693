//! Owns schemas in which every property says its type, as some providers demand.
//! Must not know tools. Schemas that say their types are the same afterwards.

use serde_json::{Map, Value, json};

/// Words that tell what a value is without saying a type.
const TOLD: [&str; 6] = ["type", "$ref", "anyOf", "oneOf", "allOf", "not"];
/// Words whose value is a map of schemas, one schema or many.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
const NESTED: [&str; 6] = ["items", "additionalProperties", "prefixItems", "anyOf", "oneOf", "allOf"];

/// The same schema with types where they were left out.
pub(super) fn typed(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let mut typed: Map<String, Value> = map.iter().map(|(key, value)| (key.clone(), inner(key, value))).collect();
    if !TOLD.iter().any(|word| map.contains_key(*word)) {
        typed.insert("type".into(), json!(guess(map)));
    }
    Value::Object(typed)
}

fn inner(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if NAMED.contains(&key) => {
            map.iter().map(|(name, schema)| (name.clone(), typed(schema))).collect()
        }
        Value::Object(_) if NESTED.contains(&key) => typed(value),
        Value::Array(list) if NESTED.contains(&key) => list.iter().map(typed).collect(),
        other => other.clone(),
    }
}

fn guess(map: &Map<String, Value>) -> &'static str {
    let sample = map.get("const").or_else(|| map.get("enum")?.get(0));
    match sample {
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        Some(Value::Bool(_)) => "boolean",
        _ if map.contains_key("properties") || map.contains_key("additionalProperties") => "object",
        _ if map.contains_key("items") => "array",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_filled_in_where_they_are_missing() {
        let given = json!({"type": "object", "properties": {
            "mode": {"enum": ["a", "b"]},
            "level": {"enum": [1, 2]},
            "list": {"type": "array", "items": {"description": "x"}},
            "deep": {"properties": {"type": {"default": 3}}},
            "any": {"anyOf": [{"const": true}, {"$ref": "#/$defs/x"}]},
        }, "$defs": {"x": {"items": {}}}, "required": ["mode"], "additionalProperties": false});
        let expected = json!({"type": "object", "properties": {
            "mode": {"enum": ["a", "b"], "type": "string"},
            "level": {"enum": [1, 2], "type": "integer"},
            "list": {"type": "array", "items": {"description": "x", "type": "string"}},
            "deep": {"properties": {"type": {"default": 3, "type": "string"}}, "type": "object"},
            "any": {"anyOf": [{"const": true, "type": "boolean"}, {"$ref": "#/$defs/x"}]},
        }, "$defs": {"x": {"items": {"type": "string"}, "type": "array"}}, "required": ["mode"], "additionalProperties": false});
        assert_eq!(typed(&given), expected);
        assert_eq!(typed(&expected), expected);
    }
}
