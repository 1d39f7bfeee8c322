//! What worked beside a phase's threads for its storage: the threads of the kernel, and the daemons of FUSE file
//! systems with their requests.
//!
//! A thread of the kernel is put down to a phase by its name, where that names one device or one file system below the
//! phase's files. One that works for several devices (`kblockd`, `btrfs-endio`) is put down to none.

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::call::DeviceNumber;
use activebench_model::coverage::Coverage;
use activebench_model::daemon::Daemon;
use activebench_model::event::{FuseEvent, FuseOperation, RecordClass, ServingEvent};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::phase::{Phase, Window};
use activebench_model::run::Manifest;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::thread_stacks::{Profiles, ServingCpu};
use activebench_model::units::Quantity;
use foldhash::{HashMap, HashSet};

use super::cpu_times::NEAR_ENOUGH;
use super::index::Index;
use super::record_losses::Gap;
use super::span_index::SpanIndex;

const THREADS_SOURCE: &str = "tp_btf/sched_switch, tp_btf/workqueue_execute_end";
const DAEMON_SOURCE: &str = "tp_btf/sched_switch, tp_btf/sys_exit";
const FUSE_SOURCE: &str = "tp_btf/fuse_request_send, tp_btf/fuse_request_end";
/// Length at which the kernel side cuts a name: what follows is not known.
const MOST_OF_NAME: usize = 23;
/// File systems whose journal has a thread of its own name (`jbd2/vda1-8`).
const WITH_JBD2: [&str; 3] = ["ext3", "ext4", "ocfs2"];

/// The work of a thread of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Loop,
    Journal,
    Other,
}

/// The names of the threads that work for one device or one file system alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    start: String,
    /// What follows the start: anything, and then this.
    end: Option<String>,
    role: Role,
}

impl Named {
    fn exactly(name: String) -> Self {
        Self { end: Some(String::new()), start: name, role: Role::Other }
    }

    fn between(start: &str, end: String) -> Self {
        Self { start: start.to_owned(), end: Some(end), role: Role::Other }
    }

    fn starting(start: String) -> Self {
        Self { start, end: None, role: Role::Other }
    }

    fn of(self, role: Role) -> Self {
        Self { role, ..self }
    }

    fn matches(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(&self.start) else { return false };
        match self.end.as_deref() {
            None => true,
            // A name that was cut may go on.
            Some(_) if name.len() >= MOST_OF_NAME => false,
            Some("") => rest.is_empty(),
            Some(end) => rest.ends_with(end),
        }
    }
}

/// Returns the names of the threads of a device. Sources: drivers/block/loop.c, fs/jbd2/journal.c, fs/xfs, fs/f2fs,
/// drivers/md of Linux 6.18.
fn names_of_device(layer: &Layer) -> Vec<Named> {
    let (name, number) = (&layer.name, layer.device);
    let mut names = vec![
        Named::starting(format!("jbd2/{name}-")).of(Role::Journal),
        Named::between("xfs", format!("/{name}")),
        Named::between("f2fs_", format!("-{number}")),
        Named::exactly(format!("flush-{number}")),
        Named::exactly(format!("kdmflush/{number}")),
        Named::exactly(format!("dmcrypt_write/{number}")),
        Named::starting(format!("kcryptd-{number}-")),
        Named::starting(format!("kcryptd_io-{number}-")),
        Named::exactly(format!("{name}-recv")),
    ];
    if layer.kind == "loop" {
        names.push(Named::exactly(name.clone()).of(Role::Loop));
    }
    if name.starts_with("md") {
        names.push(Named::starting(format!("{name}_")));
    }
    names
}

/// CPU time, or a number of calls, that is known but for what crosses the ends of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    value: u64,
    error: u64,
}

impl Amount {
    /// Returns the part of CPU time inside a window.
    fn of_time(event: &ServingEvent, window: Window) -> Self {
        let (inside, outside) = parts_of(event, window);
        // One CPU: no more of it outside the window than there is time outside.
        let (least, most) = (event.cpu_ns.saturating_sub(outside), event.cpu_ns.min(inside));
        Self {
            value: divided(event.cpu_ns, inside, outside).clamp(least, most.max(least)),
            error: most - least.min(most),
        }
    }

    /// Returns the part of a number of calls inside a window.
    fn of_calls(event: &ServingEvent, calls: u64, window: Window) -> Self {
        let (inside, outside) = parts_of(event, window);
        Self { value: divided(calls, inside, outside), error: if outside == 0 { 0 } else { calls } }
    }

