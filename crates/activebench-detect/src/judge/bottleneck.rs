//! The bottleneck of a phase: the device, the CPU, a lock, a limit, or the tool itself.
//!
//! A pure function of facts. The first step divides the threads' time by state: a state with more than half of it
//! limited the pass. Waiting is then divided by its cause: a sync, the device, one request at a time, a lock, or a
//! cause outside of the kernel. A limit of a control group comes first, because a throttled request looks like a slow
//! device.
//! If a fact that is needed for the answer is missing, the answer is unknown, and says which fact.

use activebench_model::fact::FactName;
use activebench_model::limiter::{Figure, Limiter, LimiterKind};
use activebench_model::phase::{Direction, Phase, Submission};
use activebench_model::sentence::as_sentence;
use activebench_model::thread_stacks::CpuProfile;
use activebench_model::units::Quantity;

use crate::detectors::cpu_bound::cpu_capacity;
use crate::detectors::throttled_by_policy::nearest_limit;
use crate::run::Run;

/// Functions of the kernel in which a CPU waits for a lock (kernel/locking of Linux 6.18:
/// qspinlock.c, osq_lock.c, rwsem.c, mutex.c).
const SPINNING: &[&str] = &[
    "queued_spin_lock_slowpath",
    "osq_lock",
    "rwsem_spin_on_owner",
    "mutex_spin_on_owner",
    "queued_read_lock_slowpath",
];

/// Returns the bottleneck of each phase that was found, in their order.
pub(crate) fn of_phases(run: &Run<'_>) -> Vec<Limiter> {
    run.phases.iter().filter(|phase| phase.is_found()).map(|phase| of_phase(run, phase)).collect()
}

/// Returns the bottleneck of this phase.
fn of_phase(run: &Run<'_>, phase: &Phase) -> Limiter {
    let mut case = Case { run, phase, figures: Vec::new(), facts: Vec::new() };
    let (kind, sentence) = match case.decide() {
        Ok((kind, sentence)) => (Some(kind), sentence),
        Err(why) => (None, as_sentence(&format!("unknown: {why}"))),
    };
    Limiter { phase: phase.id.clone(), kind, sentence, figures: case.figures, facts: case.facts }
}

/// One phase, with the facts and figures that were used so far.
struct Case<'run, 'a> {
    run: &'run Run<'a>,
    phase: &'run Phase,
    figures: Vec<Figure>,
    facts: Vec<FactName>,
}

/// The threads' time by state, as shares.
struct Shares {
    /// All threads' time inside the window, in nanoseconds. Above 0.
    total_ns: f64,
    user: f64,
    kernel: f64,
    /// Off the CPU, whether ready to run or not.
    off: f64,
}

impl Shares {
    fn cpu(&self) -> f64 {
        self.user + self.kernel
    }
}

type Decision = Result<(LimiterKind, String), String>;

impl Case<'_, '_> {
    fn decide(&mut self) -> Decision {
        if let Some(decision) = self.throttled()? {
            return Ok(decision);
        }
        let shares = self.shares()?;
        if let Some(decision) = self.on_processor(&shares) {
            return Ok(decision);
        }
        if let Some(decision) = self.syncing(&shares)? {
            return Ok(decision);
        }
        let most = self.run.thresholds.limiter_share_ratio.value.value;
        let preempted = self.fact(FactName::Preempted)? / shares.total_ns;
        if preempted >= most {
            let share = self.ratio("preempted_ratio", preempted);
            let sentence = format!(
                "The CPUs were busy: the threads could run and waited for a CPU for {share} of their time (other tasks, or a CPU quota)."
            );
            return Ok((LimiterKind::ProcessorWait, sentence));
        }
        let blocked = self.fact(FactName::Blocked)? / shares.total_ns;
        if blocked >= most {
            return self.waiting(&shares, blocked, preempted);
        }
        let parts = [
            ("user mode", self.ratio("user_ratio", shares.user)),
            ("kernel", self.ratio("kernel_ratio", shares.kernel)),
            ("blocked", self.ratio("blocked_ratio", blocked)),
            ("waiting for a CPU", self.ratio("preempted_ratio", preempted)),
        ];
        let parts: Vec<String> = parts.iter().map(|(name, share)| format!("{name} {share}")).collect();
        let sentence = format!("No single cause took half of the threads' time: {}.", parts.join(", "));
        Ok((LimiterKind::Mixed, sentence))
    }

