//! A workspace and a home in temporary folders, and calls of the built-in tools in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernel::permission::{Decision, decide};
use kernel::{Judgement, Mode, Origin, Place, Rule, Rules, Tool, ToolContext, ToolOutput, ToolPool};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct World {
    _folder: TempDir,
    pub root: PathBuf,
    pub home: PathBuf,
    pub outside: PathBuf,
}

impl World {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = top.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        Self { root: make("work"), home: make("home"), outside: make("outside"), _folder: folder }
    }

    pub fn file(&self, path: &str, content: &str) -> PathBuf {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn place(&self) -> Place {
        Place { cwd: self.root.clone(), roots: vec![self.root.clone()], home: Some(self.home.clone()), trusted: true }
    }

    pub fn context(&self) -> ToolContext {
        ToolContext::detached(self.place(), CancellationToken::new())
    }

    pub async fn call(&self, name: &str, input: Value) -> ToolOutput {
        let tool = tool(name);
        assert_eq!(tool.check(&input), Ok(()));
        tool.call(input, &self.context()).await
    }

    /// Judges with rules of the user.
    pub fn judge(&self, name: &str, input: &Value, allow: &[&str], deny: &[&str]) -> Judgement {
        let parse = |list: &[&str]| -> Vec<Rule> {
            list.iter().map(|text| tools::rules::grammar::parse(text, Origin::User).unwrap()).collect()
        };
        let rules = Rules { allow: parse(allow), ask: Vec::new(), deny: parse(deny) };
        tool(name).judge(input, &rules, &self.place()).with_whole_tool_rules(name, &rules)
    }
}

pub fn tool(name: &str) -> Arc<dyn Tool> {
    let env = std::env::vars_os().collect();
    ToolPool::new(tools::builtin(env, &[], &Default::default())).get(name).unwrap().clone()
}

pub fn word(mode: Mode, judgement: &Judgement) -> &'static str {
    match decide(mode, judgement) {
        Decision::Allow => "allow",
        Decision::Deny(_) => "deny",
        Decision::Ask(_) => "ask",
    }
}

pub fn text(output: &ToolOutput) -> String {
    output.content.text()
}

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
