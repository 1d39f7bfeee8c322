//! The tools of a command: those that its words name before anything runs, and those that its tree executed.
//!
//! [`executed`] determines the executed tools once, when a run is recorded. Its answer is stored in the manifest,
//! from which everything else reads it.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use activebench_model::activity::Exec;
use activebench_model::claim::{Claim, Printed, SourceLine};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;

use crate::adapter::Adapter;
use crate::printed_numbers::PrintedNumber;
use crate::registry::{ADAPTERS, adapter_for_output, adapter_for_program};
use crate::script_figures::{NumbersAlone, rates_of, restates};

/// A tool with its own command line: without wrappers.
pub type Invocation = (&'static dyn Adapter, CommandLine);

/// The tools that the tree of a command executed.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// The tool that measured, whose figures are judged; `None` if no known tool was executed.
    pub tool: Option<Invocation>,
    /// The names of all tools that measured, in order.
    pub measuring: Vec<&'static str>,
}

/// Finds the tools that the tree of a command executed. `links` maps executed files of other names to the files that
/// they link to; `output` identifies a tool that ran under another name.
pub fn executed(
    command: &CommandLine,
    execs: &[Exec],
    links: &BTreeMap<String, String>,
    output: &ToolOutput,
) -> Executed {
    let (of_tools, all): (Vec<&Exec>, Vec<Invocation>) = executions_of_tools(command, execs, links).unzip();
    let mut measuring: Vec<usize> = (0..all.len()).filter(|index| measures(all[*index].0, &all[*index].1)).collect();
    // Beside a benchmark, everyday programs helped it.
    if measuring.iter().any(|index| !all[*index].0.is_everyday()) {
        measuring.retain(|index| !all[*index].0.is_everyday());
    }
    let own = adapter_for_program(command.program());
    // A script of the tool's name that executes the tool measures nothing itself.
    let mut span_of: HashMap<&str, (usize, usize)> = HashMap::new();
    for index in &measuring {
        span_of.entry(all[*index].0.name()).or_insert((*index, *index)).1 = *index;
    }
    let is_script = |index: &usize| {
        let adapter = all[*index].0;
        let (first, last) = span_of[adapter.name()];
        let is_command = own.is_some_and(|own| own.name() == adapter.name()) && *index == first;
        *index < last && (is_command || is_interpreted(of_tools[*index], adapter))
    };
    let (scripts, measuring): (Vec<usize>, Vec<usize>) = measuring.into_iter().partition(is_script);
    let first = measuring.first().copied();
    let tool = match own {
        Some(adapter) => {
            let is_own = |index: &&usize| all[**index].0.name() == adapter.name();
            let inner = measuring.iter().find(is_own).filter(|_| scripts.iter().any(|index| is_own(&index)));
            // The words are those of the tool where the script does not let its own through.
            let inner =
                inner.map(|index| &all[*index]).filter(|(_, words)| words.argv.get(1..) != command.argv.get(1..));
            Some(inner.cloned().unwrap_or_else(|| (adapter, command.clone())))
        }
        // A tool that was only run for its version measured nothing.
        None => first
            .or_else(|| all.iter().position(|(adapter, _)| !adapter.is_everyday()))
            .map(|index| all[index].clone())
            .or_else(|| identified_by_output(command, execs, output)),
    };
    Executed { tool, measuring: measuring.into_iter().map(|index| all[index].0.name()).collect() }
}

/// Returns every tool that the tree executed, in order. If a tool's arguments are unknown, the words that the
/// command has for it are used, if any.
pub fn invocations(command: &CommandLine, execs: &[Exec], links: &BTreeMap<String, String>) -> Vec<Invocation> {
    executions_of_tools(command, execs, links).map(|(_, tool)| tool).collect()
}

/// Returns the executions of tools that measured, each with the tool and its words. Everyday programs among them may
/// have helped a benchmark (see [`is_shown`], [`is_quoted`]).
pub fn measuring<'a>(
    command: &CommandLine,
    execs: &'a [Exec],
    links: &BTreeMap<String, String>,
) -> Vec<(&'a Exec, Invocation)> {
    executions_of_tools(command, execs, links).filter(|(_, (adapter, own))| measures(*adapter, own)).collect()
}

