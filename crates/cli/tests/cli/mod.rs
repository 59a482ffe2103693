//! One module per way of using the binary.

mod cases;
mod chaos;
mod choices;
mod config;
mod costs;
mod faults;
mod headless;
mod layers;
mod mock;
mod outline;
mod repl;
mod screen;
mod support;
mod wire;
