//! Owns the `Read` tool: a window of a text file, numbered, or an image. Must not know how a file is opened.

use std::fmt::Write as _;
use std::path::Path;

use async_trait::async_trait;
use host::files::{FileError, Window, read_window};
use kernel::{Judgement, Place, Rules, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use shell::Access;

use crate::media;
use crate::rules::{judge_file, locate};
use crate::typed::{FilePath, TypedTool};

/// Lines in a result unless `limit` says otherwise.
const DEFAULT_LINES: usize = 2_000;
/// Text in a result, whatever `limit` says; a little more where the last line is long.
const MAX_BYTES: usize = 200_000;

/// Reads a part of a text file, or an image.
pub struct Read;

/// The input of `Read`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the file, absolute or relative to the working folder.
    file_path: FilePath,
    /// First line to read, from 1.
    offset: Option<usize>,
    /// How many lines to read.
    limit: Option<usize>,
}

#[async_trait]
impl TypedTool for Read {
    type Input = Input;
    const NAME: &'static str = "Read";
    const DESCRIPTION: &'static str = include_str!("read.md");

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    fn may_start_early(&self, _input: &Input) -> bool {
        true
    }

    fn judge(&self, input: &Input, rules: &Rules, place: &Place) -> Judgement {
        judge_file(Access::Read, &input.file_path, rules, place)
    }

    async fn call(&self, input: Input, context: &ToolContext) -> ToolOutput {
        let path = locate(&input.file_path, &context.place).given;
        let first = input.offset.unwrap_or(1).max(1);
        let limit = input.limit.unwrap_or(DEFAULT_LINES).max(1);
        let reading = tokio::task::spawn_blocking(move || match read_window(&path, first, limit, MAX_BYTES) {
            Ok(window) => show(&path, first, &window),
            // Every image has a NUL near its beginning.
            Err(fault @ FileError::Binary { .. }) => media::read(&path).unwrap_or_else(|| ToolOutput::error(fault)),
            Err(fault) => ToolOutput::error(fault),
        });
        tokio::select! {
            read = reading => read.unwrap_or_else(ToolOutput::error),
            () = context.cancel.cancelled() => ToolOutput::error("interrupted"),
        }
    }
}

/// An empty file and an offset past the end are answers, not failures: the file was read.
fn show(path: &Path, first: usize, window: &Window) -> ToolOutput {
    let text = match window.total {
        Some(0) => "The file is empty.".to_owned(),
        Some(total) if window.lines.is_empty() => {
            format!("The file has {total} lines; there is nothing from line {first} on.")
        }
        Some(_) | None => numbered(first, window),
    };
    let detail = json!({
        "type": "text",
        "file": {
            "filePath": path,
            "startLine": first,
            "numLines": window.lines.len(),
            "totalLines": window.total,
        },
    });
    ToolOutput { detail, ..ToolOutput::ok(text) }
}

fn numbered(first: usize, window: &Window) -> String {
    let mut text = String::new();
    let mut number = first;
    for line in &window.lines {
        // Writing into a string cannot fail.
        let _ = write!(text, "{number}\t{}", line.text);
        if line.dropped > 0 {
            let _ = write!(text, " [… {} bytes of this line left out]", line.dropped);
        }
        text.push('\n');
        number += 1;
    }
    if window.total.is_none() {
        let _ = write!(text, "[The file goes on: read more with offset {number}.]");
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}
