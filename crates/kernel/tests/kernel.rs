//! The tests of the loop: a scripted model, scripted tools and features, whole event streams and
//! whole requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "kernel/cases_content.rs"]
mod cases_content;
#[path = "kernel/cases_context.rs"]
mod cases_context;
#[path = "kernel/cases_pairing.rs"]
mod cases_pairing;
#[path = "kernel/cast.rs"]
mod cast;
#[path = "kernel/children.rs"]
mod children;
#[path = "kernel/compaction.rs"]
mod compaction;
#[path = "kernel/conversation.rs"]
mod conversation;
#[path = "kernel/crew.rs"]
mod crew;
#[path = "kernel/early.rs"]
mod early;
#[path = "kernel/events.rs"]
mod events;
#[path = "kernel/failures.rs"]
mod failures;
#[path = "kernel/features.rs"]
mod features;
#[path = "kernel/frozen.rs"]
mod frozen;
#[path = "kernel/interrupts.rs"]
mod interrupts;
#[path = "kernel/notation.rs"]
mod notation;
#[path = "kernel/permissions.rs"]
mod permissions;
#[path = "kernel/pressure.rs"]
mod pressure;
#[path = "kernel/properties.rs"]
mod properties;
#[path = "kernel/remedies.rs"]
mod remedies;
#[path = "kernel/script.rs"]
mod script;
#[path = "kernel/stage.rs"]
mod stage;
#[path = "kernel/turns.rs"]
mod turns;
#[path = "kernel/valid.rs"]
mod valid;
