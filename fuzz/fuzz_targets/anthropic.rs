//! The Messages decoder against any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use models::wire::Dialect;

#[path = "../src/decoder.rs"]
mod decoder;

fuzz_target!(|input: &[u8]| decoder::check(Dialect::Anthropic, input));

#[path = "../src/split.rs"]
mod split;
