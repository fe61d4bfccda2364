//! The llm adapters.
