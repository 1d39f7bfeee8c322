//! The options of fio that ask for I/O on the named files alone.

use super::command::{Given, given};
use super::names::Name;
use crate::vetted::Vetted;

/// Options of fio itself.
const OWN: &[&str] = &[
    "minimal",
    "output-format",
    "append-terse",
    "terse-version",
    "readonly",
    "eta",
    "eta-interval",
    "eta-newline",
    "status-interval",
    "warnings-fatal",
    "max-jobs",
    "alloc-size",
];

/// Options of a job. Those that start programs, read or write other files, change users, control groups or schedulers,
/// or write mounted devices are not among them.
const JOB: &str = "
    description name wait_for filename directory rw bs ba bsrange bssplit randrepeat randseed use_os_rand rand_seed
    softrandommap ignore_error rw_sequencer ioengine iodepth iodepth_batch iodepth_batch_complete_min
    iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode size io_size fill_device filesize file_append
    offset offset_increment offset_align number_ios random_generator random_distribution percentage_random
    percentage_sequential allrandrepeat nrfiles file_service_type openfiles fallocate fadvise_hint fsync fdatasync
    write_barrier sync_file_range direct atomic buffered overwrite loops numjobs startdelay runtime ramp_time clocksource
    mem iomem_align mem_align verify do_verify verify_interval verify_offset verify_fatal verify_async verify_backlog
    verify_backlog_batch experimental_verify verifysort verifysort_nr verify_header_seed trim_percentage
    trim_verify_zero trim_backlog trim_backlog_batch zonemode zonesize zonecapacity zonerange zoneskip read_beyond_wp
    max_open_zones job_max_open_zones zone_reset_threshold zone_reset_frequency lockmem rwmixread rwmixwrite rwmixcycle
    nice prio prioclass thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime rate rate_min
    rate_process rate_cycle rate_ignore_thinktime rate_iops rate_iops_min max_latency latency_target latency_window
    latency_percentile latency_run invalidate sync write_hint create_serialize create_fsync create_on_open create_only
    allow_file_create pre_read cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy end_fsync
    fsync_on_close unlink unlink_each_loop exit_what stats scramble_buffers buffer_compress_percentage
    buffer_compress_chunk dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global clat_percentiles
    lat_percentiles slat_percentiles percentile_list significant_figures disk_util gtod_reduce disable_lat disable_clat
    disable_slat disable_bw_measurement gtod_cpu unified_rw_reporting continue_on_error error_dump kb_base unit_base
    hugepage-size flow_id flow flow_sleep steadystate steadystate_duration steadystate_ramp_time
    bs_unaligned bs_is_seq_rand norandommap time_based verify_only exitall exitall_on_error stonewall new_group thread
    group_reporting zero_buffers refill_buffers hipri fixedbufs registerfiles sqthread_poll userspace_reap thp
    hipri_percentage uncached nowait cmdprio_percentage cmdprio_class cmdprio sqthread_poll_cpu nonvectored force_async";

/// Engines that do I/O on the job's files, and nothing else.
const ENGINES: &[&str] =
    &["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice"];

/// Options whose value has slashes that separate numbers.
const WITH_SLASHES: &[&str] = &["description", "bssplit", "random_distribution"];

/// Reads `argv`, whose first word is fio itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted::default();
    for given in given(argv) {
        match given {
            Given::Option { name: Name::Own(name, _), .. } if OWN.contains(&name) => {}
            Given::Option { word, name: Name::Job(name, _), value } if is_listed(name) => {
                read(&mut vetted, word, name, value.unwrap_or_default());
            }
            Given::Option { word, .. } => vetted.refuse_unlisted(word),
            Given::File(word) => vetted.refuse(word, "a job file is not part of the command; its jobs can be options"),
            Given::EndOfOptions => vetted.refuse_unlisted("--"),
        }
    }
    vetted
}

fn is_listed(name: &str) -> bool {
    JOB.split_whitespace().any(|listed| listed == name)
}

fn read(vetted: &mut Vetted, word: &str, name: &str, value: &str) {
    match name {
        "filename" | "directory" => vetted.files.extend(file_names(value)),
        "ioengine" if !ENGINES.contains(&value) => vetted.refuse(word, "not an engine that is known to do I/O alone"),
        // A colon begins the name of a file that the memory is mapped to.
        "mem" if value.contains(':') => vetted.refuse(word, "memory with a file of its own"),
        _ if value.contains('/') && !WITH_SLASHES.contains(&name) => vetted.refuse(word, "it names another file"),
        _ => {}
    }
}

/// Returns the names in a list of files: fio separates them by colons, except after a backslash.
fn file_names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&':') => {
                names.last_mut().expect("one at least").extend(characters.next())
            }
            ':' => names.push(String::new()),
            character => names.last_mut().expect("one at least").push(character),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns a file name as an option takes it.
pub(super) fn escaped(name: &str) -> String {
    name.replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    fn told(words: &str) -> Vetted {
        vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn io_on_named_files_is_all_that_is_asked() {
        let words = "fio --name=a --rw=randread --bssplit=4k/50:8k/50 --filename=/dev/sdb:x -ioeng=libaio --iodepth 8 \
                     --name=b --directory=d --output-format=json --time_based --runtime=1 --zero_buffers";
        let told = told(words);
        assert_eq!((told.refused, told.files), (vec![], vec!["/dev/sdb".to_owned(), "x".to_owned(), "d".to_owned()]));
    }

    #[test]
    fn what_asks_for_more_is_refused() {
        for word in [
            "--exec_prerun=true",
            "--exec_pre=true",
            "--exec_postrun=true",
            "--output=/etc/passwd",
            "-o/etc/passwd",
            "--write_bw_log=x",
            "--bandwidth-log",
            "--write_iolog=x",
            "--read_iolog=x",
            "--aux-path=/",
            "--trigger=true",
            "--client=host",
            "--server",
            "--daemonize=x",
            "--ioengine=external:x.so",
            "--ioengine=exec",
            "--ioengine=net",
            "--mem=mmaphuge:/x",
            "--opendir=/",
            "--filename_format=/x",
            "--lockfile=exclusive",
            "--ioscheduler=none",
            "--cgroup=x",
            "--uid=0",
            "--allow_mounted_write=1",
            "--profile=tiobench",
            "--name=../x",
            "--buffer_pattern='x'",
            "--verify_state_load=1",
            "--debug=all",
            "--of-a-later-version=1",
            "job.fio",
            "--",
            "-",
        ] {
            let told = told(&format!("fio --name=a {word}"));
            assert_eq!(told.refused.len(), 1, "{word}: {told:?}");
        }
    }

    #[test]
    fn a_colon_in_a_name_is_escaped_and_read_again() {
        for name in ["/mnt/a:b", "x", "a:b:c", "with blank"] {
            assert_eq!(file_names(&escaped(name)), [name]);
        }
        assert_eq!(file_names("a:b"), ["a", "b"]);
    }

    #[test]
    fn what_is_listed_is_an_option() {
        for name in JOB.split_whitespace() {
            assert_eq!(names::of_job(name), Some(name));
        }
        for name in OWN {
            assert!(matches!(names::of_command_line(name, 2), Name::Own(own, _) if own == *name), "{name}");
        }
    }
}
