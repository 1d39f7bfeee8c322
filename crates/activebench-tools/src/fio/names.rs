//! The names of fio's options, from `--help`, `--cmdhelp` and `--enghelp` of fio 3.33.
//!
//! For a name that is not listed here, it is unknown whether it takes the next word and what it changes.

/// The way in which an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// It takes no value.
    Nothing,
    /// It may have a value after `=`.
    Perhaps,
    /// It takes a value: after `=`, or the next word.
    Value,
}

/// Options of fio itself: name, letter, value.
const OWN: &[(&str, &str, Takes)] = &[
    ("output", "o", Takes::Value),
    ("latency-log", "l", Takes::Value),
    ("bandwidth-log", "b", Takes::Nothing),
    ("minimal", "m", Takes::Nothing),
    ("output-format", "F", Takes::Value),
    ("append-terse", "f", Takes::Perhaps),
    ("version", "v", Takes::Nothing),
    ("help", "h", Takes::Nothing),
    ("cmdhelp", "c", Takes::Perhaps),
    ("enghelp", "i", Takes::Perhaps),
    ("showcmd", "s", Takes::Nothing),
    ("readonly", "r", Takes::Nothing),
    ("eta", "e", Takes::Value),
    ("eta-interval", "O", Takes::Value),
    ("eta-newline", "E", Takes::Value),
    ("debug", "d", Takes::Value),
    ("parse-only", "P", Takes::Nothing),
    ("section", "x", Takes::Value),
    ("inflate-log", "X", Takes::Value),
    ("alloc-size", "a", Takes::Value),
    ("profile", "p", Takes::Value),
    ("warnings-fatal", "w", Takes::Nothing),
    ("max-jobs", "j", Takes::Value),
    ("terse-version", "V", Takes::Value),
    ("server", "S", Takes::Perhaps),
    ("daemonize", "D", Takes::Value),
    ("client", "C", Takes::Value),
    ("remote-config", "R", Takes::Value),
    ("cpuclock-test", "T", Takes::Nothing),
    ("crctest", "G", Takes::Perhaps),
    ("memcpytest", "M", Takes::Perhaps),
    ("idle-prof", "I", Takes::Value),
    ("status-interval", "L", Takes::Value),
    ("trigger-file", "W", Takes::Value),
    ("trigger-timeout", "B", Takes::Value),
    ("trigger", "H", Takes::Value),
    ("trigger-remote", "J", Takes::Value),
    ("aux-path", "K", Takes::Value),
    ("merge-blktrace-only", "A", Takes::Nothing),
];

/// Options of a job that are allowed without a value: the JSON of fio 3.33 omits them then.
const SWITCHES: &[&str] = &[
    "bs_unaligned",
    "bs_is_seq_rand",
    "norandommap",
    "time_based",
    "verify_only",
    "exitall",
    "exitall_on_error",
    "stonewall",
    "new_group",
    "thread",
    "group_reporting",
    "zero_buffers",
    "refill_buffers",
    // Options of engines.
    "hipri",
    "fixedbufs",
    "registerfiles",
    "sqthread_poll",
    "userspace_reap",
    "listen",
    "pingpong",
];