/// Fewest bytes with which an execution of an everyday program measures something: scripts write sectors, keys and
/// markers with less.
const LEAST_BYTES: u64 = 64 << 10;

/// What a command showed, and which executions printed each line of it. Read once for all executions.
pub struct Shown<'a> {
    streams: [&'a [u8]; 2],
    /// The lines of each stream.
    lines: [HashSet<&'a [u8]>; 2],
    /// In how many outputs of executions a line stands.
    printed_by: HashMap<&'a [u8], usize>,
    alone: LazyCell<NumbersAlone, Box<dyn FnOnce() -> NumbersAlone + 'a>>,
    rates: LazyCell<Vec<PrintedNumber>, Box<dyn FnOnce() -> Vec<PrintedNumber> + 'a>>,
}

impl<'a> Shown<'a> {
    /// `outputs` are what each of the executions printed.
    pub fn new(shown: &'a ToolOutput, outputs: impl IntoIterator<Item = &'a ToolOutput>) -> Self {
        let mut printed_by: HashMap<&[u8], usize> = HashMap::new();
        for output in outputs {
            let lines: HashSet<&[u8]> = lines_of(output).collect();
            lines.into_iter().for_each(|line| *printed_by.entry(line).or_default() += 1);
        }
        let streams = [&shown.stdout, &shown.stderr].map(Vec::as_slice);
        Self {
            streams,
            lines: streams.map(|stream| stream.split(is_feed).collect()),
            printed_by,
            alone: LazyCell::new(Box::new(|| NumbersAlone::of(shown))),
            rates: LazyCell::new(Box::new(|| rates_of(shown))),
        }
    }

    /// Returns true if one of these figures is shown in a line for which `counts` is true.
    fn has(&self, figures: &[Claim], counts: impl Fn(&[u8]) -> bool) -> bool {
        let texts: Vec<String> = figures
            .iter()
            .map(|claim| &claim.printed)
            .flat_map(|printed| [" ", ""].map(|between| format!("{}{between}{}", printed.text, printed.unit)))
            .collect();
        let has_text = |line: &&[u8]| {
            let text = String::from_utf8_lossy(line);
            texts.iter().any(|number| contains_number(&text, number))
        };
        let counts_as_shown = |source: &SourceLine| counts(source.text.as_bytes());
        self.streams
            .iter()
            .flat_map(|stream| stream.split(is_feed))
            .filter(|line| counts(line))
            .any(|line| has_text(&line))
            || self.alone.show(figures, counts_as_shown)
            || restates(&self.rates, figures, counts_as_shown)
    }
}

fn lines_of(output: &ToolOutput) -> impl Iterator<Item = &[u8]> {
    [&output.stdout, &output.stderr].into_iter().flat_map(|stream| stream.split(is_feed))
}

fn is_feed(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Returns true if somebody may read an execution as a measurement: always for a benchmark; for an everyday program where
/// it moved [`LEAST_BYTES`] and the command shows one of its figures. `printed` is what the execution printed.
pub fn is_shown(adapter: &dyn Adapter, command: &CommandLine, printed: &ToolOutput, shown: &Shown<'_>) -> bool {
    !adapter.is_everyday() || shown.has(&figures(adapter, command, printed), |_| true)
}

/// Returns the figures of an everyday program that moved [`LEAST_BYTES`].
fn figures(adapter: &dyn Adapter, command: &CommandLine, printed: &ToolOutput) -> Vec<Claim> {
    let large = |claim: &Claim| claim.claimed_bytes.is_some_and(|bytes| bytes >= LEAST_BYTES);
    adapter.parse(command, printed, None).claims.into_iter().filter(large).collect()
}

/// Returns true if a text contains a number with its unit, and not as the end of a longer number.
fn contains_number(text: &str, number: &str) -> bool {
    let is_whole = |at: usize| !text[..at].ends_with(|before: char| before.is_ascii_digit() || before == '.');
    text.match_indices(number).any(|(at, _)| is_whole(at))
}

/// Returns true if the command shows the rate of an everyday program, but not its whole report: somebody chose it.
/// Beside a benchmark this tells a measurement from a helper, whose report a script lets through as it comes. Numbers in
/// lines that other executions printed are theirs. `printed` is that of [`is_shown`].
pub fn is_quoted(adapter: &dyn Adapter, command: &CommandLine, printed: &ToolOutput, shown: &Shown<'_>) -> bool {
    if !adapter.is_everyday() {
        return true;
    }
    // Lines such as `1+0 records in` are those of any copy: the whole report stands in one stream.
    let has_report = |lines: &HashSet<&[u8]>| lines_of(printed).all(|line| line.is_empty() || lines.contains(line));
    if shown.lines.iter().any(has_report) {
        return false;
    }
    let own: HashSet<&[u8]> = lines_of(printed).collect();
    let is_of_others =
        |line: &[u8]| shown.printed_by.get(line).is_some_and(|outputs| *outputs > usize::from(own.contains(line)));
    let mut rates = figures(adapter, command, printed);
    rates.retain(|claim| !claim.metric.is_count());
    shown.has(&rates, |line| !is_of_others(line))
}

/// Returns the words of a tool's command without those that name its files. Executions with the same words do the same
/// work.
pub fn work_of<'a>(adapter: &dyn Adapter, command: &'a CommandLine) -> Vec<&'a str> {
    let files = adapter.vetted(&command.argv).files;
    let names_file = |word: &&str| {
        let value = word.split_once('=').map_or(*word, |(_, value)| value);
        files.iter().any(|file| file == value)
    };
    command.argv.iter().map(String::as_str).filter(|word| !names_file(word)).collect()
}