    fn add(&mut self, other: Self) {
        self.value = self.value.saturating_add(other.value);
        self.error = self.error.saturating_add(other.error);
    }
}

/// Returns the time of an amount inside and outside of a window.
fn parts_of(event: &ServingEvent, window: Window) -> (u64, u64) {
    let inside = event.until_ns.min(window.end_ns).saturating_sub(event.since_ns.max(window.start_ns));
    (inside, event.until_ns.saturating_sub(event.since_ns).saturating_sub(inside))
}

fn divided(amount: u64, inside: u64, outside: u64) -> u64 {
    if outside == 0 {
        return amount;
    }
    (u128::from(amount) * u128::from(inside) / (u128::from(inside) + u128::from(outside))) as u64
}

/// What worked for a phase.
struct Served {
    phase: usize,
    window: Window,
    names: Vec<Named>,
    has_loop: bool,
    has_journal: bool,
    on_fuse: HashSet<DeviceNumber>,
    /// The daemons of its FUSE file systems, by process; or why they are not known.
    daemons: Result<BTreeMap<u32, String>, String>,
    /// By the number of the name: the thread's work for this phase, `None` for those of others.
    threads: HashMap<u32, Option<(Role, Amount)>>,
    of_daemon: BTreeMap<u32, Amount>,
    calls: [Amount; 4],
    requests: Requests,
}

#[derive(Debug, Default)]
struct Requests {
    all: u64,
    reads: u64,
    writes: u64,
    syncs: u64,
    time_ns: u64,
    /// Those whose start was not seen.
    unstarted: u64,
    /// `None` until there is one.
    writeback_cache: Option<bool>,
    passthrough: Option<bool>,
}

/// Adds the facts to the phases, whose windows must be resolved, and what they are about to the profiles.
pub(super) fn add(
    source: &dyn EventSource,
    manifest: &Manifest,
    index: &Index<'_>,
    phases: &mut [Phase],
    profiles: &mut Profiles,
) -> Result<(), Unreadable> {
    let numbered = phases.iter().enumerate();
    let new = |(number, phase)| Served::new(manifest, number, phase, file_systems(index, phase));
    let mut served: Vec<Served> = numbered.filter_map(new).collect();
    if served.is_empty() {
        return Ok(());
    }
    let spans = served.iter().enumerate().map(|(place, of)| (of.window.start_ns, of.window.end_ns, place));
    let index_of_windows = SpanIndex::new(spans);
    // Numbered: there are few, and many records of each.
    let mut names: HashMap<String, u32> = HashMap::default();
    let mut observed = HashSet::default();
    for batch in source.serving() {
        for event in batch? {
            if event.tgid != 0 {
                observed.insert(event.tgid);
            }
            let number = match names.get(&event.name) {
                Some(number) => *number,
                None => {
                    let number = u32::try_from(names.len()).expect("fewer than 2^32 names");
                    names.insert(event.name.clone(), number);
                    number
                }
            };
            for place in index_of_windows.overlapping(event.since_ns, event.until_ns) {
                served[place].feed(&event, number);
            }
        }
    }
    let mut named = vec![String::new(); names.len()];
    for (name, number) in names {
        named[number as usize] = name;
    }
    if served.iter().any(|of| !of.on_fuse.is_empty()) {
        for batch in source.fuse() {
            for event in &batch? {
                for place in index_of_windows.overlapping(event.at_ns, event.at_ns) {
                    served[place].request(event);
                }
            }
        }
    }
    for of in &served {
        let gaps = Gaps::of(manifest, of.window);
        of.add_threads(&gaps.threads, &mut phases[of.phase].facts);
        if !of.on_fuse.is_empty() {
            of.add_daemon(&gaps, &observed, &mut phases[of.phase].facts);
            of.add_requests(&gaps, &mut phases[of.phase].facts);
        }
        if let Some(profile) = profiles.phases.get_mut(&phases[of.phase].id)
            && !matches!(gaps.threads, Gap::Missing(_))
        {
            profile.serving = of.listed(&named);
        }
    }
    Ok(())
}

struct Gaps {
    threads: Gap,
    daemon_time: Gap,
    daemon_calls: Gap,
    requests: Gap,
    request_times: Gap,
}

