//! A headless Chromium that shows one file, controlled over the DevTools protocol through a pipe.
//!
//! The protocol is a sequence of JSON documents. Its client libraries bring a TLS stack and a hundred crates that would
//! be built for this one test, and they would change the features of all other builds.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest wait for an answer: a browser on a busy machine starts slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// The browser with one page; it ends when dropped.
#[derive(Debug)]
pub struct Chromium {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    calls: u64,
    events: Vec<Value>,
    /// Profile and caches of the browser.
    _profile: TempDir,
}

impl Chromium {
    /// Opens a file in a new browser.
    pub fn open(file: &Path) -> Self {
        let profile = TempDir::with_prefix("activebench-e2e-chromium-").expect("a temporary folder");
        let mut child = Command::new("sh")
            // The protocol uses the descriptors 3 and 4. Root cannot use the browser's sandbox.
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", "sh"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromium starts");
        let input = child.stdin.take().expect("its input");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser =
            Self { child, input, messages, session: None, calls: 0, events: Vec::new(), _profile: profile };
        browser.show(file);
        browser
    }

    fn show(&mut self, file: &Path) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        self.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log", "Network", "Audits", "Accessibility"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    fn receive(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("chromium answers")
    }

    /// Calls a method of the protocol and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method of the protocol and returns its result, or the error that it answers.
    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(message.to_string().as_bytes()).expect("chromium takes a call");
        self.input.write_all(b"\0").expect("chromium takes a call");
        loop {
            let mut answer = self.receive();
            if answer["id"] == self.calls {
                return match answer["error"].take() {
                    Value::Null => Ok(answer["result"].take()),
                    error => Err(error),
                };
            }
            self.events.push(answer);
        }
    }

    /// Evaluates a JavaScript expression in the page through the debugger, and returns its value.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Sets the window's width and the colour scheme, `light` or `dark`; `medium` is `screen` or `print`.
    pub fn present(&mut self, width: u32, scheme: &str, medium: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// Returns a picture of the whole page as a PNG, in base64.
    pub fn screenshot(&mut self) -> String {
        let result = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        result["data"].as_str().expect("a picture").to_owned()
    }

    /// Prints the page with its own paper size, and returns the number of sheets.
    pub fn printed_pages(&mut self) -> usize {
        // A range of pages that does not exist is an error, so the first one that does not counts them.
        let print = |browser: &mut Self, page: usize| {
            let parameters =
                json!({ "printBackground": true, "preferCSSPageSize": true, "pageRanges": page.to_string() });
            browser.try_call("Page.printToPDF", parameters).is_ok()
        };
        (1..).take_while(|page| print(self, *page)).count()
    }

    /// Returns the URLs that the page requested over any network, including the file itself.
    pub fn requests(&self) -> Vec<&str> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// Returns the page's errors: from the console, from scripts, and from its policy's refusals.
    pub fn errors(&self) -> Vec<&Value> {
        let is_error = |event: &&Value| match event["method"].as_str().unwrap_or("") {
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Runtime.consoleAPICalled" => event["params"]["type"] == "error",
            "Runtime.exceptionThrown" | "Audits.issueAdded" => true,
            _ => false,
        };
        self.events.iter().filter(is_error).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("cleaning up: chromium: {error}");
        }
    }
}
