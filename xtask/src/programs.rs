//! Runs other programs: shown, or for what they print.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs a program in the workspace, shows its line first, and fails when it does.
pub fn run(root: &Path, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let variables: String = environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    eprintln!("$ {variables}{program} {}", arguments.join(" "));
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot start `{program}`"))?;
    ensure!(status.success(), "`{program} {}` failed ({status})", arguments.join(" "));
    Ok(())
}

/// What a program prints.
pub fn printed(folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.with_context(|| format!("cannot start `{program}`"))?;
    let (line, error) = (arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "`{program} {line}` failed ({}): {}", output.status, error.trim());
    String::from_utf8(output.stdout).with_context(|| format!("`{program} {line}` prints what is not UTF-8"))
}
