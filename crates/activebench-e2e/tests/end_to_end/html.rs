//! The HTML report of real runs in a real browser. It fetches nothing, fits narrow and wide windows in light and dark,
//! with every fold closed and open, has its answer on the first screen, prints on few pages, and describes its contents to
//! assistive technology.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use activebench_e2e::chromium::Chromium;
use activebench_e2e::{Verified, Volume, binary, needs, verify};
use serde_json::{Value, json};

/// Window widths in which a report is tested, in pixels.
const WIDTHS: [u32; 3] = [400, 800, 1400];

/// Largest height of a page with closed folds in a window that is 1400 pixels wide.
const HEIGHT: i64 = 3000;
/// Height of the window: what is above it is the first screen.
const FIRST_SCREEN: i64 = 900;
/// Most A4 pages with closed folds.
const SHEETS: usize = 3;

/// Renders a stored run with `report`, to a file outside of its run directory.
fn rendered(volume: &Volume, run: &Path) -> PathBuf {
    let file = volume.beside("rendered.html");
    let mut report = Command::new(binary());
    let output = report.arg("report").arg(run).arg("--format").arg(format!("html={}", file.display())).output();
    let output = output.expect("the binary runs");
    assert!(file.is_file(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

/// The page as assistive technology receives it: all nodes, and their order.
struct Tree {
    nodes: HashMap<String, Value>,
    order: Vec<String>,
}

impl Tree {
    fn of(browser: &mut Chromium) -> Self {
        let tree = browser.call("Accessibility.getFullAXTree", json!({}));
        let list = tree["nodes"].as_array().expect("nodes").clone();
        let id = |node: &Value| node["nodeId"].as_str().expect("an id").to_owned();
        let order = list.iter().map(id).collect();
        Self { nodes: list.into_iter().map(|node| (id(&node), node)).collect(), order }
    }

    fn with_role(&self, role: &str) -> Vec<&Value> {
        let nodes = self.order.iter().map(|id| &self.nodes[id]);
        nodes.filter(|node| node["ignored"] != true && node["role"]["value"] == role).collect()
    }

    fn names(&self, role: &str) -> Vec<&str> {
        self.with_role(role).into_iter().filter_map(|node| node["name"]["value"].as_str()).collect()
    }

    /// Returns all text below a node.
    fn text(&self, node: &Value) -> String {
        if node["role"]["value"] == "StaticText" {
            return node["name"]["value"].as_str().unwrap_or("").to_owned();
        }
        let children = node["childIds"].as_array().map_or(&[][..], Vec::as_slice);
        let below = children.iter().filter_map(|id| self.nodes.get(id.as_str()?));
        below.map(|child| self.text(child)).collect::<Vec<_>>().join(" ")
    }
}

/// Checks a report in every window; returns its number of charts.
fn look(file: &Path, verified: &Verified) -> usize {
    let mut browser = Chromium::open(file);
    let mut pages = Vec::new();
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            browser.present(width, scheme, "screen");
            check_width(&mut browser, &format!("{width} with closed folds"));
            pages.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
            keep_picture(&mut browser, file, width, scheme);
        }
    }
    assert_ne!(pages[0], pages[1], "light and dark differ");
    check_first_screen(&mut browser);
    check_print(&mut browser);
    browser.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)");
    for width in WIDTHS {
        browser.present(width, "light", "screen");
        check_width(&mut browser, &format!("{width} with open folds"));
        check_tree(&mut browser, verified, width);
    }
    assert_eq!(raw_backticks(&mut browser), json!([]));
    assert_eq!(browser.evaluate("document.scripts.length"), 0);
    assert_eq!(browser.requests(), [format!("file://{}", file.display())]);
    assert_eq!(browser.errors(), Vec::<&Value>::new());
    let charts = browser.evaluate("document.querySelectorAll('svg.chart').length");
    usize::try_from(charts.as_u64().expect("a number")).expect("few charts")
}

