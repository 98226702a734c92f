//! Renderers: a document in, one format out. They know blocks and no topic.

pub mod html;
pub mod markdown;
mod svg;
pub mod text;
