//! One module per way of using the binary.

mod cases;
mod chaos;
mod choices;
mod costs;
mod faults;
mod headless;
mod layers;
mod mock;
mod outline;
mod permissions;
mod repl;
#[cfg(target_os = "linux")]
mod sandbox;
mod screen;
mod support;
mod wire;
