//! `dbduel plan`: prints what a run would do, and what it would refuse; touches nothing without `--try`.

use anyhow::Context;

use super::written::write_experiment;
use super::{Failure, note, print, try_out};
use crate::cli::{PlanArgs, exit, expect_two};
use crate::{KNOWN, shipped};
use campaign::planning::{self, cannot_plan, expect_open_files, plan_experiment};
use campaign::preflight::Preflight;
use experiment::{DEFAULT_EXPERIMENT, Experiment};

pub fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    if args.defaults {
        print(DEFAULT_EXPERIMENT)?;
        return Ok(exit::DONE);
    }
    let Some((file, overrides)) = args.subject.asked(args.method.overrides()).map_err(Failure::usage)? else {
        print(&shipped::list())?;
        return Ok(exit::DONE);
    };
    expect_two(&overrides).map_err(Failure::usage)?;
    if let Some(new) = &args.write {
        return write_experiment(new, &file, &overrides);
    }
    let file = file.as_path();
    let experiment = Experiment::load(file, &KNOWN, &overrides).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    expect_open_files(&experiment, file).map_err(Failure::usage)?;
    planning::remarks(&experiment, &plan).iter().for_each(|remark| note(remark));
    let point = experiment.points().swap_remove(0);
    for choice in &experiment.workloads {
        let spec = experiment::plan::workload(choice, &choice.data_point(&point)).map(|workload| workload.spec());
        spec.into_iter().flat_map(|spec| spec.warnings).for_each(|warning| note(&format!("warning: {warning}")));
    }
    if args.try_out {
        return try_out::try_out(&experiment, &plan, file);
    }
    if args.json {
        let json = serde_json::to_string_pretty(&plan.json()).context("cannot write the plan as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&plan.text())?;
        let binary = std::env::current_exe().context("cannot find this program")?;
        let inside_a_step = std::env::var_os("SLURM_STEP_ID").is_some();
        let lines = experiment.worker_lines(&binary, inside_a_step);
        if !lines.is_empty() {
            print(&format!("\nworkers\n  {}\n", lines.join("\n  ")))?;
        }
    }
    let preflight = Preflight::of(&experiment);
    preflight.remarks.iter().for_each(|line| note(line));
    preflight.expect_nothing_refused()?;
    Ok(exit::DONE)
}
