//! The atomics of what threads hand to one another. In `hand_offs` others stand in their place.

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
