//! Owns the rows of the table of models and how they are looked up. Data, no decisions.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::price::Price;
use super::shape::Effort;

const BUILT_IN: &str = include_str!("models.json");
/// How often a row may be like another that is like another.
const DEPTH: usize = 8;

/// What one source says of a model, by the names of [`ModelFacts`] in camel case; `like` names a model
/// whose facts hold as well.
pub type Row = Map<String, Value>;

/// What is known of a model. All sizes in tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelFacts {
    /// Prompt and answer together.
    pub context_window: Option<u64>,
    /// The longest answer.
    pub max_output: Option<u32>,
    /// The shortest prompt of which the vendor caches anything.
    pub min_prefix: u64,
    /// Whether it can see images and documents.
    pub images: bool,
    /// How it is told to think.
    pub thinking: Thinking,
    /// Levels of effort, and what is sent for each. Empty: it takes none.
    pub efforts: BTreeMap<Effort, String>,
    /// Fields of a request that it refuses: those that a user's settings add are left out.
    pub rejects: Vec<String>,
    /// Prices by size of the prompt, the smallest first. Empty: not known.
    pub prices: Vec<Price>,
    /// Spoken for by `like`.
    like: Option<String>,
}

impl Default for ModelFacts {
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            min_prefix: 0,
            images: true,
            thinking: Thinking::default(),
            efforts: BTreeMap::new(),
            rejects: Vec::new(),
            prices: Vec::new(),
            like: None,
        }
    }
}

/// How a model is told to think, and what becomes of its thinking. The fields are those of a request's
/// top level, in the dialect in which the model is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Thinking {
    /// Whether `on` is sent unless asked otherwise; else nothing is, and the vendor's default holds.
    pub auto: bool,
    /// What is sent so that it thinks; absent where it cannot be told to.
    pub on: Option<Map<String, Value>>,
    /// What is sent so that it does not; absent where it always does.
    pub off: Option<Map<String, Value>>,
    /// The highest effort with which `off` is taken.
    pub off_up_to: Option<Effort>,
    /// Its thinking is void once something before it changes.
    pub bound: bool,
    /// The vendor wants the thinking of every turn with tools back, or none at all.
    pub echo: bool,
    /// Models whose thinking it can read, beside its own; `*` at the end stands for anything.
    pub reads: Vec<String>,
}

impl Thinking {
    /// Whether the model can be sent the thinking of `other`.
    pub fn reads(&self, other: &str) -> bool {
        self.reads.iter().any(|name| match name.strip_suffix('*') {
            Some(head) => other.starts_with(head),
            None => undated(other) == name,
        })
    }
}

/// A row that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("models.{model}: {fault}. Correct it in the settings file")]
pub struct TableError {
    /// The model.
    pub model: String,
    /// What is wrong.
    pub fault: String,
}

/// The table.
#[derive(Debug, Clone, Default)]
pub struct Table(BTreeMap<String, Row>);

impl Table {
    /// The built-in rows. The file is part of the program; a test reads it too.
    pub fn built_in() -> Self {
        Self(serde_json::from_str(BUILT_IN).unwrap_or_default())
    }

    /// Lays rows over those that are there: what a row says takes the place of what was said before.
    pub fn lay<'a>(&mut self, rows: impl IntoIterator<Item = (&'a String, &'a Row)>) {
        for (model, row) in rows {
            let own = self.0.entry(model.clone()).or_default();
            own.extend(row.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }

    /// What is known of `model`, whose id may end in a date. Of a model without a row nothing is known.
    pub fn facts(&self, model: &str) -> Result<ModelFacts, TableError> {
        let fault = |fault: String| TableError { model: model.to_owned(), fault };
        let Some(mut row) = self.row(model).cloned() else { return Ok(ModelFacts::default()) };
        let mut base = row.clone();
        for _ in 0..DEPTH {
            let Some(like) = base.get("like") else { break };
            let found = like.as_str().and_then(|name| self.row(name));
            base = found.ok_or_else(|| fault(format!("there is no model {like} to be like")))?.clone();
            for (key, value) in &base {
                row.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        serde_path_to_error::deserialize(Value::Object(row)).map_err(|error| fault(error.to_string()))
    }

    fn row(&self, model: &str) -> Option<&Row> {
        self.0.get(model).or_else(|| self.0.get(undated(model)))
    }

    /// The models that it knows.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The id without the date that it may end in.
fn undated(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_built_in_row_can_be_read() {
        let rows: BTreeMap<String, Row> = serde_json::from_str(BUILT_IN).unwrap();
        let table = Table::built_in();
        assert_eq!(table.models().count(), rows.len());
        for model in rows.keys() {
            let facts = table.facts(model).unwrap();
            assert!(facts.context_window.is_some() && facts.max_output.is_some(), "{model}");
        }
    }

    #[test]
    fn rows_are_laid_over_one_another_field_by_field() {
        let mut table = Table::built_in();
        let own = BTreeMap::from([
            ("claude-haiku-5-5".to_owned(), row(r#"{"contextWindow": 5}"#)),
            ("mine".to_owned(), row(r#"{"like": "claude-haiku-5-5", "images": false}"#)),
        ]);
        table.lay(&own);
        let haiku = table.facts("claude-haiku-5-5-20261007").unwrap();
        assert_eq!((haiku.context_window, haiku.max_output, haiku.images), (Some(5), Some(128_000), true));
        let mine = table.facts("mine").unwrap();
        assert_eq!((mine.context_window, mine.images, mine.prices), (Some(5), false, haiku.prices));
        assert_eq!(table.facts("unheard of").unwrap(), ModelFacts::default());
    }

    #[test]
    fn a_bad_row_says_where() {
        let mut table = Table::built_in();
        let rows = [("a", r#"{"like": "b"}"#), ("c", r#"{"prices": [{"input": "x"}]}"#), ("d", r#"{"like": "d"}"#)];
        table.lay(&rows.map(|(name, text)| (name.to_owned(), row(text))).into_iter().collect::<BTreeMap<_, _>>());
        let fault = |model: &str| table.facts(model).map(drop).unwrap_err().to_string();
        assert_eq!(fault("a"), "models.a: there is no model \"b\" to be like. Correct it in the settings file");
        assert!(fault("c").starts_with("models.c: prices[0].input: invalid type: string"), "{}", fault("c"));
        assert!(table.facts("d").is_ok());
    }

    #[test]
    fn who_reads_whose_thinking() {
        let table = Table::built_in();
        let reads = |model: &str, other: &str| table.facts(model).unwrap().thinking.reads(other);
        let pairs = [
            ("claude-opus-5-5", "claude-opus-5"),
            ("claude-opus-5-5", "claude-sonnet-5-5"),
            ("claude-fable-5-1", "claude-opus-5-5"),
            ("claude-sonnet-5-5", "claude-haiku-4-5-20251001"),
            ("claude-sonnet-5-5", "claude-opus-5"),
            ("claude-haiku-5-5", "claude-sonnet-5-5"),
        ];
        assert_eq!(pairs.map(|(model, other)| reads(model, other)), [true, false, true, true, false, false]);
    }
}
