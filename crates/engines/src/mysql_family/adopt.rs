//! Data directories of the user's.
//!
//! No file names the version alike in all versions: it stands in what an upgrade leaves, in the header of the
//! dictionary's tablespace, or in that of a system table.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};

use engine::{Adopts, Site, locked_by, version_numbers};

use super::{MysqlFamily, option, run_step};

/// What programs that upgrade a data directory write.
const UPGRADED: &[&str] = &["mariadb_upgrade_info", "mysql_upgrade_info"];
/// Where the version of the server stands in the first page of `mysql.ibd`, highest byte first.
const IN_TABLESPACE: u64 = 8;
/// Where it stands in a table's `.frm`, lowest byte first.
const IN_FRM: u64 = 51;
const ACCOUNT: &str = "'root'@'localhost'";

impl Adopts for MysqlFamily {
    fn series_of(&self, place: &Path) -> Result<Option<String>> {
        let upgraded = UPGRADED.iter().find_map(|name| fs::read_to_string(place.join(name)).ok());
        if let Some(text) = upgraded {
            return Ok(Some(self.series(&version_numbers(text.trim()))));
        }
        let number = match number_at(&place.join("mysql.ibd"), IN_TABLESPACE) {
            Ok(bytes) => u32::from_be_bytes(bytes),
            Err(_) => number_at(&place.join("mysql/db.frm"), IN_FRM).map(u32::from_le_bytes).with_context(|| {
                format!("{} has neither mysql.ibd nor mysql/db.frm, which every data directory has", place.display())
            })?,
        };
        Ok(Some(self.series(&[number / 10_000, number / 100 % 100])))
    }

    fn series(&self, version: &[u32]) -> String {
        version.iter().take(2).map(u32::to_string).collect::<Vec<_>>().join(".")
    }

    fn user_of(&self, place: &Path) -> Result<Option<String>> {
        for name in ["ibdata1", "aria_log_control"] {
            if let Some(user) = locked_by(&place.join(name), 0, 0)? {
                return Ok(Some(user));
            }
        }
        Ok(None)
    }

    /// Its log says so when it starts.
    fn is_unclean(&self, _place: &Path) -> Result<bool> {
        Ok(false)
    }

    fn recovery_marks(&self) -> &'static [&'static str] {
        &["tarting crash recovery", "not shut down normally", "not shutdown normally"]
    }

    fn give_account(&self, site: &Site) -> Result<()> {
        let version = version_numbers(&site.installation.version);
        if self.flavour.kind() == "mariadb" && version.as_slice() >= &[10, 4] {
            let rights =
                r#"{"access":18446744073709551615,"plugin":"mysql_native_password","authentication_string":""}"#;
            let sql = format!("REPLACE INTO mysql.global_priv VALUES ('localhost', 'root', '{rights}');\n");
            return self.bootstrap(site, &BTreeMap::new(), &sql);
        }
        let grant = format!("GRANT ALL PRIVILEGES ON *.* TO {ACCOUNT} WITH GRANT OPTION;\n");
        if self.flavour.kind() == "mariadb" || version.as_slice() < &[5, 7, 9] {
            let change = self.flavour.change_password(&version).replace("SECRET", "''");
            return self.bootstrap(site, &BTreeMap::new(), &format!("FLUSH PRIVILEGES;\n{grant}{change};\n"));
        }
        let input = site.scratch.join("account.sql");
        let account =
            format!("CREATE USER IF NOT EXISTS {ACCOUNT};\nALTER USER {ACCOUNT} IDENTIFIED BY '' ACCOUNT UNLOCK;\n");
        fs::write(&input, format!("{account}{grant}SHUTDOWN;\n"))?;
        let mut arguments = self.common_arguments(site.installation, site.data);
        arguments.extend(["--skip-networking".into(), option("socket", site.scratch.join("sock"))]);
        arguments.extend([option("pid-file", site.scratch.join("pid")), option("init-file", input)]);
        let own = self.flavour.own_settings(&version);
        arguments.extend(own.iter().flat_map(|setting| setting.arguments).map(Into::into));
        run_step(site, &site.installation.server, arguments, None)
    }
}

fn number_at(file: &Path, position: u64) -> Result<[u8; 4]> {
    let mut file = File::open(file)?;
    let mut bytes = [0; 4];
    file.seek(SeekFrom::Start(position))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
