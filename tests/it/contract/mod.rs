//! One suite per port, run on every implementation.
<<<<<<< ours
pub(crate) mod store;
=======
mod embed;
mod store;
>>>>>>> theirs
mod vector;