    /// A control group's limit that was reached.
    fn throttled(&mut self) -> Result<Option<(LimiterKind, String)>, String> {
        let reached = nearest_limit(self.run, self.phase)
            .map_err(|why| format!("a control group limits the tool's I/O, and how far it was used is not: {why}"))?;
        let Some((share, limit)) = reached else { return Ok(None) };
        if share < self.run.thresholds.ab505_limit_share_fail_ratio.value.value {
            return Ok(None);
        }
        self.facts.extend([FactName::DeviceTotalBytes, FactName::DeviceRequests, FactName::Window]);
        self.figures.push(Figure { name: limit_name(limit.per_second).to_owned(), value: limit.per_second });
        let share = self.ratio("limit_share_ratio", share);
        let sentence = format!(
            "A control group limited the I/O: {} of {} allows {} on {}. The pass reached {share} of that.",
            limit.file, limit.group, limit.per_second, limit.device
        );
        Ok(Some((LimiterKind::Throttling, sentence)))
    }

    fn shares(&mut self) -> Result<Shares, String> {
        let user = self.fact(FactName::UserCpu)?;
        let kernel = self.fact(FactName::KernelCpu)?;
        let off = self.fact(FactName::OffCpu)?;
        let total_ns = user + kernel + off;
        if total_ns <= 0.0 {
            return Err("the threads' time has no length".to_owned());
        }
        Ok(Shares { total_ns, user: user / total_ns, kernel: kernel / total_ns, off: off / total_ns })
    }

    /// The threads were on a CPU for most of their time, or on all that there were.
    fn on_processor(&mut self, shares: &Shares) -> Option<(LimiterKind, String)> {
        let limits = self.run.thresholds;
        let most = limits.limiter_share_ratio.value.value;
        let of_capacity = cpu_capacity(self.run, self.phase).map(|capacity| shares.cpu() * shares.total_ns / capacity);
        let all_used = of_capacity.is_ok_and(|share| share >= limits.ab501_cpu_share_fail_ratio.value.value);
        if shares.cpu() < most && !all_used {
            return None;
        }
        let cpu = self.ratio("cpu_ratio", shares.cpu());
        let user = self.ratio("user_ratio", shares.user);
        let kernel = self.ratio("kernel_ratio", shares.kernel);
        let spinning = self.spinning(shares);
        if spinning >= most {
            let spinning = self.ratio("lock_spinning_ratio", spinning);
            let sentence = format!("A lock was the limit: the threads spun on it for {spinning} of their time.");
            return Some((LimiterKind::Lock, sentence));
        }
        let time = format!("the threads used the CPU for {cpu} of their time (user {user}, kernel {kernel})");
        if shares.user > shares.kernel {
            return Some((
                LimiterKind::CpuUser,
                format!("The CPU was the limit, in the tool's own code. {}", as_sentence(&time)),
            ));
        }
        if let Some(how) = self.copied() {
            let sentence = format!("Copying through the page cache was the limit. {} {how}", as_sentence(&time));
            return Some((LimiterKind::PageCacheCopy, sentence));
        }
        let calls = match self.fact(FactName::ModalRequest) {
            Ok(bytes) => format!(", with {} per call", Quantity { value: bytes, ..Quantity::bytes(0) }),
            Err(_) => String::new(),
        };
        Some((
            LimiterKind::CpuKernel,
            format!("The CPU was the limit, in the kernel. {}", as_sentence(&format!("{time}{calls}"))),
        ))
    }

    /// Share of the threads' time in which a CPU spun for a lock, as far as samples show it.
    fn spinning(&self, shares: &Shares) -> f64 {
        let Some(profile) = self.run.profiles.phases.get(&self.phase.id) else { return 0.0 };
        let is_lock = |symbol: &str| SPINNING.iter().any(|name| symbol.ends_with(name));
        let CpuProfile { functions, .. } = profile;
        let samples: f64 = functions
            .iter()
            .filter(|function| function.in_kernel && function.symbol.as_deref().is_some_and(is_lock))
            .map(|function| function.sample_ratio)
            .sum();
        samples * shares.cpu()
    }

    /// Returns how the bytes were copied through memory, in calls that are large enough for the copy to matter; `None`
    /// if they were not, or if it is unknown.
    fn copied(&mut self) -> Option<String> {
        let limits = self.run.thresholds;
        let (direct, request) = (self.fact(FactName::DirectShare).ok()?, self.fact(FactName::ModalRequest).ok()?);
        if direct >= 0.5 || request < limits.limiter_copy_request_bytes.value.value {
            return None;
        }
        match self.phase.direction {
            Direction::Write => Some("The data was written into memory.".to_owned()),
            Direction::Read | Direction::Mixed => {
                let read = self.fact(FactName::ReadBytes).ok().filter(|bytes| *bytes > 0.0)?;
                let inserted = self.fact(FactName::CacheInsertedBytes).ok()?;
                if inserted / read >= limits.limiter_share_ratio.value.value {
                    return None;
                }
                let share = self.ratio("cache_inserted_ratio", inserted / read);
                Some(match inserted {
                    0.0 => "The disk delivered none of the data; all of it was cached.".to_owned(),
                    _ => format!("The disk delivered {share} of the data; the rest was cached."),
                })
            }
            Direction::Discard | Direction::None => None,
        }
    }