impl Gaps {
    fn of(manifest: &Manifest, window: Window) -> Self {
        let coverage: &Coverage = &manifest.coverage;
        let cut = |class| Gap::of_log(coverage, manifest.clocks.started_ns, class, window.end_ns);
        let gap = |hook, class| Gap::of(coverage, hook, class).and(&cut(class));
        let daemon_time = gap(Hook::Switch, RecordClass::Serving);
        let requests = gap(Hook::FuseEnd, RecordClass::Fuse);
        Self {
            threads: daemon_time.clone().and(&gap(Hook::WorkEnd, RecordClass::Serving)),
            daemon_calls: gap(Hook::SysExit, RecordClass::Serving),
            daemon_time,
            request_times: requests.clone().and(&gap(Hook::FuseSend, RecordClass::Fuse)),
            requests,
        }
    }
}

impl Served {
    /// Returns `None` for a phase without a window, or without known storage.
    fn new(manifest: &Manifest, number: usize, phase: &Phase, file_systems: BTreeSet<u32>) -> Option<Self> {
        let window = phase.window?;
        let on_one = |target: &&Target| file_systems.contains(&target.s_dev.0);
        let targets: Vec<&Target> = manifest.host.targets.iter().filter(on_one).collect();
        let mut below = targets.clone();
        let mut daemons = Ok(BTreeMap::new());
        let on_fuse = targets.iter().filter(|target| target.tier == Tier::Fuse).map(|target| target.s_dev);
        let on_fuse: HashSet<DeviceNumber> = on_fuse.collect();
        for s_dev in &on_fuse {
            let daemon = manifest.host.daemons.iter().find(|daemon| daemon.s_dev == *s_dev);
            below.extend(daemon.iter().flat_map(|daemon| &daemon.storage));
            daemons = daemons.and_then(|mut known| {
                known.extend(processes_of(daemon)?);
                Ok(known)
            });
        }
        if below.is_empty() {
            return None;
        }
        let layers = || below.iter().flat_map(|target| &target.layers);
        let mut names: Vec<Named> = layers().flat_map(names_of_device).collect();
        // Writeback names a disk, and a file system that is not on one.
        names.extend(below.iter().map(|target| Named::exactly(format!("flush-{}", target.s_dev))));
        Some(Self {
            phase: number,
            window,
            names,
            has_loop: layers().any(|layer| layer.kind == "loop"),
            has_journal: below.iter().any(|target| WITH_JBD2.contains(&target.fs_type.as_str())),
            on_fuse,
            daemons,
            threads: HashMap::default(),
            of_daemon: BTreeMap::new(),
            calls: [Amount::default(); 4],
            requests: Requests::default(),
        })
    }

    /// Adds an amount; its name has this number.
    fn feed(&mut self, event: &ServingEvent, name: u32) {
        if event.tgid == 0 {
            let names = &self.names;
            let role = || names.iter().find(|named| named.matches(&event.name)).map(|named| named.role);
            let known = self.threads.entry(name).or_insert_with(|| Some((role()?, Amount::default())));
            if let Some((_, amount)) = known {
                amount.add(Amount::of_time(event, self.window));
            }
        } else if self.daemons.as_ref().is_ok_and(|daemons| daemons.contains_key(&event.tgid)) {
            self.of_daemon.entry(event.tgid).or_default().add(Amount::of_time(event, self.window));
            let counts = [event.read_calls, event.write_calls, event.sync_calls, event.other_calls];
            for (sum, count) in self.calls.iter_mut().zip(counts) {
                sum.add(Amount::of_calls(event, u64::from(count), self.window));
            }
        }
    }

    fn request(&mut self, event: &FuseEvent) {
        if !self.on_fuse.contains(&event.s_dev) {
            return;
        }
        let requests = &mut self.requests;
        requests.all += 1;
        match event.operation {
            FuseOperation::Read => requests.reads += 1,
            FuseOperation::Write => requests.writes += 1,
            FuseOperation::Fsync => requests.syncs += 1,
            _ => {}
        }
        match event.sent_ns {
            0 => requests.unstarted += 1,
            sent_ns => requests.time_ns = requests.time_ns.saturating_add(event.at_ns.saturating_sub(sent_ns)),
        }
        let any = |known: Option<bool>, new: bool| Some(known.unwrap_or(false) || new);
        requests.writeback_cache = any(requests.writeback_cache, event.writeback_cache);
        requests.passthrough = any(requests.passthrough, event.passthrough);
    }

    /// Creates a fact of CPU time.
    fn time(&self, gap: &Gap, amount: Amount, scope: Scope, source: &str) -> Fact {
        let near = amount.error as f64 <= NEAR_ENOUGH * self.window.end_ns.saturating_sub(self.window.start_ns) as f64;
        let blurred = (!near).then(|| format!("accurate to ± {}", Quantity::ns(amount.error)));
        gap.clone().and_lost(blurred).fact(Quantity::ns(amount.value), scope, source)
    }

