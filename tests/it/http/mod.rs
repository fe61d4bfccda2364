//! The doors, from outside.

mod accounts;
mod agent;
mod bad_input;
mod chat;
mod collections;
mod document;
mod documents;
mod events;
mod folders;
mod keys;
mod memory;
mod openai;
mod people;
mod privacy;
mod runs;
mod server;
mod sessions;
mod silence;
mod unheard;
