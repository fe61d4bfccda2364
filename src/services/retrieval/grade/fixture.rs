//! Passages for tests.

pub(crate) use crate::domain::evidence::fixture::passage;
