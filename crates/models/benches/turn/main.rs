//! What one turn costs, by the length of the history before it. Work per turn must be constant, but
//! for the copy of the bytes that are sent. `cargo xtask bench turn` and `cargo xtask bench early`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod early;
mod history;
mod stage;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion};
use tokio::runtime::{Builder, Runtime};

use history::History;
use stage::Stage;

/// Turns before the one that is measured.
const LENGTHS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Of so many runs the median counts in the table.
const RUNS: usize = 31;

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == "early") {
        return early::table(&runtime);
    }
    table(&runtime);
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut requests = criterion.benchmark_group("request body");
    for turns in LENGTHS {
        let history = History::of(turns);
        history.body();
        requests.bench_function(BenchmarkId::from_parameter(turns), |bencher| bencher.iter(|| history.body()));
    }
    requests.finish();
    let mut loops = criterion.benchmark_group("loop turn");
    for turns in LENGTHS {
        let history = History::of(turns);
        loops.bench_function(BenchmarkId::from_parameter(turns), |bencher| {
            bencher.iter_batched(
                || Stage::new(history.conversation()),
                |stage| stage.prompt(&runtime),
                BatchSize::PerIteration,
            );
        });
    }
    loops.finish();
}

/// Time and allocations of a request and of a turn of the loop, beside the copy of as many bytes.
fn table(runtime: &Runtime) {
    println!(
        "{:>7} {:>11} | {:>10} {:>10} {:>7} | {:>10} {:>7} {:>12}",
        "turns", "bytes", "request", "copy", "allocs", "loop turn", "allocs", "alloc. bytes"
    );
    for turns in LENGTHS {
        let mut history = History::of(turns);
        history.body();
        // The next turn: what is new in it is serialised for the first time.
        history.turn();
        let assembling = allocation_counter::measure(|| drop(black_box(history.body())));
        let request = median(|| (), |()| black_box(history.body()));
        let body = history.body();
        let copy = median(|| (), |()| black_box(body.clone()));
        let stage = Stage::new(history.conversation());
        let looping = allocation_counter::measure(|| drop(stage.prompt(runtime)));
        let turn = median(|| Stage::new(history.conversation()), |stage| stage.prompt(runtime)) / stage::TURNS;
        println!(
            "{turns:>7} {:>11} | {:>7.1} µs {:>7.1} µs {:>7} | {:>7.1} µs {:>7} {:>12}",
            body.len(),
            micros(request),
            micros(copy),
            assembling.count_total,
            micros(turn),
            looping.count_total / u64::from(stage::TURNS),
            looping.bytes_total / u64::from(stage::TURNS),
        );
    }
}

fn median<T, U>(mut prepare: impl FnMut() -> T, mut work: impl FnMut(T) -> U) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let prepared = prepare();
            let start = Instant::now();
            let done = work(prepared);
            let took = start.elapsed();
            drop(done);
            took
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
