//! Asking and answering over real documents.

mod measure;
mod sample;
mod scenes;
