//! URLs of JDBC: `jdbc:mysql://`, `jdbc:mariadb://` and `jdbc:postgresql://` with the properties of their drivers.
//!
//! Most properties are about the driver itself. Those that have no use here are named, and those that would change what is
//! measured, or that promise what does not hold, are refused.

use super::model::{Session, TargetKind, TargetUrl, TlsMode};
use super::mysql_options;
use super::option_word::{OptionWord, absolute, idle, password, refused, take, taken, user};
use super::written::{EXPECTED, Written};
use super::{jdbc_hosts, libpq};

const KEY_STORE: &str =
    "names a key store of Java, which dbduel does not read; expected PEM files in options of the server's own clients";
const ANOTHER_WAY: &str = "reaches the server by a way that the load does not take; leave it out";
const OF_SESSIONS: &str = "changes settings of the sessions, which no report would show; expected them on the server";

/// An option without a value is on.
fn is_on(key: &str, value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(format!("{key} is `{value}`; expected true or false")),
    }
}

/// Of several options about encryption the strictest counts.
fn at_least(target: &mut TargetUrl, mode: TlsMode) {
    let rank = |mode: TlsMode| {
        [TlsMode::Off, TlsMode::Require, TlsMode::VerifyCa, TlsMode::Verify].iter().position(|one| *one == mode)
    };
    target.tls = Some(target.tls.filter(|tls| rank(*tls) > rank(mode)).unwrap_or(mode));
}

/// Properties of Connector/J and of MariaDB's driver.
const OF_MYSQL: &[OptionWord] = &[
    taken("user", user),
    taken("password", password),
    taken("useSSL", |target, value| {
        at_least(target, if is_on("useSSL", value)? { TlsMode::Require } else { TlsMode::Off });
        Ok(())
    }),
    taken("requireSSL", |target, value| {
        if is_on("requireSSL", value)? {
            at_least(target, TlsMode::Require);
        }
        Ok(())
    }),
    taken("verifyServerCertificate", |target, value| {
        if is_on("verifyServerCertificate", value)? {
            at_least(target, TlsMode::VerifyCa);
        }
        Ok(())
    }),
    taken("sslMode", |target, value| {
        let mode =
            if value.eq_ignore_ascii_case("trust") { TlsMode::Require } else { TlsMode::of_client("ssl-mode", value)? };
        at_least(target, mode);
        Ok(())
    }),
    taken("serverSslCert", |target, value| {
        target.certificates.roots = absolute("serverSslCert", value)?;
        Ok(())
    }),
    taken("localSocket", |target, value| {
        target.place.socket = absolute("localSocket", value)?;
        Ok(())
    }),
    taken("useCompression", |target, value| {
        target.compressed = is_on("useCompression", value)?;
        Ok(())
    }),
    refused("trustCertificateKeyStoreUrl", KEY_STORE),
    refused("clientCertificateKeyStoreUrl", KEY_STORE),
    refused("keyStore", KEY_STORE),
    refused("trustStore", KEY_STORE),
    refused("sessionVariables", OF_SESSIONS),
    refused("connectionCollation", OF_SESSIONS),
    refused("initSQL", OF_SESSIONS),
    refused("socketFactory", ANOTHER_WAY),
    refused("socksProxyHost", ANOTHER_WAY),
    idle("rewriteBatchedStatements"),
    idle("useServerPrepStmts"),
    idle("cachePrepStmts"),
    idle("prepStmtCacheSize"),
    idle("prepStmtCacheSqlLimit"),
    idle("useBulkStmts"),
    idle("useBatchMultiSend"),
    idle("characterEncoding"),
    idle("useUnicode"),
    idle("serverTimezone"),
    idle("connectionTimeZone"),
    idle("connectTimeout"),
    idle("socketTimeout"),
    idle("tcpKeepAlive"),
    idle("autoReconnect"),
    idle("failOverReadOnly"),
    idle("maxReconnects"),
    idle("allowPublicKeyRetrieval"),
    idle("serverRSAPublicKeyFile"),
    idle("allowMultiQueries"),
    idle("allowLoadLocalInfile"),
    idle("zeroDateTimeBehavior"),
    idle("tinyInt1isBit"),
    idle("useAffectedRows"),
    idle("useCursorFetch"),
    idle("defaultFetchSize"),
    idle("useLocalSessionState"),
    idle("useLegacyDatetimeCode"),
    idle("elideSetAutoCommits"),
    idle("maintainTimeStats"),
    idle("cacheServerConfiguration"),
    idle("cacheResultSetMetadata"),
    idle("nullCatalogMeansCurrent"),
    idle("createDatabaseIfNotExist"),
    idle("noAccessToProcedureBodies"),
    idle("maxAllowedPacket"),
    idle("logger"),
    idle("profileSQL"),
    idle("pool"),
    idle("minPoolSize"),
    idle("maxPoolSize"),
];

