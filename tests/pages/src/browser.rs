//! A page in a headless Chromium.
//!
//! The DevTools protocol is spoken over a pipe (`--remote-debugging-pipe`: JSON messages that end in a zero byte, in
//! on descriptor 3, out on 4), so that no port is opened and no other crate is needed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A shell hands its own input and output on as the descriptors that Chromium expects.
const START: &str = "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    --no-first-run --disable-background-networking --remote-debugging-pipe --user-data-dir=\"$1\" about:blank \
    3<&0 4>&1 </dev/null >/dev/null 2>\"$1/log\"";

/// What a page is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Light,
    Dark,
    Print,
}

/// A browser with one page, which ends with it. It can show one page after the other.
pub struct Page {
    chromium: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    shown: u64,
    /// What the browser reported since the page was shown.
    events: Vec<Value>,
    folder: TempDir,
}

impl Page {
    /// A browser that shows nothing yet.
    pub fn blank() -> Result<Page> {
        let mut page = Page::start()?;
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(page)
    }

    /// Shows a page that lies in a file, in a window of so many pixels, and forgets what it reported of the one before.
    pub fn show(&mut self, html: &str, (width, height): (u32, u32), media: Media) -> Result<()> {
        self.shown += 1;
        let file = self.folder.path().join(format!("report-{}.html", self.shown));
        std::fs::write(&file, html)?;
        self.resize(width, height)?;
        self.show_on(media)?;
        self.visit(&format!("file://{}", file.display()))
    }

    /// Goes to an address, and forgets what the page before reported.
    pub fn visit(&mut self, address: &str) -> Result<()> {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }))?;
        while self.events_of("Page.loadEventFired").next().is_none() {
            self.receive()?;
        }
        Ok(())
    }

    fn start() -> Result<Page> {
        let present = Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success());
        ensure!(present, "cannot start `chromium`: the tests of pages need it (Debian package `chromium`)");
        let folder = tempfile::tempdir()?;
        let mut chromium = Command::new("sh")
            .args(["-c", START, "sh"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `sh`")?;
        let requests = chromium.stdin.take().context("the browser's input is a pipe")?;
        let answers = BufReader::new(chromium.stdout.take().context("the browser's output is a pipe")?);
        let mut page =
            Page { chromium, requests, answers, session: None, sent: 0, shown: 0, events: Vec::new(), folder };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = page.call("Target.attachToTarget", target)?;
        page.session = session["sessionId"].as_str().map(str::to_owned);
        Ok(page)
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.sent += 1;
        let mut request = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).with_context(|| self.log())?;
        loop {
            let Some(answer) = self.receive()? else { continue };
            if answer["id"] == self.sent {
                ensure!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return Ok(answer["result"].clone());
            }
        }
    }

    /// The next message, if it is an answer; an event is kept.
    fn receive(&mut self) -> Result<Option<Value>> {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message)?;
        ensure!(message.pop() == Some(0), "chromium has ended: {}", self.log());
        let message: Value = serde_json::from_slice(&message)?;
        if message["id"].is_null() {
            self.events.push(message);
            return Ok(None);
        }
        Ok(Some(message))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn events_of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["method"] == method).map(|event| &event["params"])
    }

    /// Everything that the page has asked for.
    pub fn requests(&self) -> Vec<String> {
        self.events_of("Network.requestWillBeSent").map(|event| event["request"]["url"].to_string()).collect()
    }

    /// What stands in the console, and exceptions.
    pub fn complaints(&self) -> Vec<String> {
        let methods = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        methods.iter().flat_map(|method| self.events_of(method)).map(Value::to_string).collect()
    }

    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    pub fn show_on(&mut self, media: Media) -> Result<()> {
        let scheme = if media == Media::Dark { "dark" } else { "light" };
        let medium = if media == Media::Print { "print" } else { "screen" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features })).map(drop)
    }

    /// The value of a JavaScript expression; a promise is awaited.
    pub fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params)?;
        if !answer["exceptionDetails"].is_null() {
            bail!("{expression}: {}", answer["exceptionDetails"]);
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until a JavaScript expression is true, for at most ten seconds. It has no value while a page is left.
    pub fn wait_for(&mut self, expression: &str) -> Result<()> {
        const STEP: Duration = Duration::from_millis(50);
        const STEPS: u32 = 200;
        for _ in 0..STEPS {
            if self.value(expression).is_ok_and(|value| value == true) {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        bail!("{expression} does not become true: {:?}", self.complaints())
    }

    /// The list that a JavaScript expression gives, as texts.
    pub fn texts(&mut self, expression: &str) -> Result<Vec<String>> {
        let list = self.value(expression)?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(list.as_array().with_context(|| format!("{expression} is {list}"))?.iter().map(text).collect())
    }

    /// A picture of the window, or of the whole page however long it is.
    pub fn screenshot(&mut self, file: &Path, whole: bool) -> Result<()> {
        let height = if whole { "document.documentElement.scrollHeight" } else { "innerHeight" };
        let (width, height) = (self.value("innerWidth")?, self.value(height)?);
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let params = json!({ "format": "png", "captureBeyondViewport": whole, "clip": clip });
        let picture = self.call("Page.captureScreenshot", params)?;
        self.keep(&picture, file)
    }

    /// The page as it is printed.
    pub fn pdf(&mut self, file: &Path) -> Result<()> {
        let printed = self.call("Page.printToPDF", json!({ "printBackground": true }))?;
        self.keep(&printed, file)
    }

    fn keep(&self, answer: &Value, file: &Path) -> Result<()> {
        let data = answer["data"].as_str().context("the browser answers with data")?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(data)?;
        std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}
