//! Runs other programs in the workspace.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a program in the workspace, shows its line first, and fails when it does.
pub fn run(root: &Path, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let variables: String = environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    eprintln!("$ {variables}{program} {}", arguments.join(" "));
    run_quietly(root, program, arguments, environment)
}

/// [`run`] for an environment that must not be shown, because it holds a password.
pub fn run_quietly(root: &Path, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let status = without_own_package(&mut Command::new(program))
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot start `{program}`"))?;
    if !status.success() {
        bail!("`{program} {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}

/// Takes out of a command's environment what cargo tells the program that it runs: build scripts look at it, and what was
/// built for another program, or by hand, would be built again.
pub fn without_own_package(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