/// Returns true if the command shows a summary of several executions of an everyday program that do the same work: their
/// mean or sum, or the rate of one of them in a line that says mean, average or median. `printed` is what each of them
/// printed.
pub fn is_summarised(adapter: &dyn Adapter, command: &CommandLine, printed: &[&ToolOutput], shown: &Shown<'_>) -> bool {
    if !adapter.is_everyday() || printed.len() < 2 {
        return false;
    }
    let rate =
        |output: &&ToolOutput| figures(adapter, command, output).into_iter().find(|claim| claim.metric.is_rate(true));
    let rates: Vec<Claim> = printed.iter().filter_map(rate).collect();
    if rates.len() < printed.len() {
        return false;
    }
    let says_so = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).to_lowercase();
        line.split(|c: char| !c.is_alphabetic()).any(|word| ["mean", "average", "avg", "median"].contains(&word))
    };
    shown.has(&rates, says_so) || shown.has(&sum_and_mean(&rates), |_| true)
}

/// Returns the sum and the mean of rates, also as a script computes them from what was printed. None of rates of
/// different kinds.
fn sum_and_mean(rates: &[Claim]) -> Vec<Claim> {
    let Some(first) = rates.first().filter(|first| rates.iter().all(|claim| claim.metric == first.metric)) else {
        return Vec::new();
    };
    let is_alike = |claim: &Claim| claim.printed.unit == first.printed.unit;
    let value: f64 = rates.iter().map(|claim| claim.value.value).sum();
    let number = |claim: &Claim| claim.printed.text.parse::<f64>().ok().filter(|_| is_alike(claim));
    let printed: Option<f64> = rates.iter().map(number).sum();
    let divided = |parts: f64| {
        let mut claim = first.clone();
        claim.value.value = value / parts;
        claim.printed = match printed {
            Some(printed) => Printed { text: format!("{:.4}", printed / parts), ..claim.printed },
            // One in MB/s, another in GB/s.
            None => Printed { text: claim.value.value.to_string(), unit: "B/s".to_owned() },
        };
        claim
    };
    vec![divided(1.0), divided(rates.len() as f64)]
}

