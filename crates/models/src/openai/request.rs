//! Owns the bytes of a Chat Completions request. Must not know HTTP.

use kernel::ModelRequest;

use crate::table::Shape;

/// The whole body of a streaming request.
pub fn body(_request: &ModelRequest, _shape: &Shape) -> Vec<u8> {
    Vec::new()
}
