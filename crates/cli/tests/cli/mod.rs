//! One module per way of using the binary.

mod choices;
mod costs;
mod chaos;
mod faults;
mod headless;
mod mock;
mod outline;
mod repl;
mod screen;
mod support;
mod wire;
