//! The mock in the real loop: what it shows without a key, compaction included.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use kernel::{
    AgentEvent, Conversation, QueryParams, SharedConversation, TerminalReason, Tool, ToolContext, ToolOutput, ToolPool,
    query,
};
use models::{Mock, MockConfig};
use serde_json::{Value, json};

use crate::support::{params, prefix};

/// A file of forty lines, whatever its name.
struct Read;

#[async_trait]
impl Tool for Read {
    fn name(&self) -> &str {
        "Read"
    }

    fn description(&self) -> &str {
        "Reads."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn call(&self, _: Value, _: &ToolContext) -> ToolOutput {
        ToolOutput::ok((1..=40).map(|n| format!("{n}\tline {n} of the file\n")).collect::<String>())
    }
}

/// What a person would see of it, one word an event; tokens and times left out.
async fn prompt(conversation: &SharedConversation, threshold: u64, text: &str) -> String {
    let tools = ToolPool::new([Arc::new(Read) as Arc<dyn Tool>]);
    let mock = Arc::new(Mock::new(MockConfig::default()));
    let params = QueryParams { model_id: "mock".into(), tools, ..params(mock, conversation, threshold, text) };
    let mut events = query(params);
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ToolStart { name, parallel, .. } => {
                seen.push(format!("{name}{}", if parallel { "∥" } else { "→" }));
            }
            AgentEvent::Compact { tokens_before, tokens_after, .. } => {
                assert!(tokens_after < tokens_before, "{tokens_after} {tokens_before}");
                seen.push("⧉".into());
            }
            AgentEvent::Assistant { message } => {
                let text = message.text();
                seen.extend(text.lines().next().map(str::to_owned));
            }
            AgentEvent::Notice { text, .. } => seen.push(text),
            AgentEvent::Terminal { reason, .. } => {
                assert_eq!(reason, TerminalReason::Completed);
            }
            _ => {}
        }
    }
    seen.join(" | ")
}

#[tokio::test]
async fn two_prompts_over_a_low_threshold_are_compacted_and_answered() {
    let conversation = SharedConversation::new(Conversation::new(prefix()));
    insta::assert_snapshot!(prompt(&conversation, 200, "读取 a.txt").await, @"Read→ | ⧉ | 压缩历史之前，这件事已经做完了。");
    insta::assert_snapshot!(prompt(&conversation, 200, "read b.txt").await, @"Read→ | ⧉ | That was done before the history was summarised.");
}

#[tokio::test]
async fn a_prompt_over_the_threshold_keeps_its_own_request() {
    let conversation = SharedConversation::new(Conversation::new(prefix()));
    insta::assert_snapshot!(prompt(&conversation, 350, "read a.txt").await, @"Read→ | a.txt, lines: 40. It begins with:");
    insta::assert_snapshot!(prompt(&conversation, 350, "read b.txt read c.txt").await, @"Read→ | Read→ | ⧉ | That was done before the history was summarised.");
    insta::assert_snapshot!(prompt(&conversation, 350, "你好").await, @"我是模拟模型（mock），不连接任何真实模型，只用来展示这个智能体能做什么，听得懂的只有这几种话：");
}
