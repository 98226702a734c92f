//! `cargo xtask site`: the documentation as pages of a book, with a report to look at, and every link checked.
//!
//! mdBook makes the pages. What must stay true: no page asks another host for anything, and no link inside of the book
//! leads nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::files::{as_text, below, copy, copy_all, write};
use crate::programs::run;

/// Pages beside `docs`, behind its own: file and title.
const BESIDE: [(&str, &str); 4] = [
    ("README.md", "dbduel in one page"),
    ("ARCHITECTURE.md", "Architecture"),
    ("CONTRIBUTING.md", "Contributing"),
    ("CHANGELOG.md", "Changelog"),
];
const EXAMPLE: &str = "example-report.html";

/// Builds it in `target/book`; `report` is shown as the example, or one of a run that is made for it.
pub fn site(root: &Path, report: Option<&Path>) -> Result<()> {
    let present = Command::new("mdbook").arg("--version").output();
    ensure!(
        present.is_ok_and(|output| output.status.success()),
        "pages are made by mdBook, which is not here\n  next: cargo install mdbook --no-default-features --features search"
    );
    let (sources, book) = (root.join("target/site"), root.join("target/book"));
    for stale in [&sources, &book].into_iter().filter(|folder| folder.exists()) {
        fs::remove_dir_all(stale).with_context(|| format!("cannot remove {}", stale.display()))?;
    }
    // As the files lie in the source, so that their links hold.
    copy_all(&root.join("docs"), &sources.join("docs"))?;
    copy_all(&root.join("experiments"), &sources.join("experiments"))?;
    for (name, _) in BESIDE {
        copy(&root.join(name), &sources.join(name))?;
    }
    // mdBook makes `index.html` of a README, and leaves links to it as they are.
    for name in below(&sources)?.iter().filter(|name| name.ends_with(".md")) {
        let text = fs::read_to_string(sources.join(name))?;
        write(&sources.join(name), text.replace("/README.md", "/index.md").replace("](README.md", "](index.md"))?;
    }
    let settings = fs::read_to_string(root.join("docs/book.toml"))?.replace("../target/book", "../book");
    write(&sources.join("book.toml"), settings)?;
    write(&sources.join("SUMMARY.md"), summary(&fs::read_to_string(root.join("docs/SUMMARY.md"))?))?;
    let example = example(root, report)?;
    write(
        &sources.join("example.md"),
        format!(
            "# A report\n\n[One run as dbduel reports it]({EXAMPLE}): one file, without a script from elsewhere.\n"
        ),
    )?;
    copy(&example, &sources.join(EXAMPLE))?;
    run(&sources, "mdbook", &["build"], &[])?;
    let (pages, links) = check(&book)?;
    println!("{pages} pages in {}, {links} links lead somewhere", book.display());
    Ok(())
}

/// The list of pages, from one folder further up.
fn summary(own: &str) -> String {
    let beside: String = BESIDE.iter().map(|(file, title)| format!("- [{title}]({file})\n")).collect();
    let own = own.replace("](", "](docs/");
    let (first, rest) = own.split_once("\n# Guide").unwrap_or((&own, ""));
    format!("{first}\n[A report](example.md)\n\n# Guide{rest}\n# The source\n\n{beside}")
}

fn example(root: &Path, report: Option<&Path>) -> Result<PathBuf> {
    if let Some(report) = report {
        return Ok(report.to_owned());
    }
    let folder = root.join("target/site-run");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let words = ["run", "--quiet", "--package", "dbduel", "--", "run", "quickstart", "--accept-noisy", "--runs"];
    run(root, "cargo", &[&words[..], &[&as_text(&folder)?]].concat(), &[])?;
    let made = below(&folder)?.into_iter().find(|name| name.ends_with("/report.html"));
    Ok(folder.join(made.context("the run has left no report")?))
}

/// What a page has for others to link to, and what it links to or loads.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
    loads: Vec<String>,
}

impl Page {
    fn of(html: &str) -> Page {
        let values = |name: &str| -> Vec<String> {
            let start = format!(" {name}=\"");
            let parts = html.split(start.as_str()).skip(1);
            parts.filter_map(|part| Some(part.split_once('"')?.0.replace("&amp;", "&"))).collect()
        };
        // Styles and icons are loaded; what an anchor names is followed.
        let (loaded, followed) = html.split("<link ").skip(1).filter_map(|part| part.split_once('>')).fold(
            (Vec::new(), values("href")),
            |(mut loaded, mut followed), (link, _)| {
                if let Some((_, rest)) = link.split_once("href=\"") {
                    let value = rest.split('"').next().unwrap_or_default().to_owned();
                    followed.retain(|other| *other != value);
                    loaded.push(value);
                }
                (loaded, followed)
            },
        );
        let loads = loaded.into_iter().chain(values("src")).collect();
        Page { ids: values("id").into_iter().chain(values("name")).collect(), links: followed, loads }
    }
}

