//! What makes a loop a product: settings, prompt, memory, and the session that ties a model, tools,
//! permissions and features together. One module is one feature; feature modules do not import one
//! another. Must not know terminals or HTTP servers.
//!
//! This is the lowest crate that reads the environment; below it everything is passed in.

pub mod budget;
pub mod cases;
pub mod connect;
pub mod context;
mod defaults;
pub mod environment;
pub mod explain;
mod features;
pub mod git;
pub mod memory;
pub mod prompt;
pub mod repeats;
pub mod sandbox;
pub mod session;
pub mod settings;
pub mod toolset;
pub mod trust;
pub mod workspace;

pub use connect::{Presence, Surveyed, survey};
pub use environment::Environment;
pub use explain::{Explained, explain};
pub use models::Effort;
pub use models::wire::Dialect;
pub use session::{Session, SessionConfig, SessionError};
pub use settings::Settings;
pub use tools::sandbox::{Layer, Profile};
pub use toolset::Toolset;
pub use workspace::{Choices, Workspace};
