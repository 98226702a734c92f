//! Whole runs with the real program, in one test program: they wait for servers and intervals more than they compute,
//! and one waits while another computes.

mod aa;
mod arrangements;
mod cluster;
mod cores;
mod crash;
mod images;
mod lua;
mod own_sql;
mod recovery;
mod run;
mod rungs;
mod serve;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod team_store;
mod tune;
mod windows;