fn executions_of_tools<'a>(
    command: &CommandLine,
    execs: &'a [Exec],
    links: &BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a Exec, Invocation)> {
    let of_tool = |exec: &'a Exec| {
        if let Some((adapter, argv)) = applet(exec) {
            return Some((exec, (adapter, CommandLine { argv, cwd: command.cwd.clone() })));
        }
        let adapter = adapter_for_program(&exec.filename)
            .or_else(|| adapter_for_program(links.get(&exec.filename).map(String::as_str)?))?;
        let argv = match exec.arguments.is_empty() {
            true => behind_wrapper(&command.argv, adapter),
            false => own_words(exec, adapter).to_vec(),
        };
        Some((exec, (adapter, CommandLine { argv, cwd: command.cwd.clone() })))
    };
    execs.iter().filter_map(of_tool)
}

/// Returns the arguments of an execution without those that the kernel put in front of a script's own: its interpreter,
/// that one's argument, and the script in place of its name.
fn own_words<'a>(exec: &'a Exec, adapter: &dyn Adapter) -> &'a [String] {
    let is_tool = |word: &String| adapter.is_program(word.rsplit('/').next().unwrap_or(word));
    if exec.arguments.first().is_none_or(is_tool) {
        return &exec.arguments;
    }
    let script = exec.arguments.iter().position(|word| *word == exec.filename);
    &exec.arguments[script.unwrap_or(0)..]
}

/// Returns true if a script was executed under a tool's name.
fn is_interpreted(exec: &Exec, adapter: &dyn Adapter) -> bool {
    own_words(exec, adapter).len() < exec.arguments.len()
}

/// Returns true if a script was executed under the name of any tool.
pub fn is_script(exec: &Exec) -> bool {
    adapter_for_program(&exec.filename).is_some_and(|adapter| is_interpreted(exec, adapter))
}

/// Returns true if the command is a tool itself, and not a script of its name that executes the tool.
pub fn is_the_tool(command: &CommandLine, execs: &[Exec], links: &BTreeMap<String, String>) -> bool {
    let Some(own) = adapter_for_program(command.program()) else { return false };
    measuring(command, execs, links).iter().filter(|(_, (adapter, _))| adapter.name() == own.name()).count() < 2
}

/// Returns the tool that a program of many tools was told to be by its first argument.
fn applet(exec: &Exec) -> Option<(&'static dyn Adapter, Vec<String>)> {
    let is_many = exec.filename.rsplit('/').next() == Some("busybox");
    let argv = exec.arguments.get(1..).filter(|_| is_many)?;
    Some((adapter_for_program(argv.first()?)?, argv.to_vec()))
}

/// Finds a tool that ran under another name: its output identifies the tool, its arguments show which execution
/// measured.
fn identified_by_output(command: &CommandLine, execs: &[Exec], output: &ToolOutput) -> Option<Invocation> {
    let adapter = adapter_for_output(output)?;
    let of_exec = |exec: &Exec| CommandLine { argv: exec.arguments.clone(), cwd: command.cwd.clone() };
    let executed = execs.iter().filter(|exec| !exec.arguments.is_empty()).map(of_exec);
    let mut measuring = executed.filter(|command| measures(adapter, command));
    // Several candidates cannot be distinguished.
    let found = measuring.next()?;
    measuring.next().is_none().then_some((adapter, found))
}

/// Returns true if a command makes its tool measure something, or reads its work from files.
fn measures(adapter: &dyn Adapter, command: &CommandLine) -> bool {
    !adapter.input_files(command).is_empty() || !adapter.plan(command, &[]).phases.is_empty()
}

/// Returns the tool that a command line names, with its own words: all that is known before anything is executed.
pub fn named_tool(command: &CommandLine) -> Option<Invocation> {
    if let Some(adapter) = adapter_for_program(command.program()) {
        return Some((adapter, command.clone()));
    }
    ADAPTERS.iter().find_map(|adapter| {
        let argv = behind_wrapper(&command.argv, *adapter);
        (!argv.is_empty()).then(|| (*adapter, CommandLine { argv, cwd: command.cwd.clone() }))
    })
}

