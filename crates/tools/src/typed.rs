//! Owns how one input struct becomes a tool's schema, its validation and its parsing. Must not know
//! which tools there are.

use async_trait::async_trait;
use kernel::{Judgement, Place, Rules, Tool, ToolContext, ToolOutput};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool whose input is a struct: the doc comments of its fields are what the model reads of them.
/// The struct derives `Deserialize` and `JsonSchema` and has `#[serde(deny_unknown_fields)]`.
///
/// Every default fails closed, as in [`Tool`].
#[async_trait]
pub trait TypedTool: Send + Sync + 'static {
    /// What the model sends.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// The name that the model calls.
    const NAME: &'static str;

    /// The prompt text: Markdown beside the code, by `include_str!`.
    const DESCRIPTION: &'static str;

    /// Whether this call may run beside others.
    fn is_concurrency_safe(&self, input: &Self::Input) -> bool {
        let _ = input;
        false
    }

    /// Whether this call may begin while the model still speaks; see [`Tool::may_start_early`].
    fn may_start_early(&self, input: &Self::Input) -> bool {
        let _ = input;
        false
    }

    /// What bears on whether this call may happen.
    fn judge(&self, input: &Self::Input, rules: &Rules, place: &Place) -> Judgement {
        let _ = (input, place);
        Judgement::unjudged_under(Self::NAME, rules)
    }

    /// Does the work; see [`Tool::call`].
    async fn call(&self, input: Self::Input, context: &ToolContext) -> ToolOutput;
}

/// A typed tool as the kernel knows tools.
pub struct Typed<T>(pub T);

#[async_trait]
impl<T: TypedTool> Tool for Typed<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION.trim_end()
    }

    fn input_schema(&self) -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T::Input>();
        Plain.transform(&mut schema);
        // The struct's own comment is for readers of the code.
        schema.remove("description");
        schema.to_value()
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<T::Input>(input).map(drop)
    }

    fn is_concurrency_safe(&self, input: &Value) -> bool {
        parse(input).is_ok_and(|input| self.0.is_concurrency_safe(&input))
    }

    fn may_start_early(&self, input: &Value) -> bool {
        parse(input).is_ok_and(|input| self.0.may_start_early(&input))
    }

    fn judge(&self, input: &Value, rules: &Rules, place: &Place) -> Judgement {
        match parse(input) {
            Ok(input) => self.0.judge(&input, rules, place),
            Err(reason) => Judgement { reason, ..Judgement::unjudged_under(T::NAME, rules) },
        }
    }

    async fn call(&self, input: Value, context: &ToolContext) -> ToolOutput {
        match parse(&input) {
            Ok(input) => self.0.call(input, context).await,
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

/// Why an input is not even an object, if so.
fn not_object(input: &Value) -> Option<String> {
    let text = match input.get(INVALID) {
        None if input.is_object() => return None,
        given => given.and_then(Value::as_str).unwrap_or("null"),
    };
    Some(match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => "the input must be a JSON object".to_owned(),
        Err(fault) if fault.is_eof() => "the input was cut before its end. Call again, with less in it".to_owned(),
        Err(fault) => format!("the input is not JSON ({fault}). Call again"),
    })
}

/// The field that holds what a model sent where it was no JSON, as the Messages API has it.
const INVALID: &str = "INVALID_JSON";

/// Reads an input. The error names the field where there is one to name.
fn parse<I: DeserializeOwned>(input: &Value) -> Result<I, String> {
    if let Some(fault) = not_object(input) {
        return Err(fault);
    }
    serde_path_to_error::deserialize(input).map_err(|fault| {
        let path = fault.path().to_string();
        let inner = fault.into_inner().to_string();
        // Errors about fields as such (missing, unknown) name them already.
        if path == "." || inner.contains(&format!("field `{path}`")) { inner } else { format!("`{path}`: {inner}") }
    })
}

/// Takes out of a schema what says nothing to a model: Rust's names and number formats, and the
/// null that stands for an optional field left out.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        for noise in ["$schema", "title", "format", "default"] {
            schema.remove(noise);
        }
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
        transform_subschemas(self, schema);
    }
}

/// The path of a file as a model writes it: neither empty nor with a NUL in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct FilePath(String);

impl FilePath {
    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FilePath {
    type Error = &'static str;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        match path.as_str() {
            "" => Err("the path is empty; name a file"),
            path if path.contains('\0') => Err("the path holds a NUL character"),
            _ => Ok(Self(path)),
        }
    }
}

impl From<FilePath> for String {
    fn from(path: FilePath) -> Self {
        path.0
    }
}
