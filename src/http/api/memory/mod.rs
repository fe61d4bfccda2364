//! What is remembered beside the messages.

mod episodes;
mod events;
mod note;
mod settings;

pub(in crate::http) use self::{episodes::*, events::*, note::*, settings::*};
