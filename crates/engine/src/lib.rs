//! What a database server is to dbduel: how one is fetched, configured, started, observed and ended.
//!
//! Each kind of server is an [`Engine`], in the crate `engines`; the list of them is handed in ([`Engines`]). An
//! engine has no access to the workload. What must stay true: a
//! contender is resolved without touching the network or writing anything, a server never runs without a keeper,
//! and no server is handed out whose settings are not the ones that were asked for.

mod account;
pub mod advice;
mod affinity;
mod apt;
mod build;
mod cache;
mod cost;
pub mod counters;
mod cpu_list;
pub mod departed;
mod dump;
mod effective;
mod engine;
mod folders;
mod image;
pub mod inside;
pub mod interruption;
pub mod keeper;
mod libraries;
pub mod limits;
mod manifest;
mod memory_limit;
pub mod memory_need;
mod mirror;
mod monitor;
pub mod network;
pub mod observe;
mod other_path;
mod own_data;
mod own_folder;
mod package;
mod password;
mod plan_switches;
pub mod pooler;
mod programs;
mod provision;
pub mod request;
mod reserved;
mod resolved;
mod scratch_server;
mod selfcheck;
mod server;
mod server_process;
pub mod settings;
mod settings_file;
mod snapshot;
mod storage;
pub mod target_url;
pub mod tunable;
mod tuning;
mod user_server;
mod version;
mod version_output;
pub mod volume;
pub mod waits;

pub use account::Account;
pub use build::build;
pub use cache::{Cache, CacheEntry, WorkFolder, read_folder, remove_tree};
pub use cost::Cost;
pub use cpu_list::CpuList;
pub use dump::{client_program, database_in, gather_statistics, note_database, restore};
pub use effective::{Agreement, Effective};
pub use engine::{
    Adopts, DumpTaker, Engine, Found, Installation, Integrity, Launch, Purpose, SettingsFile, Site, StartFiles,
    StartOptions, Whereabouts,
};
pub use image::cached::{clear_image, image_in_cache};
pub use image::{expect_image, expect_platform, image_digest};
pub use inside::{Surroundings, server_environment};
pub use keeper::{
    Exit, PASSWORD_VARIABLE, Program, SECRET_VARIABLES, STORE_PASSWORD_VARIABLE, STORE_VARIABLE, raise_open_files,
};
pub use memory_limit::MemoryLimit;
pub use monitor::{Hastened, Monitor};
pub use network::Link;
pub use observe::{Explained, Observe, Sample};
pub use own_data::{Adoption, identity, locked_by, refusal};
pub use package::{Client, Package, Plugins, Processor};
pub use password::{PasswordSource, Renewal};
pub use plan_switches::{PlanSwitch, SwitchedOff};
pub use programs::{find_on_path, log_tail, sha256_of};
pub use provision::{Layout, Release};
pub use reserved::{Refusal, Reserved};
pub use resolved::{Engines, Listed, Resolved, already_here, check_wanted, choose, provision, resolve, settle_image};
pub use scratch_server::ScratchServer;
pub use selfcheck::selfcheck;
pub use server::{DATABASE, Server};
pub use server_process::Listening;
pub use settings::{expect_known_settings, nearest_known, parse_quantity, parse_switch};
pub use settings_file::{FileSettings, read_settings_file};
pub use snapshot::{
    Snapshot, apply_page_cache, copy_tree, expect_clones, find_snapshot, resident_fraction, save_snapshot,
    snapshot_key, sound_snapshot, template,
};
pub use storage::{NOT_KNOWN, free_bytes, mount_options, storage_of, weaker_class};
pub use user_server::{Candidates, Located, UserServer, login_failure, password};
pub use version::{by_version, rolls, version_numbers};
pub use version_output::version_output;
pub use volume::Volume;
pub use waits::Waits;
