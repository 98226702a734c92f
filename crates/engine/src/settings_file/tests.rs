use super::*;
use crate::target_url::Made;

const FORM: SettingsFile = SettingsFile::Groups {
    groups: &["mysqld", "server"],
    of_series: &["mysqld-"],
    skips: &["skip_name_resolve"],
    unseen: &["symbolic_links", "replicate_*"],
};

fn options(text: &'static str, version: Option<&[u32]>) -> Vec<(String, String)> {
    let around = Made { files: vec![("/c", 0o644, text)], ..Made::default() };
    given(&FORM, version, Path::new("/c"), &around).unwrap().0
}

#[test]
fn switches_of_an_option_file_are_settings() {
    let text = "[mysqld]\nskip-name-resolve\nskip_log_bin\nenable-named-pipe\ndisable-x\nInnoDB_Buffer-Pool_size=1G\nflush\n\
                [mysqld-8.0]\na=1\n[client]\nb=1\n";
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let common = [
        pair("skip_name_resolve", "ON"),
        pair("log_bin", "OFF"),
        pair("named_pipe", "ON"),
        pair("x", "OFF"),
        pair("innodb_buffer_pool_size", "1G"),
        pair("flush", "ON"),
    ];
    assert_eq!(options(text, None), common);
    assert_eq!(options(text, Some(&[8, 0, 31])).last(), Some(&pair("a", "1")));
    assert_eq!(options(text, Some(&[5, 7])).len(), common.len());
}

#[test]
fn a_path_goes_where_the_name_alone_may_stand() {
    static RESERVED: Reserved = Reserved {
        always: &["datadir"],
        paths: &["slow_query_log_file"],
        commands: &["archive_command"],
        prefixes: &[],
        abbreviates: false,
    };
    let of = |name: &str, value: &str| allowed(&RESERVED, name, value.to_owned());
    assert_eq!(of("slow_query_log_file", "/var/log/slow.log"), Some(("slow.log".to_owned(), true)));
    assert_eq!(of("slow_query_log_file", "slow.log"), Some(("slow.log".to_owned(), false)));
    assert_eq!(of("datadir", "/var/lib/mysql"), None);
    assert_eq!(of("archive_command", "cp %p /archive/%f"), None);
    assert_eq!(of("ft_stopword_file", "/usr/share/words"), Some(("/usr/share/words".to_owned(), false)));
}

#[test]
fn a_configuration_of_postgresql_is_read_by_the_rules_of_its_own_reader() {
    let text = "# comment\nshared_buffers = 128MB # min 128kB\nwork_mem 8MB\nsearch_path = '\"$user\", public'\n\
                Fsync=off\nlog_line_prefix = '%m [%p] ''x'' \\'y\\''\nauto_explain.log_analyze = on\n\
                include 'more.conf'\ninclude_if_exists 'none.conf'\ninclude_dir = 'conf.d'\n";
    let around = Made {
        files: vec![
            ("/etc/p.conf", 0o644, text),
            ("/etc/more.conf", 0o644, "work_mem = 4MB\n"),
            ("/etc/conf.d/a.conf", 0o644, "jit = off"),
            ("/etc/conf.d/b.txt", 0o644, "jit = on"),
            ("/etc/conf.d/.c.conf", 0o644, "jit = on"),
            ("/open.conf", 0o644, "a = 'b"),
            ("/bad.conf", 0o644, "a = b\n= c"),
            ("/loop.conf", 0o644, "include 'loop.conf'"),
        ],
        ..Made::default()
    };
    let read = |path: &str| conf::read(Path::new(path), &around);
    let settings = read("/etc/p.conf").unwrap();
    let pairs: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        pairs,
        [
            ("shared_buffers", "128MB"),
            ("work_mem", "8MB"),
            ("search_path", "\"$user\", public"),
            ("fsync", "off"),
            ("log_line_prefix", "%m [%p] 'x' 'y'"),
            ("auto_explain.log_analyze", "on"),
            ("work_mem", "4MB"),
            ("jit", "off"),
        ]
    );
    assert_eq!(read("/open.conf").unwrap_err(), "/open.conf, line 1: a quote is not closed");
    assert_eq!(read("/bad.conf").unwrap_err(), "/bad.conf, line 2: expected name = value");
    assert!(read("/loop.conf").unwrap_err().contains("too deeply"));
    assert_eq!(read("/none.conf").unwrap_err(), "there is no file /none.conf");
}