/// Returns every tool that a command line names, each with its own words: a shell's script may start several.
pub fn named_tools(command: &CommandLine) -> Vec<Invocation> {
    let of_argv = |argv: Vec<String>| {
        let adapter = adapter_for_program(argv.first()?)?;
        Some((adapter, CommandLine { argv, cwd: command.cwd.clone() }))
    };
    if adapter_for_program(command.program()).is_some() {
        return of_argv(command.argv.clone()).into_iter().collect();
    }
    let is_tool = |word: &str| adapter_for_program(word).is_some();
    let own = command.argv.iter().position(|word| is_tool(word));
    let mut tools: Vec<_> = own.and_then(|begin| of_argv(command.argv[begin..].to_vec())).into_iter().collect();
    for script in command.argv.iter().filter(|word| word.contains(char::is_whitespace)) {
        let script = script.replace("\\\n", " ");
        for part in script.split([';', '|', '&', '>', '<', '\n', '(', ')', '`']) {
            tools.extend(of_argv(shell_words(part).into_iter().skip_while(|word| !is_tool(word)).collect()));
        }
    }
    tools
}

/// Returns the tool's own words in a wrapper's command line: from its name on, also inside one word that a shell will
/// split. Empty if the tool is not named; its output may still identify it.
fn behind_wrapper(argv: &[String], adapter: &dyn Adapter) -> Vec<String> {
    let is_tool = |word: &str| adapter.is_program(word.rsplit('/').next().unwrap_or(word));
    if let Some(begin) = argv.iter().position(|word| is_tool(word)) {
        return argv[begin..].to_vec();
    }
    let script = argv.iter().find(|word| word.split_whitespace().any(is_tool));
    script.map_or_else(Vec::new, |script| {
        // A shell's separators end the tool's words, even inside a word.
        let parts = script.split([';', '|', '&', '>', '<']).map(shell_words);
        let mut own = parts.map(|words| words.into_iter().skip_while(|word| !is_tool(word)).collect::<Vec<_>>());
        own.find(|words| !words.is_empty()).unwrap_or_default()
    })
}

