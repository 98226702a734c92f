//! Servers out of container images and vendors' archives, as files in a folder. An image is a source of files here,
//! never a container to start.
//!
//! It knows no database and no cache: a reference becomes an image, whose layers are verified and then unpacked into
//! an empty folder. What must stay true: no byte lands outside of that folder, whatever a layer contains, and nothing
//! is unpacked before every digest is right.

mod archive;
mod background;
mod compression;
mod digest;
mod download;
mod find;
mod image;
mod pull;
mod reference;
mod registry;
mod root;
mod store;
mod unpack;

pub use archive::unpack_archive;
pub use background::Watch;
pub use digest::{Digest, Hashing};
pub use download::Download;
pub use find::{find_programs, resolve_inside};
pub use image::{Image, Platform, layers_of, open, unpack_image};
pub use pull::{Pull, Resolved};
pub use reference::{LocalStore, Reference};
pub use registry::Challenge;
pub use registry::credentials::{Logins, in_file as login_in_file};
pub use unpack::{Limits, Unpacked, Unpacker};
