//! What of a pass is compared with nothing.

use analysis::{LeftOut, LeftOutBecause};

pub fn why(one: &LeftOut) -> String {
    match &one.because {
        LeftOutBecause::Remark(remark) => remark.clone(),
        LeftOutBecause::NotCalled => "it was not called here".to_owned(),
        LeftOutBecause::OtherCount { count, baseline } => format!("it counts {count} instead of {baseline}"),
    }
}
