//! What programs do. Owns the table of programs and the few languages that some of them read; knows words and rows,
//! nothing of Bash's grammar, rules or paths.

pub mod awk;
pub mod builtins;
pub mod find;
pub mod git;
pub mod options;
pub mod sed;
pub mod split;
pub mod table;
pub mod tar;
