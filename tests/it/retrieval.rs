//! Asking and answering over real documents.

mod answers;
mod cuts;
mod languages;
mod measure;
mod sample;
mod scenes;
