//! Owns the `Write` tool: a whole file at once. Must not know how it gets onto the disk.

use async_trait::async_trait;
use host::files;
use kernel::{Judgement, Place, Rules, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use shell::Access;

use crate::rules::{judge_file, locate};
use crate::typed::{FilePath, TypedTool};

/// Creates or replaces a file.
pub struct Write;

/// The input of `Write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the file, absolute or relative to the working folder.
    file_path: FilePath,
    /// The whole new content.
    content: String,
}

#[async_trait]
impl TypedTool for Write {
    type Input = Input;
    const NAME: &'static str = "Write";
    const DESCRIPTION: &'static str = include_str!("write.md");

    fn judge(&self, input: &Input, rules: &Rules, place: &Place) -> Judgement {
        judge_file(Access::Write, &input.file_path, rules, place)
    }

    async fn call(&self, input: Input, context: &ToolContext) -> ToolOutput {
        let path = locate(&input.file_path, &context.place).given;
        let lines = input.content.lines().count();
        let bytes = input.content.len();
        let target = path.clone();
        // Not given up on cancellation: it is short, and the file is replaced as a whole or not.
        let writing = tokio::task::spawn_blocking(move || files::write(&target, input.content.as_bytes()));
        let written = match writing.await {
            Ok(Ok(written)) => written,
            Ok(Err(fault)) => return ToolOutput::error(fault),
            Err(fault) => return ToolOutput::error(fault),
        };
        let (kind, verb) = if written.created { ("create", "Created") } else { ("update", "Replaced") };
        let text = format!("{verb} {}: lines {lines}, bytes {bytes}.", path.display());
        let detail = json!({"type": kind, "filePath": path, "lines": lines, "bytes": bytes});
        ToolOutput { detail, ..ToolOutput::ok(text) }
    }
}
