//! One module per way of using the binary.

mod cases;
mod chaos;
mod choices;
mod costs;
mod faults;
mod headless;
mod mock;
mod outline;
mod permissions;
mod repl;
mod screen;
mod support;
mod wire;