/// Other names of options.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blockalign", "ba"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("fileoffset", "offset"),
    ("nr_files", "nrfiles"),
    ("timeout", "runtime"),
    ("iomem", "mem"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("wait_for_previous", "stonewall"),
    ("disable_bw", "disable_bw_measurement"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("proto", "protocol"),
    ("start_delay", "startdelay"),
];

/// All other options of a job: they take a value. The last lines are those of engines.
const VALUED: &str = "
    description name wait_for filename lockfile directory filename_format unique_filename opendir rw bs ba bsrange
    bssplit randrepeat randseed use_os_rand rand_seed softrandommap ignore_error rw_sequencer ioengine iodepth
    iodepth_batch iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode
    size io_size fill_device filesize file_append offset offset_increment offset_align number_ios random_generator
    random_distribution percentage_random percentage_sequential allrandrepeat nrfiles file_service_type openfiles
    fallocate fadvise_hint fsync fdatasync write_barrier sync_file_range direct atomic buffered overwrite loops numjobs
    startdelay runtime ramp_time clocksource mem iomem_align mem_align verify do_verify verify_interval verify_offset
    verify_pattern verify_fatal verify_dump verify_async verify_async_cpus verify_backlog verify_backlog_batch
    experimental_verify verify_state_load verify_state_save verifysort verifysort_nr verify_header_seed
    trim_percentage trim_verify_zero trim_backlog trim_backlog_batch write_iolog read_iolog read_iolog_chunked
    replay_no_stall replay_redirect replay_scale replay_align replay_time_scale replay_skip merge_blktrace_file
    merge_blktrace_scalars merge_blktrace_iters exec_prerun exec_postrun ioscheduler zonemode zonesize zonecapacity
    zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold
    zone_reset_frequency lockmem rwmixread rwmixwrite rwmixcycle nice prio prioclass thinktime thinktime_spin
    thinktime_blocks thinktime_blocks_type thinktime_iotime rate rate_min rate_process rate_cycle
    rate_ignore_thinktime rate_iops rate_iops_min max_latency latency_target latency_window latency_percentile
    latency_run invalidate sync write_hint create_serialize create_fsync create_on_open create_only
    allow_file_create allow_mounted_write pre_read cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes
    numa_mem_policy end_fsync fsync_on_close unlink unlink_each_loop exit_what per_job_logs write_bw_log bwavgtime
    write_lat_log write_iops_log iopsavgtime log_entries log_avg_msec log_hist_msec log_hist_coarseness
    write_hist_log log_max_value log_offset log_prio log_compression log_compression_cpus log_store_compressed
    log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles stats scramble_buffers
    buffer_pattern buffer_compress_percentage buffer_compress_chunk dedupe_percentage dedupe_mode
    dedupe_working_set_percentage dedupe_global clat_percentiles lat_percentiles slat_percentiles percentile_list
    significant_figures disk_util gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement gtod_cpu
    unified_rw_reporting continue_on_error error_dump profile cgroup cgroup_nodelete cgroup_weight uid gid kb_base
    unit_base hugepage-size flow_id flow flow_watermark flow_sleep steadystate steadystate_duration
    steadystate_ramp_time gpu_dev_id
    cpuload cpuchunks cpumode exit_on_io_done thp hipri_percentage uncached nowait hostname port protocol nodelay
    interface ttl window_size mss stat_type program arguments grace_time std_redirect donorname inplace readfua
    writefua sg_write_mode stream_id cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit cmdprio_hint
    sqthread_poll_cpu nonvectored force_async cmd_type";

/// Meaning of a word of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// An option of fio itself.
    Own(&'static str, Takes),
    /// An option of a job, by its usual name.
    Job(&'static str, Takes),
    /// Unknown option.
    Unknown,
}

/// Returns the option of a name as the command line may write it: in full, or abbreviated if the prefix is unambiguous.
pub(super) fn of_command_line(word: &str, dashes: usize) -> Name {
    let own = |(name, _, takes): &(&'static str, &str, Takes)| Name::Own(name, *takes);
    if dashes == 1
        && word.len() == 1
        && let Some(found) = OWN.iter().find(|(_, letter, _)| *letter == word)
    {
        return own(found);
    }
    if let Some(found) = OWN.iter().find(|(name, ..)| *name == word) {
        return own(found);
    }
    if let Some(name) = of_job(word) {
        return Name::Job(name, takes(name));
    }
    let mut begun = OWN.iter().filter(|(name, ..)| name.starts_with(word)).map(own).chain(
        all_of_jobs().filter(|(written, _)| written.starts_with(word)).map(|(_, name)| Name::Job(name, takes(name))),
    );
    match (begun.next(), begun.next()) {
        (Some(found), None) if !word.is_empty() => found,
        _ => Name::Unknown,
    }
}

/// Returns every spelling of a job's option, with its usual name.
fn all_of_jobs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let usual = || VALUED.split_whitespace().chain(SWITCHES.iter().copied());
    usual().map(|name| (name, name)).chain(ALIASES.iter().copied())
}

/// Returns the usual name of a job's option, which may be written under an alias; `None` if unknown.
pub(super) fn of_job(written: &str) -> Option<&'static str> {
    all_of_jobs().find(|(known, _)| *known == written).map(|(_, usual)| usual)
}

/// Returns true if an option is allowed without a value.
pub(super) fn is_switch(name: &str) -> bool {
    SWITCHES.contains(&name)
}

fn takes(name: &str) -> Takes {
    if is_switch(name) { Takes::Perhaps } else { Takes::Value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_or_begin_one_option_alone() {
        for (word, dashes, expected) in [
            ("output", 2, Name::Own("output", Takes::Value)),
            ("o", 1, Name::Own("output", Takes::Value)),
            ("readwrite", 2, Name::Job("rw", Takes::Value)),
            ("readwr", 2, Name::Job("rw", Takes::Value)),
            ("ioeng", 1, Name::Job("ioengine", Takes::Value)),
            ("time_based", 2, Name::Job("time_based", Takes::Perhaps)),
            ("nonvectored", 2, Name::Job("nonvectored", Takes::Value)),
            ("rate", 2, Name::Job("rate", Takes::Value)),
            ("verify_", 2, Name::Unknown),
            ("other", 2, Name::Unknown),
            ("", 2, Name::Unknown),
        ] {
            assert_eq!(of_command_line(word, dashes), expected, "{word}");
        }
    }

    #[test]
    fn an_option_stands_in_the_table_once() {
        let mut written: Vec<&str> = all_of_jobs().map(|(written, _)| written).collect();
        written.sort_unstable();
        assert!(written.windows(2).all(|pair| pair[0] != pair[1]), "{written:?}");
        assert!(ALIASES.iter().all(|(_, usual)| of_job(usual) == Some(*usual)));
    }
}