    /// Syncs, each of little data, took most of the time.
    fn syncing(&mut self, shares: &Shares) -> Result<Option<(LimiterKind, String)>, String> {
        if !matches!(self.phase.direction, Direction::Write | Direction::Mixed) {
            return Ok(None);
        }
        let limits = self.run.thresholds;
        let most = limits.limiter_share_ratio.value.value;
        let small = limits.limiter_sync_bytes.value.value;
        let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        let written = self.fact(FactName::WriteBytes)?;
        // With O_SYNC each write is its own sync.
        if self.fact(FactName::SyncWriteShare)? >= 0.5 {
            let (calls, mean) = (self.fact(FactName::WriteCalls)?, self.fact(FactName::WriteLatencyMean)?);
            let share = calls * mean / shares.total_ns;
            let each = written / calls.max(1.0);
            if share >= most && each < small && shares.off >= most {
                let share = self.ratio("sync_ratio", share);
                let sentence = format!(
                    "Durability was the limit: each write of {} waited until it was durable (O_SYNC or O_DSYNC). That took \
                     {} on average and {share} of the threads' time.",
                    in_bytes(each),
                    in_ns(mean)
                );
                self.figures.push(Figure { name: "write_latency_mean_ns".to_owned(), value: in_ns(mean) });
                return Ok(Some((LimiterKind::SyncLatency, sentence)));
            }
            return Ok(None);
        }
        let syncs = self.fact(FactName::SyncsInside)?;
        if syncs == 0.0 {
            return Ok(None);
        }
        let mean = self.fact(FactName::SyncLatencyMean)?;
        let share = syncs * mean / shares.total_ns;
        if share < most || written / syncs >= small {
            return Ok(None);
        }
        let share = self.ratio("sync_ratio", share);
        self.figures.push(Figure { name: "sync_latency_mean_ns".to_owned(), value: in_ns(mean) });
        let sentence = format!(
            "Durability was the limit: {syncs} syncs, one per {}, took {share} of the threads' time. Each took {} on average.",
            in_bytes(written / syncs),
            in_ns(mean)
        );
        Ok(Some((LimiterKind::SyncLatency, sentence)))
    }

    /// Finds the cause for which the threads waited.
    fn waiting(&mut self, shares: &Shares, blocked: f64, preempted: f64) -> Decision {
        let limits = self.run.thresholds;
        let most = limits.limiter_share_ratio.value.value;
        let blocked_said = self.ratio("blocked_ratio", blocked);
        let outside = self.outside_calls(shares, preempted)?;
        if let Some(outside) = outside.filter(|outside| *outside >= most) {
            let outside = self.ratio("outside_calls_ratio", outside);
            let busy = self.busy().map_or_else(
                |_| String::new(),
                |busy| format!(" The device was busy for {} of the pass.", self.ratio("device_busy_ratio", busy)),
            );
            let sentence = format!(
                "The tool limited itself{}: its threads waited outside of their calls for {outside} of their time.{busy}",
                self.option_of_pauses()
            );
            return Ok((LimiterKind::ToolLimit, sentence));
        }
        let busy = self.busy()?;
        let busy_said = self.ratio("device_busy_ratio", busy);
        let waited = format!(
            "the threads waited for {blocked_said} of their time, and the device was busy for {busy_said} of the pass"
        );
        if busy >= limits.limiter_busy_ratio.value.value {
            return self.at_device(&waited, blocked * shares.total_ns);
        }
        if outside.is_none() && self.is_asynchronous() {
            let sentence = format!("The tool limited itself{}: {waited}.", self.option_of_pauses());
            return Ok((LimiterKind::ToolLimit, sentence));
        }
        let io_wait = self.fact(FactName::IoWait)? / (blocked * shares.total_ns);
        if io_wait >= most {
            // A queue, a scheduler, a worker of the kernel that gets no CPU: no fact distinguishes them.
            return Err(format!(
                "{waited}. Most of the waiting was for I/O, and delays before the device are not observed"
            ));
        }
        let tasks = self.fact(FactName::ActiveTasks)?;
        if tasks > 1.0 && !self.is_asynchronous() {
            let io_wait = self.ratio("iowait_of_blocked_ratio", io_wait);
            let sentence = format!(
                "A lock was the limit. {} Of the waiting of {tasks} tasks {io_wait} was for I/O.",
                as_sentence(&waited)
            );
            return Ok((LimiterKind::Lock, sentence));
        }
        Err(format!("{waited}. No fact shows what else they waited for"))
    }

