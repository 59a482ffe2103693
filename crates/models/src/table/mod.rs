//! Owns what is known of models, as data: sizes, prices, and which request each takes. Rows come from
//! the program, from what a provider said of itself, and from the user, in this order, field by field.
//! Must not know providers or connections.

mod facts;
mod price;
mod shape;

pub use facts::{ModelFacts, Row, Table, TableError, Thinking};
pub use price::{Price, Priced, cost};
pub use shape::{Effort, Quirks, Shape, Wishes};
