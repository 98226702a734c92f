//! What trials keep of their response times, window by window, with the real program; and what the way to a
//! server carried meanwhile.

use crate::support::Place;
use serde_json::Value;

/// One block of two trials that last a window and a bit.
fn experiment(engine: &str) -> String {
    format!(
        "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 2 }}\n\
         method = {{ preset = \"quick\", duration = \"6s\", warmup = \"0s\", blocks = 1 }}\n"
    )
}

fn report_of(place: &Place) -> Value {
    serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap()
}

/// The windows of each trial hold all that ended in it, and its quantiles lie between theirs.
fn check_windows(place: &Place, report: &Value) {
    for trial in report["trials"].as_array().unwrap() {
        let (windows, metrics) = (trial["windows"].as_array().unwrap(), &trial["metrics"]);
        let figures = |name: &str| -> Vec<f64> { windows.iter().map(|one| one[name].as_f64().unwrap()).collect() };
        assert_eq!(figures("start_s"), [0.0, 5.0], "{windows:?}");
        assert_eq!(figures("seconds"), [5.0, 1.0], "{windows:?}");
        let counted = |name: &str| metrics[format!("transactions.{name}")].as_f64().unwrap();
        assert_eq!(figures("count").iter().sum::<f64>(), counted("due") - counted("skipped"), "{metrics}");
        assert!(figures("count").iter().all(|count| *count > 0.0), "{windows:?}");
        let (whole, parts) = (metrics["latency_ms_p50"].as_f64().unwrap(), figures("latency_ms_p50"));
        let (least, most) = (parts[0].min(parts[1]), parts[0].max(parts[1]));
        assert!((least..=most).contains(&whole), "{whole} of {parts:?}");
        assert_eq!(metrics["latency_out_of_range"], 0.0);
        assert!(metrics["corrected_ms_p50"].is_number(), "{metrics}");
    }
    let (stdout, _) = place.expect(0, &["verify", "last"]);
    assert!(stdout.contains(" quantiles of 2 trials, from the sum of 4 windows"), "{stdout}");
    let page = place.run().unwrap().join("report.html");
    let (stdout, _) = place.expect(0, &["verify", page.to_str().unwrap()]);
    assert!(stdout.contains("from the sum of 4 windows"), "{stdout}");
}

#[test]
fn the_windows_of_an_embedded_engines_trial_add_up_to_the_whole() {
    let place = Place::new();
    place.write("try.toml", &experiment(r#"engine = "sqlite""#));
    place.expect(0, &["run", "try.toml"]);
    let whole = place.whole_report("last");
    assert!(whole.contains("corrected (sensitivity)") && !whole.contains("network path to the server"), "{whole}");
    let report = report_of(&place);
    check_windows(&place, &report);
    assert_eq!(report["checks"], Value::Array(Vec::new()), "there is no way to a library");
}

#[test]
fn the_windows_of_a_servers_trial_add_up_and_its_way_is_not_the_limit() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    place.write("try.toml", &experiment(&engine));
    place.expect(0, &["run", "try.toml"]);
    assert!(place.whole_report("last").contains("network path to the server: socket "));
    let report = report_of(&place);
    check_windows(&place, &report);
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "network_path").unwrap();
    assert_eq!(check["subject"], "socket", "{check}");
    assert!(check["values"]["bytes_per_s"].as_f64().unwrap() > 1e6, "{check}");
    for trial in report["trials"].as_array().unwrap() {
        let figure = |name: &str| trial["metrics"][name].as_f64().unwrap();
        // An answer with a row of 120 characters, to a request of a few numbers.
        let each = [figure("client_sent_bytes_per_s"), figure("client_received_bytes_per_s")];
        let [sent, received] = each.map(|bytes_per_s| bytes_per_s / figure("qps"));
        assert!((10.0..100.0).contains(&sent) && (120.0..1000.0).contains(&received), "{sent} and {received}");
        assert!((0.0..0.7).contains(&figure("client_path_share")), "{}", trial["metrics"]);
    }
}

#[test]
fn a_trial_ends_with_its_last_transaction_and_its_rate_is_of_that_time() {
    let place = Place::new();
    let experiment =
        experiment(r#"engine = "sqlite""#).replace("6s", "60s").replace("clients = 2", "clients = 2, events = 500");
    place.write("try.toml", &experiment);
    place.expect(0, &["run", "try.toml"]);
    for trial in place.trials() {
        let figure = |name: &str| trial["metrics"][name].as_f64().unwrap();
        assert_eq!(figure("transactions.committed"), 500.0);
        assert!(figure("interval_s") < 60.0, "{trial}");
        assert!((figure("tps") * figure("interval_s") - 500.0).abs() < 1e-6, "{trial}");
    }
    let whole = place.whole_report("last");
    assert!(whole.contains("500 transactions of oltp_point_select or at most 60 s"), "{whole}");
    place.expect(0, &["verify", "last"]);
}