/// Splits a part of a script as a shell does. A part that was cut inside quotes is split at blanks.
fn shell_words(part: &str) -> Vec<String> {
    let at_blanks = || part.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect();
    shlex::split(part).unwrap_or_else(at_blanks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::Iozone;

    #[test]
    fn each_tool_of_a_script_is_found() {
        for (argv, expected) in [
            (&["fio", "--name=a b"][..], &["fio --name=a b"][..]),
            (&["nice", "fio", "--name=a"], &["fio --name=a"]),
            (
                &["sh", "-c", "fio --rw=read; cd /dev && (fio --rw=write \\\n --filename=sdb > log)\niozone -e"],
                &["fio --rw=read", "fio --rw=write --filename=sdb", "iozone -e"],
            ),
            (&["bash", "-c", "echo \"$(/usr/bin/fio --name='a')\""], &["/usr/bin/fio --name=a"]),
            (&["sh", "-c", "fio --name='a b' --rw=write"], &["fio --name=a b --rw=write"]),
            (&["./run-all.sh", "x y"], &[]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let found = named_tools(&CommandLine { argv, cwd: String::new() });
            let found: Vec<String> = found.iter().map(|(_, own)| own.argv.join(" ")).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_script_of_a_tool_s_name_that_executes_the_tool_once_measures_once() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let exec = |at_ns, tgid, line: &str| Exec {
            at_ns,
            tgid,
            filename: words(line).swap_remove(0),
            arguments: words(line),
        };
        let command = CommandLine { argv: words("/opt/fio --name=a"), cwd: String::new() };
        let own = exec(1, 1, "/opt/fio --name=a");
        let measuring = |inner: &[Exec]| {
            let execs: Vec<Exec> = [std::slice::from_ref(&own), inner].concat();
            executed(&command, &execs, &BTreeMap::new(), &ToolOutput::default()).measuring
        };
        let one = exec(2, 2, "/usr/bin/fio --name=a");
        assert_eq!(measuring(&[]), ["fio"]);
        assert_eq!(measuring(std::slice::from_ref(&one)), ["fio"]);
        assert_eq!(measuring(&[one, exec(3, 3, "/usr/bin/fio --name=b")]), ["fio", "fio"]);
        assert_eq!(measuring(&[exec(3, 3, "/usr/bin/iozone -i0")]), ["fio", "iozone"]);
    }

    /// The kernel puts the interpreter in front of a script, and these words are not the tool's.
    #[test]
    fn the_words_of_a_script_of_a_tool_s_name_are_those_behind_its_interpreter() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let exec = |at_ns, tgid, filename: &str, line: &str| Exec {
            at_ns,
            tgid,
            filename: filename.to_owned(),
            arguments: words(line),
        };
        let found = |command: &str, execs: &[Exec]| {
            let command = CommandLine { argv: words(command), cwd: String::new() };
            let found = executed(&command, execs, &BTreeMap::new(), &ToolOutput::default());
            let own = found.tool.map(|(_, own)| own.argv.join(" ")).unwrap_or_default();
            (own, found.measuring.len(), is_the_tool(&command, execs, &BTreeMap::new()))
        };
        let script = exec(1, 1, "/opt/ioping", "/bin/sh -e /opt/ioping -c 5 .");
        let tool = exec(2, 2, "/usr/bin/ioping", "ioping -D -c 5 .");
        let same = exec(2, 2, "/usr/bin/ioping", "/usr/bin/ioping -c 5 .");
        let both = [script.clone(), tool.clone()];
        assert_eq!(found("./all.sh", &both), ("ioping -D -c 5 .".to_owned(), 1, false));
        assert_eq!(found("./all.sh", &both[..1]), ("/opt/ioping -c 5 .".to_owned(), 1, false));
        assert_eq!(found("ioping -c 5 .", &both), ("ioping -D -c 5 .".to_owned(), 1, false));
        assert_eq!(found("ioping -c 5 .", &[script.clone(), same]), ("ioping -c 5 .".to_owned(), 1, false));
        assert_eq!(found("ioping -c 5 .", &both[..1]), ("ioping -c 5 .".to_owned(), 1, true));
        // Twice, one after the other or at the same time.
        let again =
            [exec(3, 3, "/opt/ioping", "/bin/sh -e /opt/ioping -c 5 ."), exec(4, 4, "/usr/bin/ioping", "ioping .")];
        assert_eq!(found("./all.sh", &[&both[..], &again].concat()).1, 2);
        assert_eq!(found("./all.sh", &[script, again[0].clone(), tool, again[1].clone()]).1, 2);
        // Its own file is what the tool reads.
        let itself = [exec(1, 1, "/usr/bin/ioping", "ioping -c 5 /usr/bin/ioping")];
        assert_eq!(found("./all.sh", &itself).0, "ioping -c 5 /usr/bin/ioping");
    }

    #[test]
    fn a_tool_is_found_behind_its_wrapper() {
        for (argv, expected) in [
            (&["nice", "-n", "5", "iozone", "-i0"][..], &["iozone", "-i0"][..]),
            (&["sh", "-c", "cd /mnt && iozone -i0 -s64m; echo"], &["iozone", "-i0", "-s64m"]),
            (&["sh", "-c", "/usr/bin/iozone -e > log"], &["/usr/bin/iozone", "-e"]),
            (&["./run-all.sh"], &[]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(behind_wrapper(&argv, &Iozone), expected, "{argv:?}");
        }
    }

    #[test]
    fn runs_of_one_command_are_measurements_where_their_summary_is_shown() {
        let report = |(seconds, rate): (&str, &str)| ToolOutput {
            stderr: format!(
                "64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, {seconds} s, {rate} MB/s\n"
            )
            .into_bytes(),
            ..ToolOutput::default()
        };
        let printed = [("0.610081", "110"), ("0.500813", "134"), ("0.554619", "121")].map(report);
        let command = CommandLine { argv: vec!["dd".to_owned(), "of=x".to_owned()], ..CommandLine::default() };
        let check = |text: &str, runs: usize, expected: bool| {
            let shown = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
            let shown = Shown::new(&shown, &printed);
            let of: Vec<&ToolOutput> = printed.iter().take(runs).collect();
            assert_eq!(is_summarised(&crate::dd::Dd, &command, &of, &shown), expected, "{text} of {runs}");
            assert!(!is_summarised(&Iozone, &command, &of, &shown));
        };
        check("121.667 MB/s\n", 3, true);
        check("written at 116.03 MiB/s\n", 3, true);
        check("average 134 MB/s\n", 3, true);
        check("aggregate 365 MB/s\n", 3, true);
        check("aggregate 365 MB/s\n", 2, false);
        check("Median: 121 MB/s\n", 3, true);
        // One of them, another number, one run, nothing.
        check("134 MB/s\n", 3, false);
        check("average 243.333 MB/s\n", 3, false);
        check("average 110 MB/s\n", 1, false);
        check("", 3, false);
    }

    #[test]
    fn the_same_work_on_other_files_is_the_same() {
        let command =
            |line: &str| CommandLine { argv: line.split(' ').map(str::to_owned).collect(), cwd: "/".to_owned() };
        let lines = ["dd if=/dev/zero of=a bs=1M", "dd if=/dev/zero of=b bs=1M", "dd if=c of=d bs=1M"].map(command);
        let work = lines.each_ref().map(|line| work_of(&crate::dd::Dd, line));
        assert_eq!(work[0], ["dd", "if=/dev/zero", "bs=1M"]);
        assert_eq!(work[0], work[1]);
        assert_eq!(work[2], ["dd", "bs=1M"]);
    }

    #[test]
    fn a_dd_is_a_measurement_where_its_figure_is_shown() {
        let report = |bytes: u64| {
            format!("1+0 records in\n1+0 records out\n{bytes} bytes (9 MB, 9 MiB) copied, 0.5 s, 9.5 MB/s\n")
                .into_bytes()
        };
        let command = CommandLine { argv: vec!["dd".to_owned(), "of=x".to_owned()], cwd: "/".to_owned() };
        let check = |bytes: u64, text: &str, expected: bool| {
            let printed = ToolOutput { stderr: report(bytes), ..ToolOutput::default() };
            let shown = ToolOutput { stdout: text.into(), ..ToolOutput::default() };
            let shown = Shown::new(&shown, [&printed]);
            assert_eq!(is_shown(&crate::dd::Dd, &command, &printed, &shown), expected, "{bytes} {text:?}");
        };
        check(4_750_000, "speed: 9.5 MB/s", true);
        check(4_750_000, "done", false);
        // Without its unit it has too few digits.
        check(4_750_000, "9.5", false);
        check(512, "speed: 9.5 MB/s", false);
        // In another unit, with more digits than would agree by chance.
        check(4_750_000, "speed: 9.060 MiB/s", true);
        check(4_750_000, "speed: 9.1 MiB/s", false);
        check(4_750_000, "speed: 9.070 MiB/s", false);
        // It ends another number.
        check(4_750_000, "speed: 19.5 MB/s", false);
        let nothing = ToolOutput::default();
        assert!(is_shown(&Iozone, &command, &nothing, &Shown::new(&nothing, [])));
    }

    #[test]
    fn beside_a_benchmark_a_dd_is_a_measurement_where_its_figure_was_chosen() {
        let report = "4+0 records in\n4+0 records out\n4750000 bytes (4.8 MB, 4.5 MiB) copied, 0.5 s, 9.5 MB/s\n";
        let command = CommandLine { argv: vec!["dd".to_owned(), "of=x".to_owned()], cwd: "/".to_owned() };
        let printed = ToolOutput { stderr: report.into(), ..ToolOutput::default() };
        let benchmark = ToolOutput { stdout: b"READ: bw=9.5 MB/s\n".to_vec(), ..ToolOutput::default() };
        let copied = report.lines().last().expect("three lines");
        for (text, expected) in [
            (format!("READ: bw=9.5 MB/s\n{copied}\n"), true),
            ("READ: bw=9.5 MB/s\nwrite: 9.5 MB/s\n".to_owned(), true),
            // As dd wrote it, whatever stands between its lines.
            (report.replace("out\n", "out\nREAD: bw=9.5 MB/s\n"), false),
            // Not shown: the number is the benchmark's.
            ("READ: bw=9.5 MB/s\n".to_owned(), false),
        ] {
            let stderr = b"4+0 records in\n4+0 records out\n".to_vec();
            let shown = ToolOutput { stdout: text.clone().into_bytes(), stderr, ..ToolOutput::default() };
            let shown = Shown::new(&shown, [&benchmark, &printed]);
            assert_eq!(is_quoted(&crate::dd::Dd, &command, &printed, &shown), expected, "{text}");
        }
    }

    #[test]
    fn a_dd_is_a_measurement_where_the_digits_of_its_figure_are_shown() {
        let report = b"1+0 records in\n1+0 records out\n476000000 bytes (476 MB, 454 MiB) copied, 0.5 s, 952 MB/s\n";
        let printed = ToolOutput { stderr: report.to_vec(), ..ToolOutput::default() };
        let command = CommandLine { argv: vec!["dd".to_owned(), "of=x".to_owned()], cwd: "/".to_owned() };
        let is_shown = |text: &str| {
            let shown = ToolOutput { stdout: text.into(), ..ToolOutput::default() };
            is_shown(&crate::dd::Dd, &command, &printed, &Shown::new(&shown, [&printed]))
        };
        assert!(is_shown("952\n") && is_shown("run 1: 952"));
        assert!(!is_shown("953\n") && !is_shown("9520\n"));
    }

    #[test]
    fn the_tool_that_measured_is_the_one_that_is_judged() {
        let command = |words: &[&str]| CommandLine {
            argv: words.iter().map(|word| (*word).to_owned()).collect(),
            cwd: "/mnt".to_owned(),
        };
        let exec = |filename: &str, words: &[&str]| Exec {
            at_ns: 0,
            tgid: 1,
            filename: filename.to_owned(),
            arguments: command(words).argv,
        };
        let links = BTreeMap::from([("./bench".to_owned(), "/usr/bin/iozone".to_owned())]);
        for (words, execs, expected, measuring) in [
            (&["iozone", "-i0"][..], vec![], Some("iozone iozone -i0"), 0),
            (&["iozone", "-v"], vec![exec("/usr/bin/iozone", &["iozone", "-v"])], Some("iozone iozone -v"), 0),
            (
                &["./all.sh"],
                vec![exec("/usr/bin/iozone", &["iozone", "-v"]), exec("/bin/fio", &["fio", "--name=a", "--size=1m"])],
                Some("fio fio --name=a --size=1m"),
                1,
            ),
            (&["./all.sh"], vec![exec("./bench", &["bench", "-i0"])], Some("iozone bench -i0"), 1),
            (&["nice", "iozone", "-i0"], vec![exec("/usr/bin/iozone", &[])], Some("iozone iozone -i0"), 1),
            (&["cp"], vec![exec("/bin/cp", &["cp"])], None, 0),
            (&["dd"], vec![exec("/bin/dd", &["dd"])], Some("dd dd"), 1),
            (&["./all.sh"], vec![exec("/bin/busybox", &["busybox", "dd", "of=x"])], Some("dd dd of=x"), 1),
            (&["./all.sh"], vec![exec("/bin/dd", &["dd", "if=/dev/zero", "of=/dev/null"])], None, 0),
            (
                &["./all.sh"],
                vec![exec("/bin/dd", &["dd", "of=x"]), exec("/bin/fio", &["fio", "--name=a", "--size=1m"])],
                Some("fio fio --name=a --size=1m"),
                1,
            ),
        ] {
            let found = executed(&command(words), &execs, &links, &ToolOutput::default());
            let tool = found.tool.map(|(adapter, own)| format!("{} {}", adapter.name(), own.argv.join(" ")));
            assert_eq!(tool.as_deref(), expected, "{words:?}");
            assert_eq!(found.measuring.len(), measuring, "{words:?}");
        }
    }
}
