//! Servers out of container images and vendors' archives, as files in a folder. An image is a source of files here,
//! never a container to start.
//!
//! It knows no database and no cache: a reference becomes an image, whose layers are verified and then unpacked into
//! an empty folder. What must stay true: no byte lands outside of that folder, whatever a layer contains, and nothing
//! is unpacked before every digest is right.

mod archive;
mod compression;
mod digest;
mod find;
mod image;
mod reference;
mod root;
mod store;
mod unpack;

pub use archive::unpack_archive;
pub use digest::{Digest, Hashing};
pub use find::{find_programs, resolve_inside};
pub use image::{Image, Platform, open, unpack_image};
pub use reference::Reference;
pub use unpack::{Limits, Unpacked, Unpacker};
