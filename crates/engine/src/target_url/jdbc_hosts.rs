//! Hosts as drivers for Java write them with keys: `address=(host=a)(port=1)` and `(host=a,port=1)`, alone or in a list,
//! which may stand in brackets.
//!
//! They are spelt here as every other URL has them. What must stay true: no message quotes a value.

/// What follows `scheme://`, its hosts as `host:port,host:port`.
pub fn respelt(text: &str) -> Result<String, String> {
    let (authority, rest) = text.split_at(text.find(['/', '?']).unwrap_or(text.len()));
    let (login, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let list = hosts.strip_prefix('[').and_then(|hosts| hosts.strip_suffix(']'));
    // The brackets of an address hold neither.
    let hosts = list.filter(|list| list.contains([',', '('])).unwrap_or(hosts);
    if !hosts.contains('(') {
        return Ok(format!("{login}{hosts}{rest}"));
    }
    let hosts: Vec<String> = apart(hosts).into_iter().map(one).collect::<Result<_, _>>()?;
    Ok(format!("{login}{}{rest}", hosts.join(",")))
}

/// Cuts at commas that stand in no parentheses.
fn apart(hosts: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut is_cut = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    };
    hosts.split(&mut is_cut).collect()
}

fn one(host: &str) -> Result<String, String> {
    let Some(keys) = host.strip_prefix("address=").or_else(|| host.starts_with('(').then_some(host)) else {
        return Ok(host.to_owned());
    };
    let keys = keys.trim_start_matches('(').trim_end_matches(')').replace(")(", ",");
    let (mut name, mut port) = (String::new(), String::new());
    for pair in keys.split(',') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key.trim().to_ascii_lowercase().as_str() {
            "host" => name = value.to_owned(),
            "port" => port = format!(":{value}"),
            "protocol" if value.eq_ignore_ascii_case("tcp") => {}
            key => {
                return Err(format!(
                    "a host of the target has its own `{key}`; expected host and port there, and the rest behind the ?"
                ));
            }
        }
    }
    let is_address = name.contains(':') && !name.starts_with('[');
    Ok(if is_address { format!("[{name}]{port}") } else { format!("{name}{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_keys_are_those_of_every_other_url() {
        let check = |text: &str, expected: &str| assert_eq!(respelt(text).as_deref(), Ok(expected), "{text}");
        check("db:3307/x?user=app", "db:3307/x?user=app");
        check("[::1]:3307/x", "[::1]:3307/x");
        check("a:1,b:2/x", "a:1,b:2/x");
        check("app:p(w@[a:1,b:2]/x", "app:p(w@a:1,b:2/x");
        check("address=(host=a)(port=1),address=(protocol=tcp)(host=::1)(port=2)/x", "a:1,[::1]:2/x");
        check("(host=a,port=1),b,(Host=c)?user=app", "a:1,b,c?user=app");
        check("[(host=a,port=1),b:2]/x", "a:1,b:2/x");
        let error = respelt("(host=a,password=hunter2)/x").unwrap_err();
        assert!(error.contains("its own `password`") && !error.contains("hunter2"), "{error}");
    }
}
