//! Owns answers as they came over the wire in known failures of agents, by the id of the case.
//! Must not know what is expected of them.

use serde_json::Value;

/// One case a line: `id`, and `chunks` as they were read, each character one byte.
const CASES: &str = include_str!("cases.jsonl");

/// The bytes of a case, read by read.
pub fn chunks(id: &str) -> Vec<Vec<u8>> {
    let mut cases = CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let case = cases.find(|case| case["id"] == id).unwrap_or_else(|| panic!("no case {id}"));
    let byte = |c: char| u8::try_from(u32::from(c)).unwrap();
    let chunks = case["chunks"].as_array().unwrap().iter();
    chunks.map(|chunk| chunk.as_str().unwrap().chars().map(byte).collect()).collect()
}

/// The bytes of a case as one text.
pub fn body(id: &str) -> String {
    String::from_utf8(chunks(id).concat()).unwrap()
}
