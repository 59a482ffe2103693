//! Sessions in a sandbox.
