//! Chat models: any OpenAI-compatible server.

pub mod builtin;
mod chat;
mod client;
mod decode;
mod failure;
mod sse;
mod thoughts;
mod wire;

pub use self::{
    chat::OpenAiChat,
    client::{Client, ClientError, Limits},
};
