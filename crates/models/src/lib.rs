//! How does a vendor speak? Dialects turn a [`kernel::ModelRequest`] into bytes on a wire and the
//! bytes that come back into [`kernel::ModelEvent`]s; the registry knows who can be asked.
//! Must not know tools, sessions, terminals, or the environment: everything arrives as data.

pub mod anthropic;
pub mod fallback;
pub mod http;
mod json;
pub mod media;
pub mod mock;
mod names;
pub mod openai;
pub mod record;
pub mod registry;
pub mod retry;
pub mod sse;
pub mod table;
pub mod watchdog;
pub mod wire;

pub use fallback::{Fallback, Other};
pub use http::NetConfig;
pub use mock::{Mock, MockConfig};
pub use record::{Pace, RecordError, Recording, Replay};
pub use registry::{Choice, Connection, Network, RegistryError, Resolved, UserProvider, choose, connect};
pub use retry::Retrying;
pub use table::{Effort, Wishes};
pub use watchdog::{Limits, Watchdog};