    /// The device was busy for most of the time: decides between the device and a serial submission.
    fn at_device(&mut self, waited: &str, blocked_ns: f64) -> Decision {
        let limits = self.run.thresholds;
        let depth = self.fact(FactName::DeviceQueueDepthMean)?;
        let tasks = self.fact(FactName::ActiveTasks)?;
        let in_flight = Quantity { value: depth, ..Quantity::count(0) };
        self.figures.push(Figure { name: "device_queue_depth_mean".to_owned(), value: in_flight });
        let each = match self.fact(FactName::DeviceLatencyMean) {
            Ok(mean) => {
                let mean = Quantity { value: mean, ..Quantity::ns(0) };
                self.figures.push(Figure { name: "device_latency_mean_ns".to_owned(), value: mean });
                format!(", {mean} each")
            }
            Err(_) => String::new(),
        };
        if depth >= limits.limiter_serial_count.value.value {
            let sentence = format!(
                "The device was the limit. {} It had {in_flight} requests in flight on average{each}.",
                as_sentence(waited)
            );
            return Ok((LimiterKind::Device, sentence));
        }
        // Several tasks, and one request at a time: something serialised them.
        let io_wait = self.fact(FactName::IoWait)? / blocked_ns;
        if tasks > 1.0 && io_wait < limits.limiter_share_ratio.value.value && !self.is_asynchronous() {
            let io_wait = self.ratio("iowait_of_blocked_ratio", io_wait);
            let sentence = format!(
                "A lock was the limit: {tasks} tasks had {in_flight} requests in flight, and {io_wait} of their waiting was \
                 for I/O. {}",
                as_sentence(waited)
            );
            return Ok((LimiterKind::Lock, sentence));
        }
        let sentence = format!(
            "One request at a time was the limit. {} There were {in_flight} requests in flight on average{each}. Whether a \
             larger queue depth is faster was not measured.",
            as_sentence(waited)
        );
        Ok((LimiterKind::QueueDepth, sentence))
    }

    /// Share of the threads' time spent waiting outside of calls on the phase's files; `None` where calls do not
    /// show where a thread waits (asynchronous requests, mappings, names).
    fn outside_calls(&mut self, shares: &Shares, preempted: f64) -> Result<Option<f64>, String> {
        if self.is_asynchronous()
            || self.run.maps_files(self.phase)
            || matches!(self.phase.direction, Direction::Discard | Direction::None)
        {
            return Ok(None);
        }
        let mut inside_ns = 0.0;
        for (count, mean) in [
            (FactName::ReadCalls, FactName::ReadLatencyMean),
            (FactName::WriteCalls, FactName::WriteLatencyMean),
            (FactName::SyncsInside, FactName::SyncLatencyMean),
        ] {
            // Absent without such calls.
            if self.phase.facts.get(mean).is_some() {
                inside_ns += self.fact(count)? * self.fact(mean)?;
            }
        }
        Ok(Some(1.0 - inside_ns / shares.total_ns - shares.user - preempted))
    }

    fn is_asynchronous(&self) -> bool {
        matches!(self.phase.submission, Submission::Asynchronous)
            || (self.phase.submission == Submission::AsynchronousIfDirect
                && self.run.fact(self.phase, FactName::DirectShare).is_ok_and(|share| share >= 0.5))
            || self.phase.facts.get(FactName::SubmitLatencyP999).is_some()
    }

    /// Share of the window in which the device had a request.
    fn busy(&mut self) -> Result<f64, String> {
        let window = self.fact(FactName::Window)?;
        if window <= 0.0 {
            return Err("the pass does not have a measurable duration".to_owned());
        }
        Ok(self.fact(FactName::DeviceBusy)? / window)
    }

    /// The option that makes the tool pause, in brackets; empty where none is known.
    fn option_of_pauses(&self) -> String {
        self.run.advisor.option_of_pauses(self.run.argv()).map_or_else(String::new, |option| format!(" (`{option}`)"))
    }

    /// Returns a fact that was observed completely, and adds it to the evidence of the answer.
    fn fact(&mut self, name: FactName) -> Result<f64, String> {
        let value = self.run.fact(self.phase, name)?;
        if !self.facts.contains(&name) {
            self.facts.push(name);
        }
        Ok(value)
    }

    /// Adds a share to the figures, and returns it in words.
    fn ratio(&mut self, name: &str, share: f64) -> Quantity {
        let value = Quantity::ratio(share);
        self.figures.push(Figure { name: name.to_owned(), value });
        value
    }
}

/// Returns the name of a limit, with its unit.
fn limit_name(limit: Quantity) -> &'static str {
    match limit.unit {
        activebench_model::units::Unit::OpsPerSec => "limit_ops_per_sec",
        _ => "limit_bytes_per_sec",
    }
}