    fn add_threads(&self, gap: &Gap, facts: &mut Facts) {
        if self.names.is_empty() {
            return;
        }
        let sum = |is_of: &dyn Fn(Role) -> bool| {
            let amounts = self.threads.values().flatten().filter(|(role, _)| is_of(*role)).map(|(_, amount)| *amount);
            amounts.fold(Amount::default(), |mut sum, amount| {
                sum.add(amount);
                sum
            })
        };
        let mut add = |name, amount| {
            facts.insert(name, self.time(gap, amount, Scope::Device, THREADS_SOURCE));
        };
        add(FactName::StorageThreadCpu, sum(&|_| true));
        if self.has_loop {
            add(FactName::LoopCpu, sum(&|role| role == Role::Loop));
        }
        if self.has_journal {
            add(FactName::JournalCpu, sum(&|role| role == Role::Journal));
        }
    }

    fn add_daemon(&self, gaps: &Gaps, observed: &HashSet<u32>, facts: &mut Facts) {
        let unobserved = match &self.daemons {
            Err(why) => Some(why.clone()),
            Ok(daemons) => daemons.iter().find(|(tgid, _)| !observed.contains(tgid)).map(|(tgid, name)| {
                format!("{name} (process {tgid}) did not run yet when the observation began, or could not be seen")
            }),
        };
        let known = |gap: &Gap| match &unobserved {
            Some(why) => gap.clone().and(&Gap::Missing(why.clone())),
            None => gap.clone(),
        };
        let mut cpu = Amount::default();
        self.of_daemon.values().for_each(|amount| cpu.add(*amount));
        facts.insert(FactName::DaemonCpu, self.time(&known(&gaps.daemon_time), cpu, Scope::Host, DAEMON_SOURCE));
        let [reads, writes, syncs, _] = self.calls;
        let mut all = Amount::default();
        self.calls.iter().for_each(|calls| all.add(*calls));
        for (name, calls) in [
            (FactName::DaemonCalls, all),
            (FactName::DaemonReadCalls, reads),
            (FactName::DaemonWriteCalls, writes),
            (FactName::DaemonSyncCalls, syncs),
        ] {
            let near = calls.error as f64 <= NEAR_ENOUGH * calls.value as f64;
            let blurred = (!near).then(|| format!("accurate to ± {}", calls.error));
            let gap = known(&gaps.daemon_calls).and_lost(blurred);
            facts.insert(name, gap.fact(Quantity::count(calls.value), Scope::Host, DAEMON_SOURCE));
        }
    }

    fn add_requests(&self, gaps: &Gaps, facts: &mut Facts) {
        let requests = &self.requests;
        let mut add = |name, gap: &Gap, value| {
            facts.insert(name, gap.fact(value, Scope::File, FUSE_SOURCE));
        };
        add(FactName::FuseRequests, &gaps.requests, Quantity::count(requests.all));
        add(FactName::FuseReadRequests, &gaps.requests, Quantity::count(requests.reads));
        add(FactName::FuseWriteRequests, &gaps.requests, Quantity::count(requests.writes));
        add(FactName::FuseSyncRequests, &gaps.requests, Quantity::count(requests.syncs));
        let unstarted = (requests.unstarted > 0)
            .then(|| format!("the start of {} of {} requests was not seen", requests.unstarted, requests.all));
        let times = gaps.request_times.clone().and_lost(unstarted);
        add(FactName::FuseRequestTime, &times, Quantity::ns(requests.time_ns));
        for (name, known) in [
            (FactName::FuseWritebackCache, requests.writeback_cache),
            (FactName::FusePassthrough, requests.passthrough),
        ] {
            let none = Gap::Missing("no request was answered inside the window".to_owned());
            let gap = if known.is_some() { gaps.requests.clone() } else { gaps.requests.clone().and(&none) };
            add(name, &gap, Quantity::count(u64::from(known == Some(true))));
        }
    }

    /// Returns what worked for the phase, the busiest first.
    fn listed(&self, names: &[String]) -> Vec<ServingCpu> {
        let name = |tgid: &u32| self.daemons.as_ref().ok().and_then(|daemons| daemons.get(tgid)).cloned();
        let daemons = self.of_daemon.iter().map(|(tgid, amount)| ServingCpu {
            name: name(tgid).unwrap_or_default(),
            tgid: Some(*tgid),
            cpu_ns: amount.value,
        });
        let threads = self.threads.iter().filter_map(|(number, known)| {
            let (name, (_, amount)) = (names.get(*number as usize)?, (*known)?);
            Some(ServingCpu { name: name.clone(), tgid: None, cpu_ns: amount.value })
        });
        let mut listed: Vec<ServingCpu> = daemons.chain(threads).filter(|serving| serving.cpu_ns > 0).collect();
        listed.sort_by(|one, other| other.cpu_ns.cmp(&one.cpu_ns).then_with(|| one.name.cmp(&other.name)));
        listed.truncate(ServingCpu::MOST);
        listed
    }
}

