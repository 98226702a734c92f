//! What every text must do, for the fuzz targets and for the seeded generator beside this.

use engine::target_url::TargetUrl;

/// A target that was read prints as a URL that reads as the same target, but for its password.
pub fn connection_string(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(target) = TargetUrl::parse(text) else { return };
    let bare = |target: TargetUrl| TargetUrl { password: None, idle: Vec::new(), ..target };
    let target = bare(target);
    let shown = target.to_string();
    match TargetUrl::parse(&shown) {
        Ok(again) => assert_eq!(bare(again), target, "{shown}"),
        Err(why) => panic!("{shown}: {why}"),
    }
}
