//! The doors: HTTP in, HTTP out. Handlers turn a request into one call of a service and its answer into JSON or events;
//! they decide nothing.
//!
//! Every route stands in `router`, every error in `error`. Routes need a caller unless they are listed as public.

mod api;
mod attachment;
mod drain;
mod error;
mod extract;
mod guard;
mod openapi;
mod router;
mod serve;
mod sse;
mod stall;
mod state;
mod trace;
mod unheard;

pub use self::{
    router::{document, router},
    serve::serve,
    state::{App, Component, Limits},
};
