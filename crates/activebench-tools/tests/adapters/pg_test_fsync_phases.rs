//! pg_test_fsync's tests, found in made-up calls.

use std::fmt::Write as _;

use crate::observed::Run;
use crate::stored::command_line;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Phase;
use activebench_tools::adapter_by_name;

const OUTPUT: &str = "1 second per test
O_DIRECT supported on this platform for open_datasync and open_sync.

Compare file sync methods using one 8kB write:
(in wal_sync_method preference order, except fdatasync is Linux's default)
        open_datasync                       474.272 ops/sec    2108 usecs/op
        fdatasync                           548.733 ops/sec    1822 usecs/op
        fsync                               354.964 ops/sec    2817 usecs/op
        fsync_writethrough                              n/a
        open_sync                           304.851 ops/sec    3280 usecs/op
";

/// One descriptor for each test: its open flags, and the call behind each of its two writes.
type Tests = [(&'static str, &'static str)];

/// Returns for each test the first write of its part, by its place among the writes of the tests, from 1.
fn parts(of: &Tests) -> Vec<Option<usize>> {
    let mut text = "task 1 1 0 0 -\n".to_owned();
    let mut now = 1000;
    let mut call = |line: &str| {
        writeln!(text, "{now} {} 1 1 {line}", now + 10).expect("a String takes everything");
        now += 20;
        now - 20
    };
    call("open 3 7 0 3 pg.out write,create");
    call("write 3 0 16384 16384");
    call("fsync 3 -1 0 0");
    call("close 3 -1 0 0");
    let mut writes = Vec::new();
    for (flags, sync) in of {
        call(&format!("open 3 7 0 3 pg.out {flags}"));
        for _ in 0..2 {
            writes.push(call("write 3 0 8192 8192") * 1000);
            if *sync != "-" {
                call(&format!("{sync} 3 -1 0 0"));
            }
        }
        call("close 3 -1 0 0");
    }
    let adapter = adapter_by_name("pg_test_fsync").expect("the adapter is registered");
    let command = command_line("pg_test_fsync -s 1 -f pg.out");
    let output = ToolOutput { stdout: OUTPUT.as_bytes().to_vec(), ..ToolOutput::default() };
    let parsed = adapter.parse(&command, &output, None);
    let phases: Vec<Phase> = adapter.phases(&command, &output, &parsed, &Run::read(&text).activity());
    let place = |start_ns: u64| writes.iter().position(|at| *at == start_ns).map(|place| place + 1);
    phases.iter().map(|phase| phase.parts.first().and_then(|part| place(part.start_ns))).collect()
}

#[test]
fn a_test_that_does_not_sync_is_known_by_its_place() {
    let honest: &Tests = &[("write,dsync", "-"), ("write", "fdatasync"), ("write", "fsync"), ("write,sync", "-")];
    let in_order = vec![Some(1), Some(3), Some(5), Some(7)];
    assert_eq!(parts(honest), in_order);
    // fsync and fdatasync do nothing; nor do the flags of the last one.
    assert_eq!(parts(&[("write,dsync", "-"), ("write", "-"), ("write", "-"), ("write,sync", "-")]), in_order);
    assert_eq!(parts(&[("write", "-"), ("write", "-"), ("write", "-"), ("write", "-")]), in_order);
    // A test whose calls were not seen: nothing is known of those from there on.
    assert_eq!(parts(&[honest[0], honest[2], honest[3]]), [Some(1), None, None, None]);
    assert_eq!(parts(&honest[1..]), [None, None, None, None]);
    // More than it says: another program's descriptor.
    assert_eq!(parts(&[honest[0], ("write,sync", "-"), ("write", "-"), honest[3]]), [Some(1), None, None, None]);
}
