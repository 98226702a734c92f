//! The gate of `dbduel run`, with the real program and a real difference: a sync of the disk in each transaction. Alone
//! in its test program, because other tests would disturb the disk.

mod support;

use support::Place;

fn experiment(baseline: &str, candidate: &str, blocks: u32) -> String {
    format!(
        "name = \"Gate\"\nquestion = \"Is it safe?\"\n\
         contender = [{{ name = \"one\", {baseline} }}, {{ name = \"two\", {candidate} }}]\n\
         workload = {{ name = \"oltp_write_only\", rows = 1000 }}\nsweep.clients = [1]\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = {blocks} }}\n"
    )
}

#[test]
fn the_gate_separates_slower_from_faster_and_from_unknown() {
    let (safe, unsafe_) = (
        r#"engine = "sqlite", settings = { synchronous = "EXTRA" }"#,
        r#"engine = "sqlite", settings = { synchronous = "OFF" }"#,
    );
    for (baseline, candidate, status, word) in [(unsafe_, safe, 1, "slower"), (safe, unsafe_, 0, "faster")] {
        let place = Place::on_disk();
        place.write("try.toml", &experiment(baseline, candidate, 8));
        let (stdout, _) = place.expect(status, &["run", "try.toml", "--gate"]);
        assert!(
            stdout.lines().any(|line| line.trim_end().ends_with(word)) && stdout.contains(" in a crash; "),
            "{stdout}"
        );
        place.expect(0, &["run", "--resume", "last"]);
    }
    let place = Place::on_disk();
    place.write("try.toml", &experiment(unsafe_, safe, 1));
    let (_, stderr) = place.expect(3, &["run", "try.toml", "--gate"]);
    assert!(stderr.contains("gate: not decided"), "{stderr}");
    let place = Place::on_disk();
    place.write("try.toml", &(experiment(safe, unsafe_, 8) + "[gate]\nmax_slowdown = \"3 %\"\n"));
    let (plan, _) = place.expect(0, &["plan", "try.toml"]);
    assert!(plan.contains("\n    throughput at most 3 % lower: passes after "), "{plan}");
    let (stdout, _) = place.expect(0, &["run", "try.toml", "--gate"]);
    assert!(stdout.contains("Gate: passed (tps at most 3 % lower)."), "{stdout}");
}
