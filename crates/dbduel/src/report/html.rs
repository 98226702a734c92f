//! tmp
use super::{Evidence, Options, Report};
pub struct Html;
impl Report for Html {
    fn name(&self) -> &'static str {
        "html"
    }
    fn description(&self) -> &'static str {
        "x"
    }
    fn example(&self) -> &'static str {
        "dbduel x"
    }
    fn write(&self, _: &Evidence, _: &Options) -> anyhow::Result<String> {
        Ok("x".into())
    }
}
