//! From a file to passages that a search finds, with the real store, index, embedder and extraction process.

mod audit;
mod desk;
mod fenced;
mod folders;
mod formats;
mod gone;
mod hard;
mod limits;
mod lives;
mod nodes;
mod ocr;
mod patience;
mod places;
mod reindex;
mod uploads;
