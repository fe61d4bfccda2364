//! What the tests share.

pub mod app;
pub mod fake_openai;
pub mod faults;
pub mod faulty_ports;
pub mod harness;
pub mod home;
pub mod knowledge;
pub mod model;
pub mod pdf;
pub mod process;
pub mod pty;
pub mod shelf;
pub(crate) mod store;
pub mod tables;
