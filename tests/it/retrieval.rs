//! Asking and answering over real documents.

mod answers;
mod apart;
mod cuts;
mod kinds;
mod languages;
mod measure;
mod sample;
mod scenes;
mod told;
mod which;
