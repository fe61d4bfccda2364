//! From a file to passages that a search finds, with the real store, index, embedder and extraction process.

mod audit;
mod desk;
mod folders;
mod formats;
mod gone;
mod limits;
mod lives;
mod nodes;