/// Follows every link of every page; gives how many of both there are.
fn check(book: &Path) -> Result<(usize, usize)> {
    let names = below(book)?;
    let html = names.iter().filter(|name| name.ends_with(".html") && !name.ends_with(EXAMPLE));
    let page = |name: &String| Ok((name.clone(), Page::of(&fs::read_to_string(book.join(name))?)));
    let pages: BTreeMap<String, Page> = html.map(page).collect::<Result<_>>()?;
    let names: BTreeSet<String> = names.into_iter().collect();
    let (mut wrong, mut links) = (Vec::new(), 0);
    for (name, page) in &pages {
        for address in &page.loads {
            if is_elsewhere(address) && !address.starts_with("data:") {
                wrong.push(format!("{name} loads {address}"));
            } else if !is_elsewhere(address) && !leads(name, address, &names, &pages) {
                wrong.push(format!("{name} loads {address}, which is not there"));
            }
        }
        for address in page.links.iter().filter(|address| !is_elsewhere(address)) {
            links += 1;
            if !leads(name, address, &names, &pages) {
                wrong.push(format!("{name} links to {address}, which is not there"));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    if !wrong.is_empty() {
        bail!("the pages are not whole:\n  {}", wrong.join("\n  "));
    }
    Ok((pages.len(), links))
}

fn is_elsewhere(address: &str) -> bool {
    let scheme = address.split(['/', '#', '?']).next().unwrap_or_default();
    address.starts_with("//") || scheme.ends_with(':') || scheme.contains(':')
}

/// Whether an address in a page is a file of the book, with a place of that name in it.
fn leads(page: &str, address: &str, names: &BTreeSet<String>, pages: &BTreeMap<String, Page>) -> bool {
    let (path, place) = address.split_once('#').unwrap_or((address, ""));
    let path = path.split('?').next().unwrap_or_default();
    let target = if path.is_empty() { page.to_owned() } else { beside(page, path) };
    let target = if names.contains(&target) { target } else { format!("{}/index.html", target.trim_end_matches('/')) };
    let target = target.trim_start_matches('/').to_owned();
    names.contains(&target) && (place.is_empty() || pages.get(&target).is_none_or(|page| page.ids.contains(place)))
}

/// A path from a page on, as one from the book's folder.
fn beside(page: &str, path: &str) -> String {
    let joined = Path::new(page).parent().unwrap_or(Path::new("")).join(path);
    let mut parts: Vec<String> = Vec::new();
    for part in joined.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a book of these files.
    fn wrong(files: &[(&str, &str)]) -> String {
        let book = tempfile::tempdir().unwrap();
        for (name, text) in files {
            write(&book.path().join(name), text).unwrap();
        }
        check(book.path()).map_or_else(|error| error.to_string(), |(pages, links)| format!("{pages} {links}"))
    }

    #[test]
    fn links_lead_to_files_and_places_of_the_book() {
        let index =
            r##"<a href="guide/a.html#here">a</a> <a href="#top" id="top">t</a> <a href="https://example.org">e</a>"##;
        let page = r#"<h1 id="here">A</h1> <a href="../index.html">up</a> <img src="a.svg">"#;
        assert_eq!(wrong(&[("index.html", index), ("guide/a.html", page), ("guide/a.svg", "")]), "2 3");
    }

    #[test]
    fn a_link_to_nothing_and_a_request_to_another_host_are_named() {
        let page =
            r##"<link rel="stylesheet" href="https://example.org/x.css"> <a href="b.html">b</a> <a href="#no">n</a>"##;
        let told = wrong(&[("a.html", page)]);
        for part in ["a.html loads https://example.org/x.css", "links to b.html, which", "links to #no, which"] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn pages_of_docs_are_listed_from_one_folder_further_up() {
        let listed = summary("# Summary\n\n[Documentation](README.md)\n\n# Guide\n\n- [A](guide/a.md)\n");
        assert!(listed.contains("[Documentation](docs/README.md)\n\n[A report](example.md)\n\n# Guide"), "{listed}");
        assert!(
            listed.contains("- [A](docs/guide/a.md)") && listed.contains("- [Architecture](ARCHITECTURE.md)"),
            "{listed}"
        );
    }
}
