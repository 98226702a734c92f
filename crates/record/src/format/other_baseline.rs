//! A run that a reader compares with another of its contenders than with its own baseline.

use anyhow::{Result, bail};

use super::PlanRecord;

impl PlanRecord {
    /// The same plan with this contender as its baseline. Trials are the same for any, unless the method or the plan is
    /// built around one.
    pub fn against(&self, baseline: &str) -> Result<PlanRecord> {
        if baseline == self.baseline {
            return Ok(self.clone());
        }
        let names: Vec<String> = self.contenders.iter().map(|contender| format!("`{}`", contender.name)).collect();
        if !self.contenders.iter().any(|contender| contender.name == baseline) {
            bail!("`{baseline}` is no contender of this run: use one of {}", names.join(", "));
        }
        let fixed = [
            (self.twins, "both contenders of an A/A test are the same"),
            (self.method.duet, "in a duet each candidate ran beside it"),
            (!self.ladders.is_empty(), "each rung of a ladder is compared with the one below"),
        ];
        if let Some((_, why)) = fixed.iter().find(|(is_fixed, _)| *is_fixed) {
            bail!("this run can be compared with its own baseline only, `{}`: {why}", self.baseline);
        }
        Ok(PlanRecord { baseline: baseline.to_owned(), baseline_of_run: Some(self.baseline.clone()), ..self.clone() })
    }

    /// As it was hashed and stored.
    pub fn of_run(&self) -> PlanRecord {
        let baseline = self.baseline_of_run.as_ref().unwrap_or(&self.baseline).clone();
        PlanRecord { baseline, baseline_of_run: None, ..self.clone() }
    }
}