/// Checks every claim with its verdict, every chart by its name, the landmarks and the headings.
fn check_tree(browser: &mut Chromium, verified: &Verified, width: u32) {
    let tree = Tree::of(browser);
    let rows: Vec<String> = tree.with_role("row").into_iter().map(|row| tree.text(row)).collect();
    for claim in verified.report["claims"].as_array().expect("claims") {
        let printed = format!(
            "\"{} {}\"",
            claim["printed"]["text"].as_str().expect("a figure"),
            claim["printed"]["unit"].as_str().expect("a unit")
        );
        let verdict = claim["verdict"].as_str().expect("a verdict").replace('-', " ");
        let stands = rows.iter().any(|row| row.contains(&printed) && row.contains(&verdict));
        assert!(stands, "no row says {printed} and {verdict} at {width}: {rows:#?}");
    }
    let shown = browser.evaluate("[...document.querySelectorAll('svg.chart > title')].map(title => title.textContent)");
    let pictures = tree.names("image");
    for name in shown.as_array().expect("names").iter().filter_map(Value::as_str) {
        assert!(pictures.contains(&name), "{name} is not among {pictures:#?}");
    }
    assert!(pictures.iter().all(|name| !name.is_empty()), "{pictures:#?}");
    for landmark in ["banner", "main", "navigation", "contentinfo"] {
        assert_eq!(tree.with_role(landmark).len(), 1, "{landmark}");
    }
    let headings = tree.names("heading");
    for heading in ["Claimed and honest", "Findings", "Phases", "All figures", "Seven questions", "Device stack"] {
        assert!(headings.contains(&heading), "{headings:?}");
    }
}

fn check_width(browser: &mut Chromium, window: &str) {
    let scrolled = browser.evaluate("document.documentElement.scrollWidth - window.innerWidth");
    assert!(scrolled.as_i64().is_some_and(|pixels| pixels <= 0), "{scrolled} pixels too wide at {window}");
}

/// Returns the texts outside of code that show Markdown's mark for code.
fn raw_backticks(browser: &mut Chromium) -> Value {
    browser.evaluate(
        "(() => { const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); const found = []; \
         while (walk.nextNode()) { const node = walk.currentNode; \
         if (node.data.includes('`') && !node.parentElement.closest('code')) found.push(node.data); } \
         return found; })()",
    )
}

/// Checks that a wide window shows the answer without scrolling: verdict, bars, command and environment.
fn check_first_screen(browser: &mut Chromium) {
    browser.present(1400, "light", "screen");
    let height = browser.evaluate("document.documentElement.scrollHeight").as_i64();
    assert!(height.is_some_and(|height| height <= HEIGHT), "{height:?} pixels high");
    for part in ["h1 .verdict", "table.bars", ".strip"] {
        let end = browser.evaluate(&format!("document.querySelector('{part}').getBoundingClientRect().bottom"));
        assert!(end.as_f64().is_some_and(|end| end <= FIRST_SCREEN as f64), "{part} ends at {end}");
    }
    let command = "[...document.querySelectorAll('.copied code')].map(code => getComputedStyle(code).userSelect)";
    let selected = browser.evaluate(command);
    assert!(selected.as_array().expect("a list").iter().all(|how| how == "all"), "{selected}");
}

/// Checks the paper: white, nothing cut, few pages, and folds that are closed are left out.
fn check_print(browser: &mut Chromium) {
    // Width of A4 between the margins.
    browser.present(710, "dark", "print");
    let cut = browser.evaluate("document.documentElement.scrollWidth - window.innerWidth");
    assert!(cut.as_i64().is_some_and(|pixels| pixels <= 0), "{cut} pixels are cut on paper");
    let printed =
        "[...document.querySelectorAll('details.fold')].filter(fold => fold.getClientRects().length > 0).length";
    assert_eq!(browser.evaluate(printed), 0, "closed folds are printed");
    assert_eq!(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    let sheets = browser.printed_pages();
    assert!((1..=SHEETS).contains(&sheets), "{sheets} pages");
}

/// Keeps pictures, for work on the layout, in the folder named by `ACTIVEBENCH_SCREENSHOTS`.
fn keep_picture(browser: &mut Chromium, file: &Path, width: u32, scheme: &str) {
    let Some(folder) = std::env::var_os("ACTIVEBENCH_SCREENSHOTS") else { return };
    let name = file.parent().and_then(Path::file_name).expect("a folder").to_string_lossy().into_owned();
    let picture = Path::new(&folder).join(format!("{name}-{width}-{scheme}.png.base64"));
    std::fs::write(picture, browser.screenshot()).expect("the folder takes a picture");
}

#[test]
fn a_discrepancy_of_iozone_is_shown_whole() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "chromium");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let verified = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s128m", "-r64k"]);
    assert_eq!(verified.verdict(), "discrepancy", "{}", verified.story());
    let written = rendered(&volume, &verified.run);
    let charts = look(&written, &verified);
    assert!(charts >= 4 * 4, "{charts} charts of four phases");
    let page = std::fs::read_to_string(&written).expect("the report");
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

