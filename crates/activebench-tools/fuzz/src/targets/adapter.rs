#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| activebench_tools_fuzz::parse(input));
