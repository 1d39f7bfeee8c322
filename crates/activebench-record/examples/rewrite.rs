use std::path::Path;
use std::time::Instant;
use activebench_record::{RunReader, RunWriter};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let reader = RunReader::open(Path::new(&args[1])).unwrap();
    for _ in 0..5 {
        let t = Instant::now();
        let n: usize = reader.calls().map(|p| p.unwrap().len()).sum();
        let a = t.elapsed();
        let t = Instant::now();
        let m: usize = reader.places().map(|p| p.unwrap().len()).sum();
        let b = t.elapsed();
        let t = Instant::now();
        let k: usize = reader.block().map(|p| p.unwrap().len()).sum();
        println!("calls {n} {:?} places {m} {:?} block {k} {:?}", a, b, t.elapsed());
    }
    if let Some(to) = args.get(2) {
        let t = Instant::now();
        let mut writer = RunWriter::create(Path::new(to)).unwrap();
        assert!(writer.append_all(&reader).is_empty());
        writer.finish(reader.manifest().clone()).unwrap();
        println!("written {:?}", t.elapsed());
    }
}
