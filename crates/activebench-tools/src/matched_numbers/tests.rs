use activebench_model::observed_pass::ObservedWindow;
use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

fn pass(name: &str, direction: Direction, bytes: u64, calls: u64, spans_ns: &[(u64, u64)]) -> ObservedPass {
    let window = |(place, (start_ns, end_ns)): (usize, &(u64, u64))| ObservedWindow {
        phase: format!("{name}-{place}"),
        clock: "first to last".to_owned(),
        start_ns: *start_ns,
        end_ns: *end_ns,
        has_sync: place == 1,
    };
    ObservedPass {
        name: name.to_owned(),
        direction,
        bytes,
        calls,
        opens: 1,
        is_direct: false,
        is_synchronous: false,
        windows: spans_ns.iter().enumerate().map(window).collect(),
        parent: None,
    }
}

fn of(text: &str, passes: &[ObservedPass]) -> Parsed {
    of_stated(text, &[], passes)
}

fn of_stated(text: &str, stated: &[&str], passes: &[ObservedPass]) -> Parsed {
    let stated: Vec<StatedClaim> = stated.iter().map(|one| StatedClaim::parse(one).expect("good")).collect();
    let output = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
    matched(&output, &stated, passes, Known { program: "./mine", subject: None }).parsed
}

/// The claims as `metric of phase`.
fn claims(parsed: &Parsed) -> Vec<String> {
    parsed.claims.iter().map(|claim| format!("{} of {}", claim.metric.as_str(), claim.phase)).collect()
}

/// Writes of 64 MiB in 500 ms without and 800 ms with the sync, and reads of as much in 100 ms.
fn two() -> Vec<ObservedPass> {
    vec![
        pass("write", Direction::Write, 64 * MIB, 64, &[(0, 500_000_000), (0, 800_000_000)]),
        pass("read", Direction::Read, 64 * MIB, 64, &[(900_000_000, 1_000_000_000)]),
    ]
}

#[test]
fn a_rate_is_the_claim_of_the_pass_and_window_that_it_agrees_with() {
    assert_eq!(claims(&of("write: 128.0 MiB/s\n", &two())), ["throughput of write-0"]);
    assert_eq!(claims(&of("write: 80.02 MiB/s\n", &two())), ["throughput of write-1"]);
    assert_eq!(claims(&of("read: 640.1 MiB/s\n", &two())), ["throughput of read-0"]);
    let parsed = of("write: 134.2 MB/s\n", &two());
    assert_eq!(claims(&parsed), ["throughput of write-0"]);
    // 10^6, as that agrees.
    assert_eq!(parsed.claims[0].value.value.round(), 134_200_000.0);
    assert!(parsed.claims[0].subject_reason.contains("by chance with a probability of"), "{parsed:?}");
}

#[test]
fn a_number_of_another_direction_or_distance_is_unverifiable_and_names_the_nearest_pass() {
    for text in ["read: 128.0 MiB/s\n", "write: 140.0 MiB/s\n", "write: 640.0 MiB/s\n"] {
        let parsed = of(text, &two());
        assert_eq!(claims(&parsed), Vec::<String>::new(), "{text}");
        assert_eq!(parsed.unmatched.numbers.len(), 1);
        assert!(parsed.unmatched.numbers[0].nearest.is_some(), "{text}");
    }
    let far = of("write: 140.0 MiB/s\n", &two()).unmatched.numbers.remove(0);
    assert!((far.nearest.expect("one").excess - 0.094).abs() < 0.001);
}

#[test]
fn a_coarse_number_could_agree_by_chance() {
    let parsed = of("write: 0.1 GB/s\n", &two());
    assert_eq!(claims(&parsed), Vec::<String>::new());
    let why = &parsed.unmatched.numbers[0].reason;
    assert!(why.contains("by chance"), "{why}");
}

#[test]
fn numbers_of_a_line_support_each_other() {
    let parsed = of("67108864 bytes copied, 0.8 s, 84 MB/s\n", &two()[..1]);
    assert_eq!(claims(&parsed), ["bytes-moved of write-1", "throughput of write-1"]);
    assert_eq!(parsed.unmatched.numbers, []);
    assert_eq!(parsed.claims[1].claimed_bytes, Some(64 * MIB));
    // The same rate alone in a long output is not enough.
    let alone = format!("{}84 MB/s\n", "7 MB/s\n".repeat(40));
    assert_eq!(claims(&of(&alone, &two()[..1])), Vec::<String>::new());
}

