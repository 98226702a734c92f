//! Dumps of the user's, fed to the client that belongs to the server.
//!
//! What must stay true: a password is never an argument of a client, and a dump that a client did not take
//! to its end is an error with the client's own words.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use driver::{Admin, Dialect};
use flate2::read::MultiGzDecoder;

use super::{DATABASE, DumpTaker, Installation, Server, Surroundings, find_on_path};

const BUFFER_BYTES: usize = 1 << 18;
const POLL: Duration = Duration::from_millis(5);
/// Statistics of a large table take their time.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// What `pg_dump -Fc` begins with.
const ARCHIVE: &[u8] = b"PGDMP";
/// So much of what a client complains of is shown.
const COMPLAINT_LINES: usize = 3;
const COMPLAINT_CHARACTERS: usize = 300;
/// Names the database in which the user's tables lie, where it is not [`DATABASE`]; beside the server's files.
const DATABASE_FILE: &str = "dbduel-database";

/// Fills the server's database with what a dump holds.
pub fn restore(server: &Server, dump: &Path, interrupted: &AtomicBool) -> Result<()> {
    let name = dump.display();
    let mut unpacked = Unpacked::open(dump).with_context(|| format!("cannot read {name}"))?;
    let mut input = BufReader::with_capacity(BUFFER_BYTES, Heeding { input: &mut unpacked, interrupted });
    let archive = input.fill_buf().with_context(|| format!("cannot read {name}"))?.starts_with(ARCHIVE);
    match server.engine().dump_taker(server.installation(), archive, (server.endpoint(), server.login()))? {
        DumpTaker::Client(command) => feed(command, &mut input, interrupted),
        DumpTaker::Library(execute) => execute(&mut input),
    }
    .with_context(|| format!("cannot restore {name}"))?;
    unpacked.finish().with_context(|| format!("cannot unpack {name}"))
}

/// A dump as text, or as the archive that it is.
enum Unpacked {
    Plain(File),
    Gzip(Box<MultiGzDecoder<File>>),
    /// By the program of that name.
    Zstd(Child, ChildStdout),
}

impl Unpacked {
    fn open(dump: &Path) -> Result<Unpacked> {
        let mut start = Vec::new();
        File::open(dump)?.take(ZSTD.len() as u64).read_to_end(&mut start)?;
        let file = File::open(dump)?;
        if start.starts_with(GZIP) {
            return Ok(Unpacked::Gzip(Box::new(MultiGzDecoder::new(file))));
        }
        if start != ZSTD {
            return Ok(Unpacked::Plain(file));
        }
        let zstd = Command::new("zstd").args(["-dcq", "--long=31"]).stdin(file).stdout(Stdio::piped()).spawn();
        let mut zstd = zstd.context("the program `zstd`, which unpacks it, cannot be run")?;
        let out = zstd.stdout.take().expect("its output is a pipe");
        Ok(Unpacked::Zstd(zstd, out))
    }

    fn finish(self) -> Result<()> {
        let Unpacked::Zstd(mut zstd, out) = self else { return Ok(()) };
        drop(out);
        let status = zstd.wait()?;
        ensure!(status.success(), "zstd ended with {status}");
        Ok(())
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(file) => file.read(buffer),
            Unpacked::Gzip(gzip) => gzip.read(buffer),
            Unpacked::Zstd(_, out) => out.read(buffer),
        }
    }
}

/// Ends with an error once dbduel is interrupted.
struct Heeding<'a> {
    input: &'a mut Unpacked,
    interrupted: &'a AtomicBool,
}

impl Read for Heeding<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.input.read(buffer)
    }
}

/// Feeds a client until it has ended.
fn feed(mut command: Command, input: &mut (dyn BufRead + Send), interrupted: &AtomicBool) -> Result<()> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut client = command.spawn().with_context(|| format!("cannot execute {program}"))?;
    let (mut stdin, stderr) = (client.stdin.take(), client.stderr.take());
    let (fed, said, status) = std::thread::scope(|scope| {
        let feeding = scope.spawn(move || copy(input, stdin.take().expect("its input is a pipe")));
        let listening = scope.spawn(move || {
            let mut said = Vec::new();
            // What cannot be read was not said.
            let _ = stderr.expect("its errors are a pipe").read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        let status = wait(&mut client, interrupted);
        let fed = feeding.join().unwrap_or_else(|_| Err(io::Error::other("the reader ended")));
        (fed, listening.join().unwrap_or_default(), status)
    });
    let status = status?;
    if !status.success() {
        bail!("{program} ended with {status}\nit said: {}", complaint(&said).join("\n         "));
    }
    Ok(fed?)
}

/// The lines that name an error, else the last ones; a client may quote a whole statement.
fn complaint(said: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.to_ascii_lowercase().contains("error")).collect();
    let shown = if errors.is_empty() { &lines[lines.len().saturating_sub(COMPLAINT_LINES)..] } else { &errors };
    shown.iter().take(COMPLAINT_LINES).map(|line| line.chars().take(COMPLAINT_CHARACTERS).collect()).collect()
}

/// A client that ends before its input does says why by its status.
fn copy(input: &mut dyn BufRead, mut stdin: impl Write) -> io::Result<()> {
    match io::copy(input, &mut stdin) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map(drop),
    }
}