#[test]
fn several_jobs_of_fio_are_shown_whole() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "chromium");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let mut command = vec!["fio", "--size=32m", "--directory=.", "--group_reporting=0"];
    command.extend(["--name=sequential", "--rw=write", "--bs=128k", "--end_fsync=1"]);
    command.extend(["--name=random", "--stonewall", "--rw=randread", "--bs=4k", "--direct=1"]);
    command.extend(["--name=mixed", "--stonewall", "--rw=randrw", "--bs=16k"]);
    let verified = verify(&volume, &[], &command);
    let charts = look(&rendered(&volume, &verified.run), &verified);
    assert!(charts >= 3 * 4, "{charts} charts of three jobs");
}

/// Checks a document other than a run in every window, with closed and with open folds.
pub(crate) fn look_at_document(file: &Path) {
    let mut browser = Chromium::open(file);
    for is_open in [false, true] {
        browser.evaluate(&format!("document.querySelectorAll('details').forEach(folded => folded.open = {is_open})"));
        for width in WIDTHS {
            for scheme in ["light", "dark"] {
                browser.present(width, scheme, "screen");
                check_width(&mut browser, &format!("{width}, {}, open folds: {is_open}", file.display()));
            }
        }
    }
    assert_eq!(raw_backticks(&mut browser), json!([]), "{}", file.display());
    assert_eq!(browser.evaluate("document.scripts.length"), 0);
    assert_eq!(browser.requests(), [format!("file://{}", file.display())]);
    assert_eq!(browser.errors(), Vec::<&Value>::new());
    let drawn = browser.evaluate("document.querySelectorAll('svg.bar, svg.chart').length");
    assert!(drawn.as_u64() > Some(0), "nothing is drawn in {}", file.display());
    let strips = browser.evaluate("document.querySelectorAll('header .strip').length");
    assert_eq!(strips, 1, "{}", file.display());
}

#[test]
fn series_comparison_history_and_replication_are_shown_whole() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup", "chromium");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let activebench = |arguments: &[&str], runs: &[&Path], page: &str| {
        let file = volume.beside(page);
        let mut command = Command::new(binary());
        command.args(arguments).args(runs).arg("--format").arg(format!("html={}", file.display()));
        let output = command.output().expect("the binary runs");
        assert!(file.is_file(), "{}", String::from_utf8_lossy(&output.stderr));
        file
    };
    let series = volume.beside("series");
    let mut record = Command::new(binary());
    record.args(["verify", "--quiet", "--repeat", "6", "--out"]).arg(&series);
    record.args(["--", "iozone", "-i0", "-i1", "-s4m", "-r1m", "-e", "-I"]).current_dir(volume.path());
    assert!(record.output().expect("the binary runs").status.code().is_some_and(|code| code <= 3));
    let lie = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s4m", "-r1m"]);
    look_at_document(&activebench(&["report"], &[&series], "series.html"));
    look_at_document(&activebench(&["compare"], &[&series, &lie.run], "compare.html"));
    look_at_document(&activebench(&["history"], &[&series, &lie.run], "history.html"));
    let (target, out) = (volume.path(), volume.beside("replication"));
    let target = target.to_str().expect("a path of ours");
    let replicate = ["replicate", "--target", target, "--out", out.to_str().expect("a path of ours")];
    look_at_document(&activebench(&replicate, &[&lie.run], "replication.html"));
}

/// Without this test, a browser that reports nothing could pass for a page that does nothing wrong.
#[test]
fn a_page_that_breaks_the_rules_is_noticed() {
    needs!(beside: "chromium");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("bad.html");
    let page = "<!DOCTYPE html><html lang=en><head><meta http-equiv='Content-Security-Policy' \
                content=\"default-src 'none'; style-src 'unsafe-inline'\"></head><body><script>alert(1)</script>\
                <img src='http://127.0.0.1:9/x.png'><div style='width: 3000px'>wide</div></body></html>";
    std::fs::write(&file, page).expect("a file");
    let mut browser = Chromium::open(&file);
    browser.present(400, "light", "screen");
    assert_eq!(browser.requests().len(), 2, "what the policy refuses was asked for: {:?}", browser.requests());
    assert!(browser.errors().len() >= 2, "a script and a picture were refused: {:?}", browser.errors());
    assert!(browser.evaluate("document.documentElement.scrollWidth").as_u64() > Some(400));
    assert_eq!(browser.evaluate("document.scripts.length"), 1);
}