#[test]
fn where_two_passes_agree_it_is_undecided_and_both_are_named() {
    let mut passes = two();
    passes[1] = pass("read", Direction::Read, 64 * MIB, 64, &[(900_000_000, 1_400_000_000)]);
    let parsed = of("128.0 MiB/s\n", &passes);
    assert_eq!(claims(&parsed), Vec::<String>::new());
    assert_eq!(parsed.unmatched.numbers[0].reason, "2 passes agree with it: write, read");
    // One that contains the other is the same thing.
    passes[1] = pass("all", Direction::Write, 128 * MIB, 128, &[(0, 1_000_000_000)]);
    passes[0].parent = Some(1);
    assert_eq!(claims(&of("128.0 MiB/s\n", &passes)), ["throughput of all-0"]);
}

#[test]
fn a_statement_of_the_user_names_a_number() {
    let stated = [r"write=speed: ([\d.]+) MiB/s"];
    let parsed = of_stated("speed: 128.0 MiB/s read\n", &stated, &two());
    assert_eq!(claims(&parsed), ["throughput of write-0"]);
    let latency = of_stated("99th: 12 ms\n", &[r"write p99=99th: (\d+) ms"], &two());
    assert_eq!(claims(&latency), ["latency-p99 of write-0"]);
    let nowhere = of_stated("speed: 5 MiB/s\n", &stated, &two());
    assert!(nowhere.claims.is_empty() && nowhere.unmatched.numbers[0].is_stated);
}

/// Passes with random amounts and times.
fn random_passes() -> impl Strategy<Value = Vec<ObservedPass>> {
    let one = (any::<bool>(), 20.0..34.0_f64, 1_u64..5000, 17.0..23.0_f64, 0.0..1.0_f64).prop_map(
        |(writes, bytes, calls, duration, more)| {
            let direction = if writes { Direction::Write } else { Direction::Read };
            let name = if writes { "write" } else { "read" };
            let duration_ns = duration.exp() as u64;
            let longer_ns = (duration_ns as f64 * (1.0 + more)) as u64;
            pass(name, direction, bytes.exp2() as u64, calls, &[(0, duration_ns), (0, longer_ns)])
        },
    );
    prop::collection::vec(one, 1..6)
}

proptest! {
    #[test]
    fn no_number_is_claimed_under_another_direction(passes in random_passes(), which in 0_usize..6, is_write: bool) {
        let one = &passes[which % passes.len()];
        let rate = one.bytes as f64 * 1e9 / one.windows[0].duration_ns() as f64;
        let (word, direction) = if is_write { ("write", Direction::Write) } else { ("read", Direction::Read) };
        let parsed = of(&format!("{word}: {rate:.1} bytes/s\n"), &passes);
        for claim in &parsed.claims {
            let claimed = passes.iter().filter(|pass| pass.windows.iter().any(|window| window.phase == claim.phase));
            prop_assert!(claimed.into_iter().all(|pass| pass.direction == direction), "{parsed:?}");
        }
    }
}

#[test]
fn random_numbers_match_random_passes_in_less_than_one_percent() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut draw = |strategy: &BoxedStrategy<f64>| strategy.new_tree(&mut runner).expect("a value").current();
    let rate = (0.0..6.0_f64).prop_map(|exponent| 10_f64.powf(exponent)).boxed();
    let uniform = (0.0..1.0_f64).boxed();
    let passes = random_passes().boxed();
    let mut other = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::XorShift));
    let (mut runs, mut with_match) = (0, 0);
    for _ in 0..4000 {
        let passes = passes.new_tree(&mut other).expect("passes").current();
        let mut text = String::new();
        for _ in 0..1 + (draw(&uniform) * 4.0) as usize {
            let unit = ["MB/s", "MiB/s", "kIOPS", "us/op"][(draw(&uniform) * 4.0) as usize];
            let word = ["", "read ", "write "][(draw(&uniform) * 3.0) as usize];
            let decimals = (draw(&uniform) * 3.0) as usize;
            text.push_str(&format!("{word}{:.decimals$} {unit}, {:.3} s\n", draw(&rate), draw(&rate) / 1e3));
        }
        runs += 1;
        with_match += usize::from(!of(&text, &passes).claims.is_empty());
    }
    println!("{with_match} of {runs}");
    assert!(with_match * 100 < runs, "{with_match} of {runs}");
}