/// Properties of pgJDBC.
const OF_POSTGRES: &[OptionWord] = &[
    taken("user", user),
    taken("password", password),
    // It means verify-full there, where libpq means require.
    taken("ssl", |target, value| {
        at_least(target, if is_on("ssl", value)? { TlsMode::Verify } else { TlsMode::Off });
        Ok(())
    }),
    taken("sslmode", |target, value| take(target, libpq::OPTIONS, "sslmode", value)),
    taken("sslrootcert", |target, value| take(target, libpq::OPTIONS, "sslrootcert", value)),
    taken("sslcert", |target, value| take(target, libpq::OPTIONS, "sslcert", value)),
    taken("sslkey", |target, value| take(target, libpq::OPTIONS, "sslkey", value)),
    taken("channelBinding", |target, value| take(target, libpq::OPTIONS, "channel_binding", value)),
    taken("gssEncMode", |target, value| take(target, libpq::OPTIONS, "gssencmode", value)),
    taken("service", |target, value| take(target, libpq::OPTIONS, "service", value)),
    taken("targetServerType", |target, value| {
        target.session = Some(match value.to_ascii_lowercase().as_str() {
            "any" => Session::Any,
            "primary" | "master" => Session::Primary,
            "secondary" | "slave" => Session::Standby,
            "prefersecondary" | "preferslave" => Session::PreferStandby,
            _ => {
                return Err(format!(
                    "targetServerType is `{value}`; expected any, primary, secondary or preferSecondary"
                ));
            }
        });
        Ok(())
    }),
    taken("loadBalanceHosts", |_, value| match is_on("loadBalanceHosts", value)? {
        true => Err("loadBalanceHosts leaves to chance which server is measured; leave it out".to_owned()),
        false => Ok(()),
    }),
    refused("currentSchema", OF_SESSIONS),
    refused("options", OF_SESSIONS),
    refused("replication", "opens a session that takes no statements of a load; leave it out"),
    refused(
        "sslpassword",
        "is the passphrase of a key, and dbduel reads keys without one; expected a key without a passphrase",
    ),
    refused("sslfactory", KEY_STORE),
    refused("sslhostnameverifier", "names a check of Java, which dbduel does not have; expected sslmode=verify-full"),
    refused("socketFactory", ANOTHER_WAY),
    refused("localSocketAddress", ANOTHER_WAY),
    idle("prepareThreshold"),
    idle("preparedStatementCacheQueries"),
    idle("preparedStatementCacheSizeMiB"),
    idle("preferQueryMode"),
    idle("reWriteBatchedInserts"),
    idle("binaryTransfer"),
    idle("defaultRowFetchSize"),
    idle("adaptiveFetch"),
    idle("ApplicationName"),
    idle("assumeMinServerVersion"),
    idle("loginTimeout"),
    idle("connectTimeout"),
    idle("socketTimeout"),
    idle("cancelSignalTimeout"),
    idle("tcpKeepAlive"),
    idle("tcpNoDelay"),
    idle("hostRecheckSeconds"),
    idle("stringtype"),
    idle("autosave"),
    idle("cleanupSavepoints"),
    idle("readOnly"),
    idle("readOnlyMode"),
    idle("loggerLevel"),
    idle("loggerFile"),
    idle("logUnclosedConnections"),
    idle("receiveBufferSize"),
    idle("sendBufferSize"),
    idle("disableColumnSanitiser"),
    idle("escapeSyntaxCallMode"),
];

/// A URL without its `jdbc:`.
pub fn of_url(text: &str) -> Result<TargetUrl, String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!("the URL of JDBC names no host; {EXPECTED}, each with jdbc: before it"));
    };
    let (kind, known) = match scheme.to_ascii_lowercase().as_str() {
        "mysql" => (TargetKind::Mysql, OF_MYSQL),
        "mariadb" | "mariadb:sequential" => (TargetKind::Mariadb, OF_MYSQL),
        "postgresql" => (TargetKind::Postgres, OF_POSTGRES),
        other if other.starts_with("mysql:") || other.starts_with("mariadb:") || other.starts_with("mysql+srv") => {
            return Err(format!("`jdbc:{scheme}://` leaves open which server is measured; expected one server"));
        }
        _ => return Err(format!("`jdbc:{scheme}://` is no kind of server that dbduel knows; {EXPECTED}")),
    };
    let mut written = Written::of(&jdbc_hosts::respelt(rest)?)?;
    let options = std::mem::take(&mut written.options);
    let mut target =
        if kind == TargetKind::Postgres { libpq::of_uri(written)? } else { mysql_options::of_url(kind, written)? };
    for (key, value) in options {
        // Drivers for Java take their names in any case.
        let name =
            known.iter().find(|word| word.name.eq_ignore_ascii_case(&key)).map_or(key.as_str(), |word| word.name);
        take(&mut target, known, name, &value)?;
    }
    if kind != TargetKind::Postgres {
        return mysql_options::checked(target);
    }
    if target.tls.is_some() {
        target.settle()?;
    }
    Ok(target)
}