fn wait(client: &mut Child, interrupted: &AtomicBool) -> Result<std::process::ExitStatus> {
    loop {
        if let Some(status) = client.try_wait()? {
            return Ok(status);
        }
        if interrupted.load(Ordering::Relaxed) {
            client.kill()?;
        }
        std::thread::sleep(POLL);
    }
}

/// A client program of an installation, beside its server or on the path, that can reach a socket; the first name that is
/// found.
pub fn client_program(installation: &Installation, names: &[&str], socket: &Path) -> Result<Command> {
    let beside = names.iter().map(|name| installation.server.with_file_name(name));
    let in_base = installation.basedir.iter().flat_map(|base| names.iter().map(|name| base.join("bin").join(name)));
    let on_path = names.iter().filter_map(|name| find_on_path(name));
    let own = beside.chain(in_base).find(|file| file.is_file());
    let around = if own.is_some() { installation.around.clone() } else { Surroundings::default() };
    let program: PathBuf = own.or_else(|| on_path.into_iter().next()).with_context(|| {
        format!("no program `{}` beside {} or on the path", names.join("` or `"), installation.server.display())
    })?;
    around.command(&program, &[socket.parent().context("a socket lies in a folder")?])
}

/// The database that a data directory's tables lie in.
pub fn database_in(data: &Path) -> String {
    std::fs::read_to_string(data.join(DATABASE_FILE)).unwrap_or_else(|_| DATABASE.to_owned())
}

/// Gathers statistics of the tables that a dump has brought, and which of their pages everybody sees, as servers do of tables
/// that have lived: a plan made without them is none of production's. What SQLite knows of its tables is in the dump.
pub fn gather_statistics(server: &Server) -> Result<()> {
    for_each_database(server, |_, admin| {
        let tables = admin.table_names()?;
        let statements = match admin.dialect() {
            Dialect::MySql => {
                tables.iter().map(|name| format!("ANALYZE TABLE {}", Dialect::MySql.quoted(name))).collect()
            }
            Dialect::Postgres => vec!["VACUUM (ANALYZE)".to_owned()],
            Dialect::Sqlite => Vec::new(),
        };
        statements.iter().try_for_each(|sql| admin.run(sql).map(drop).with_context(|| sql.clone()))
    })
}

/// A session in each database of the server.
fn for_each_database(server: &Server, mut work: impl FnMut(String, &mut Admin) -> Result<()>) -> Result<()> {
    for name in server.engine().databases(&mut server.admin()?)? {
        let (endpoint, login) = server.admin_access();
        let login = driver::Login { database: Some(name.clone()), ..login.clone() };
        work(name, &mut Admin::connect(server.dialect(), endpoint, &login, STATEMENT_LIMIT)?)?;
    }
    Ok(())
}

/// Looks for the database that holds the user's tables, and notes it beside the server's files.
pub fn note_database(server: &Server, data: &Path) -> Result<()> {
    let mut with_tables = Vec::new();
    for_each_database(server, |name, admin| {
        if !admin.table_names()?.is_empty() {
            with_tables.push(name);
        }
        Ok(())
    })?;
    match with_tables.as_slice() {
        [name] if name != DATABASE => Ok(std::fs::write(data.join(DATABASE_FILE), name)?),
        [] | [_] => Ok(()),
        several => Err(anyhow!(
            "its tables lie in several databases ({}), and the clients use one\n  next: keep the database that the statements are about",
            several.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dump: &Path) -> String {
        let mut unpacked = Unpacked::open(dump).unwrap();
        let mut text = String::new();
        unpacked.read_to_string(&mut text).unwrap();
        unpacked.finish().unwrap();
        text
    }

    #[test]
    fn a_dump_is_unpacked_by_what_it_begins_with() {
        let base = tempfile::tempdir().unwrap();
        let dump = base.path().join("shop");
        std::fs::write(&dump, "SELECT 1;").unwrap();
        assert_eq!(read(&dump), "SELECT 1;");
        let packed = base.path().join("shop.packed");
        let mut gzip = flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::fast());
        gzip.write_all(b"SELECT 2;").unwrap();
        gzip.finish().unwrap();
        assert_eq!(read(&packed), "SELECT 2;");
        if find_on_path("zstd").is_none() {
            println!("skipped: no zstd on this machine");
            return;
        }
        assert!(Command::new("zstd").args(["-qf", "-o"]).arg(&packed).arg(&dump).status().unwrap().success());
        assert_eq!(read(&packed), "SELECT 1;");
        std::fs::write(&packed, &std::fs::read(&packed).unwrap()[..12]).unwrap();
        let mut cut_off = Unpacked::open(&packed).unwrap();
        io::copy(&mut cut_off, &mut io::sink()).unwrap();
        assert!(cut_off.finish().is_err());
    }

    #[test]
    fn the_error_of_a_client_is_shown_and_not_the_statement() {
        let said =
            "--------------\nINSERT INTO t VALUES (1)\n--------------\n\nERROR 1146 (42S02) at line 3: no table t\n";
        assert_eq!(complaint(said), ["ERROR 1146 (42S02) at line 3: no table t"]);
        assert_eq!(complaint("a\nb\nc\nd\n"), ["b", "c", "d"]);
    }
}
