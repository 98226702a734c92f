//! Which server is meant: a URL, a connection string of libpq, or options and the name of a database.
//!
//! What they leave open comes from libpq's environment and files, as for every target of PostgreSQL.

use experiment::{Place, TargetKind, TargetUrl};

use super::options::Request;

/// The server of a request; the database is its last word.
pub fn of(request: &Request) -> Result<TargetUrl, String> {
    let given = match (&request.target, request.database.as_deref()) {
        (Some(url), None) => Some(url.clone()),
        (Some(_), Some(word)) => return Err(format!("--target names the database, so `{word}` is one too many")),
        (None, Some(word)) if TargetUrl::is_target(word) => Some(TargetUrl::parse(word)?),
        (None, Some(word)) if word.contains('=') => {
            return Err(format!(
                "`{}` is no option of a connection string of libpq",
                word.split('=').next().unwrap_or_default()
            ));
        }
        (None, _) => None,
    };
    let is_url = request.target.is_some() || request.database.as_deref().is_some_and(|word| word.contains("://"));
    if is_url && (request.host.is_some() || request.port.is_some() || request.user.is_some()) {
        return Err("a URL says it all: give no --host, --port and --username beside it".to_owned());
    }
    let mut target = given
        .unwrap_or_else(|| TargetUrl { database: request.database.clone(), ..TargetUrl::open(TargetKind::Postgres) });
    target.user = target.user.or_else(|| request.user.clone());
    if target.place.host.is_none() && target.place.socket.is_none() {
        let place = request.host.as_deref().map_or_else(Place::default, Place::of_host);
        target.place = Place { port: target.place.port, address: target.place.address, ..place };
    }
    target.place.port = target.place.port.or(request.port);
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_options_name_the_server_as_in_libpq() {
        let check = |options: &Request, expected: Result<&str, &str>| match (of(options), expected) {
            (Ok(target), Ok(wanted)) => assert_eq!(target.to_string(), wanted),
            (Err(why), Err(wanted)) => assert!(why.contains(wanted), "{why}"),
            (found, wanted) => panic!("{found:?}, {wanted:?}"),
        };
        let request = |database: Option<&str>| Request { database: database.map(str::to_owned), ..Request::default() };
        check(&request(None), Ok("postgres:///"));
        check(&request(Some("y")), Ok("postgres:///y"));
        check(
            &request(Some("host=/run dbname=z user=eve sslmode=require")),
            Ok("postgres://eve@/z?host=/run&tls=require"),
        );
        check(&request(Some("postgres://u@h:9/d")), Ok("postgres://u@h:9/d"));
        check(&request(Some("sslmod=require")), Err("`sslmod` is no option"));
        let beside = |word| Request { host: Some("h".to_owned()), port: Some(7), ..request(word) };
        check(&beside(None), Ok("postgres://h:7/"));
        check(&beside(Some("user=eve")), Ok("postgres://eve@h:7/"));
        check(&beside(Some("host=/run")), Ok("postgres://:7/?host=/run"));
        check(&beside(Some("postgres://u@h/d")), Err("a URL says it all"));
    }
}
