//! Owns that what stands before the messages stays what it was: a tool that appears in the middle of
//! a session changes no request of it (thinking is bound to the list of tools, and the cache lives on it).

use kernel::{Prefix, ToolPool};

use crate::cast::cast;
use crate::stage::{Stage, act};

#[test]
fn thinking_append_only_6c67e5() {
    act(async {
        let stage = Stage::new("text one\n\ncall a echo {\"text\":\"1\"}\n\ntext two");
        let all = cast(&stage.signals, &stage.log);
        let few = ToolPool::new(all.iter().filter(|tool| tool.name() != "echo").cloned());
        let prefix = stage.conversation.lock().prefix().system.to_vec();
        *stage.conversation.lock() = kernel::Conversation::new(Prefix::new(prefix, few.specs()));
        stage.play("go").await;
        // From here on the session has the tool; whoever calls it is answered.
        stage.play("on").await;
        let sent = stage.script.turns();
        assert_eq!(sent.len(), 3);
        assert!(!sent[0].prefix.to_string().contains("\"echo\""), "{}", sent[0].prefix);
        assert!(sent.iter().all(|other| other.prefix == sent[0].prefix));
        assert!(sent[2].messages[..1] == sent[0].messages[..1] && stage.log.lines().contains(&"end a".to_owned()));
    });
}