/// Returns the file systems of a phase's files. A pass over names has none of its own: its processes created files there.
fn file_systems(index: &Index<'_>, phase: &Phase) -> BTreeSet<u32> {
    let of_parts = phase.parts.iter().map(|part| part.file.s_dev);
    let processes = phase.names.iter().flat_map(|names| &names.spans).map(|span| span.tgid);
    of_parts.chain(processes.flat_map(|tgid| index.created_on(tgid))).collect()
}

/// Returns the processes of a daemon with their names.
///
/// # Errors
/// Returns why they are not known.
fn processes_of(daemon: Option<&Daemon>) -> Result<BTreeMap<u32, String>, String> {
    let daemon = daemon.ok_or_else(|| "the daemon behind the file system was not looked for".to_owned())?;
    if daemon.processes.is_empty() {
        let why = daemon.unknown.as_deref().unwrap_or("no reason was recorded");
        return Err(format!("the daemon behind the file system is not known: {why}"));
    }
    Ok(daemon.processes.iter().map(|process| (process.pid, process.name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str, kind: &str, device: DeviceNumber) -> Layer {
        Layer { name: name.to_owned(), kind: kind.to_owned(), device, ..Layer::default() }
    }

    fn role(layer: &Layer, name: &str) -> Option<Role> {
        names_of_device(layer).iter().find(|named| named.matches(name)).map(|named| named.role)
    }

    #[test]
    fn a_thread_belongs_to_the_device_that_its_name_names() {
        let loop1 = layer("loop1", "loop", DeviceNumber::new(7, 1));
        for (name, expected) in [
            ("loop1", Some(Role::Loop)),
            ("loop10", None),
            ("jbd2/loop1-8", Some(Role::Journal)),
            ("jbd2/loop10-8", None),
            ("flush-7:1", Some(Role::Other)),
            ("flush-7:10", None),
            ("xfsaild/loop1", Some(Role::Other)),
            ("xfs-conv/loop1", Some(Role::Other)),
            ("xfs-conv/loop10", None),
            // Cut: it may be that of loop12.
            ("xfs-reclaim-of-12/loop1", None),
            ("f2fs_ckpt-7:1", Some(Role::Other)),
            ("kblockd", None),
            ("", None),
        ] {
            assert_eq!(role(&loop1, name), expected, "{name}");
        }
        let md = layer("md0", "md", DeviceNumber::new(9, 0));
        assert_eq!(role(&md, "md0_raid1"), Some(Role::Other));
        assert_eq!(role(&md, "md"), None);
        let crypt = layer("dm-0", "dm-crypt", DeviceNumber::new(254, 0));
        assert_eq!(role(&crypt, "kcryptd-254:0-1"), Some(Role::Other));
        assert_eq!(role(&crypt, "kcryptd-254:01-1"), None);
        assert_eq!(role(&crypt, "loop0"), None);
    }

    #[test]
    fn what_crosses_an_end_of_the_window_is_divided_and_bounded() {
        let window = Window { start_ns: 1_000, end_ns: 2_000 };
        let event = |since_ns, until_ns, cpu_ns| ServingEvent {
            since_ns,
            until_ns,
            tgid: 0,
            name: "loop0".to_owned(),
            cpu_ns,
            read_calls: 8,
            write_calls: 0,
            sync_calls: 0,
            other_calls: 0,
        };
        for (since, until, cpu, value, error) in [
            (1_000, 2_000, 700, 700, 0),
            (1_200, 1_300, 100, 100, 0),
            // Never off its CPU: exact.
            (800, 1_200, 400, 200, 0),
            (800, 1_200, 100, 50, 100),
            (800, 1_200, 300, 150, 100),
            (500, 2_500, 2_000, 1_000, 0),
        ] {
            let amount = Amount::of_time(&event(since, until, cpu), window);
            assert_eq!(amount, Amount { value, error }, "{since} to {until}, {cpu}");
        }
        assert_eq!(Amount::of_calls(&event(800, 1_200, 1), 8, window), Amount { value: 4, error: 8 });
        assert_eq!(Amount::of_calls(&event(1_000, 1_200, 1), 8, window), Amount { value: 8, error: 0 });
    }
}
