//! Owns what is gained when calls that only look begin while the model still speaks: the same answer
//! with a tool that may begin early and with one that may not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use kernel::{
    Block, Conversation, Effect, Extensions, Judgement, Model, ModelEvent, ModelEvents, ModelRequest, Place, Prefix,
    Rules, SharedConversation, StopReason, TerminalReason, Tool, ToolContext, ToolOutput, ToolPool, query,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::stage::{call, params, terminal};

/// Calls of the answer.
const CALLS: u32 = 4;
/// Of so many prompts the median counts.
const RUNS: usize = 11;

/// Turn time by how long each call takes to come and to run.
pub fn table(runtime: &Runtime) {
    println!("{CALLS} calls that only look      | {:>11} {:>11} {:>11} {:>6}", "one by one", "after", "early", "gain");
    for (piece, work) in [(50, 10), (50, 50), (50, 150), (20, 200)] {
        let of = |ms| Duration::from_millis(ms);
        let time = |early| {
            let mut times: Vec<_> = (0..RUNS).map(|_| prompt(runtime, of(piece), of(work), early)).collect();
            times.sort_unstable();
            times[RUNS / 2]
        };
        let (after, early) = (time(false), time(true));
        // Without either: a call at a time, each after the whole answer.
        let alone = of(piece) * (CALLS + 1) + of(work) * CALLS;
        println!(
            "come in {piece:>3} ms, run {work:>3} ms | {:>8.1} ms {:>8.1} ms {:>8.1} ms {:>5.0}%",
            ms(alone),
            ms(after),
            ms(early),
            100.0 * (1.0 - early.as_secs_f64() / after.as_secs_f64())
        );
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn prompt(runtime: &Runtime, piece: Duration, work: Duration, early: bool) -> Duration {
    let mut conversation = Conversation::new(Prefix::default());
    conversation.push_user(vec![Block::text("Look.")]).unwrap();
    let model = Arc::new(Slow { piece, called: AtomicBool::new(false) });
    let tools = ToolPool::new([Arc::new(Look { work, early }) as Arc<dyn Tool>]);
    let params = params(SharedConversation::new(conversation), model, tools, Extensions::new(Vec::new()));
    let start = Instant::now();
    let ended =
        runtime.block_on(async { query(params).filter_map(async |event| terminal(&event)).collect::<Vec<_>>().await });
    assert_eq!(ended, [TerminalReason::Completed]);
    start.elapsed()
}

/// Calls the tool a few times, each call and the end of the answer so long after what came before;
/// then it is done.
struct Slow {
    piece: Duration,
    called: AtomicBool,
}

impl Model for Slow {
    fn stream(&self, _: ModelRequest) -> ModelEvents {
        let stop = ModelEvent::Stop(StopReason::EndTurn);
        if self.called.swap(true, Ordering::Relaxed) {
            return Box::pin(stream::iter([Ok(ModelEvent::Block(Block::text("Done."))), Ok(stop)]));
        }
        let piece = self.piece;
        let calls = (1..=CALLS).map(|number| ModelEvent::Block(call(number)));
        let events = stream::iter(calls.chain([stop]));
        Box::pin(events.then(move |event| async move {
            tokio::time::sleep(piece).await;
            Ok(event)
        }))
    }
}

struct Look {
    work: Duration,
    early: bool,
}

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        "Look"
    }

    fn description(&self) -> &str {
        "Looks."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn is_concurrency_safe(&self, _: &Value) -> bool {
        true
    }

    fn may_start_early(&self, _: &Value) -> bool {
        self.early
    }

    fn judge(&self, _: &Value, rules: &Rules, _: &Place) -> Judgement {
        Judgement { effect: Effect::ReadOnly, ..Judgement::unjudged_under("Look", rules) }
    }

    async fn call(&self, _: Value, _: &ToolContext) -> ToolOutput {
        tokio::time::sleep(self.work).await;
        ToolOutput::ok("seen")
    }
}
