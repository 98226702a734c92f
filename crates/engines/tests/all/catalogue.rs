//! The catalogues of all engines, and which server a request finds in them.

use engine::request::{Origin, VersionRequest};
use engine::{Client, Engines, Found, by_version, check_wanted, choose, rolls};
use engines::ENGINES;

use crate::engine;

fn installed(version: &str) -> Vec<Found> {
    vec![Found { version: version.into(), server: "/usr/sbin/server".into(), basedir: None }]
}

fn check_choice(kind: &str, here: Vec<Found>, request: VersionRequest, expected: &str, source: &str) {
    let resolved = choose(engine(kind), here, &request, "x86_64").unwrap();
    assert_eq!(resolved.version, expected, "{kind} {request:?}");
    assert!(resolved.source_text().starts_with(source), "{}", resolved.source_text());
}

fn series(text: &str) -> VersionRequest {
    VersionRequest::Series(text.into())
}

#[test]
fn a_request_picks_the_newest_version_that_fits() {
    check_choice("mysql", vec![], VersionRequest::Newest, "9.7.*", "Debian sid");
    check_choice("mysql", vec![], series("9.7.*"), "9.7.*", "Debian sid");
    check_choice("mysql", vec![], series("9.7.4"), "9.7.*", "Debian sid");
    check_choice("mysql", vec![], series("8"), "8.0.31", "Maven");
    check_choice("mysql", vec![], series("5.0"), "5.0.21", "Maven");
    check_choice("mysql", vec![], series("5.7"), "5.7.29", "npm");
    check_choice("mysql", vec![], series("5.7.22"), "5.7.22", "Maven");
    check_choice("postgres", vec![], series("9.6"), "9.6.24", "Maven");
    check_choice("postgres", vec![], series("18"), "18.6", "Maven");
    check_choice("mariadb", vec![], series("10.11.*"), "10.11.5", "Maven");
    check_choice("mariadb", installed("10.11.19"), series("10.11"), "10.11.19", "installed");
    check_choice("mariadb", installed("10.11.4"), series("10.11"), "10.11.5", "Maven");
    check_choice("postgres", installed("15.18"), series("15.18"), "15.18", "installed");
    check_choice("postgres", installed("15.20"), series("15.18"), "15.18", "Maven");
    check_choice("mysql", installed("8.4.0"), VersionRequest::System, "8.4.0", "installed");
}

#[test]
fn what_a_rolling_source_has_must_be_what_was_asked_for() {
    let check = |request: VersionRequest, found: &str, fits: bool| {
        let resolved = choose(engine("mysql"), vec![], &request, "x86_64").unwrap();
        assert_eq!(check_wanted(&resolved, found).is_ok(), fits, "{request:?} {found}");
    };
    check(VersionRequest::Newest, "9.8.1", true);
    check(series("9.7.*"), "9.7.4", true);
    check(series("9.7.4"), "9.7.4", true);
    check(series("9.7.4"), "9.7.5", false);
    check(series("9.8"), "9.7.4", false);
    check(series("9.8"), "9.8.1", true);
}

#[test]
fn an_unknown_version_is_refused_with_the_known_ones() {
    let error = choose(engine("mysql"), vec![], &series("5.6.99"), "x86_64").unwrap_err().to_string();
    assert!(error.contains("mysql 5.6.99 is neither"), "{error}");
    assert!(error.contains("5.5.9, 5.6.24, 5.7.19"), "{error}");
    let error = choose(engine("mysql"), vec![], &VersionRequest::System, "x86_64").unwrap_err().to_string();
    assert!(error.starts_with("no mysql is installed here"), "{error}");
}

#[test]
fn a_package_is_for_the_processor_of_the_machine() {
    let on_arm = |kind, version| choose(engine(kind), vec![], &series(version), "aarch64");
    let postgres = on_arm("postgres", "17").unwrap();
    assert!(postgres.source_text().contains("linux-arm64v8"), "{}", postgres.source_text());
    // The suite has it for every processor.
    assert_eq!(on_arm("mariadb", "11.8").unwrap().version, "11.8.*");
    let error = on_arm("mysql", "8.0").unwrap_err().to_string();
    assert_eq!(
        error,
        "mysql 8.0 can be fetched for x86_64 only, this machine is aarch64, and none is installed here; \
         known versions of mysql: 9.7.*"
    );
}

#[test]
fn an_unknown_engine_is_refused_with_the_known_ones() {
    let error = Engines(ENGINES).resolve("oracle", &VersionRequest::Newest, &Origin::Managed).unwrap_err().to_string();
    assert_eq!(error, "no engine `oracle`; known are sqlite, mysql, mariadb, postgres");
}

#[test]
fn every_engine_has_a_description_and_an_example_of_its_own() {
    for engine in ENGINES {
        assert!(engine.description().len() > 20);
        assert!(engine.example().starts_with(engine.kind()));
        for machine in ["x86_64", "aarch64"] {
            let releases = engine.releases().iter().filter(|release| release.package.processor.runs_on(machine));
            assert!(releases.is_sorted_by(|a, b| by_version(a.version, b.version).is_lt()));
        }
        for release in engine.releases() {
            // A rolling source has no checksum that could be known beforehand; apt checks it.
            let signed_by_suite = matches!(release.package.client, Client::Apt { .. });
            assert_eq!(rolls(release.version), signed_by_suite, "{}", release.version);
            assert_eq!(release.package.sha256.len(), if signed_by_suite { 0 } else { 64 }, "{}", release.version);
        }
    }
}
