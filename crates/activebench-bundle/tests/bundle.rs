//! Bundles with every kind of damage: the fault is named, and no file gets out of the folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use activebench_bundle::{
    BundleError, BundleKind, BundleManifest, BundledRun, BundledTool, Content, Fault, Limits, PrivateKey, PublicKey,
    SCHEMA, SignatureCheck, Source, Stored, Tests, Unpacked, is_bundle, unpack, write,
};
use activebench_model::verdict::RunVerdict;
use proptest::collection::vec;
use proptest::prelude::*;
use tar::{EntryType, Header};
use tempfile::TempDir;

const KEY: &str = include_str!("keys/signer.pem");
const PUBLIC: &str = include_str!("keys/signer.pub.pem");
const OTHER: &str = include_str!("keys/other.pub.pem");

fn described() -> BundleManifest {
    BundleManifest {
        schema: SCHEMA.to_owned(),
        activebench: "0.1.0".to_owned(),
        kind: BundleKind::Run,
        verdict: RunVerdict::Discrepancy,
        exit_code: 1,
        profile: "default".to_owned(),
        tool: BundledTool {
            name: Some("iozone".to_owned()),
            version: None,
            command: vec!["iozone".to_owned(), "-i0".to_owned()],
        },
        runs: vec![BundledRun { directory: "run".to_owned(), verdict: RunVerdict::Discrepancy, exit_code: 1 }],
        redacted: None,
        files: Vec::new(),
    }
}

fn stored(path: PathBuf, sha256: Option<String>) -> Stored {
    Stored { path: path.clone(), sha256, open: Box::new(move || fs::File::open(&path)) }
}

fn sources() -> Vec<Source> {
    let given = |name: &str, bytes: &[u8]| Source { name: name.to_owned(), content: Content::Given(bytes.to_vec()) };
    vec![
        given("run/stdout.txt", b"iozone test complete.\n"),
        given("run/run.json", b"{\"format\": 1}\n"),
        given("run/events/calls-0000.parquet", &[7; 1000]),
        given("run/stderr.txt", b""),
    ]
}

/// A bundle, signed or not, in a folder of its own.
fn bundle(signed: bool) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.activebench.tar.zst");
    let key = PrivateKey::from_pem(KEY).unwrap();
    let tests = Tests { failed: vec!["AB302 sync-outside-clock".to_owned()], ..Tests::default() };
    write(&path, false, described(), sources(), signed.then_some((&key, tests))).unwrap();
    (folder, path)
}

fn read(path: &Path, key: Option<&str>) -> Result<(Unpacked, TempDir), BundleError> {
    let into = tempfile::tempdir().unwrap();
    let key = key.map(|pem| PublicKey::from_pem(pem).unwrap());
    unpack(path, into.path(), Limits::default(), key.as_ref()).map(|unpacked| (unpacked, into))
}

fn faults(path: &Path, limits: Limits, key: Option<&str>) -> Vec<Fault> {
    let into = tempfile::tempdir().unwrap();
    let key = key.map(|pem| PublicKey::from_pem(pem).unwrap());
    let faults = match unpack(path, into.path(), limits, key.as_ref()) {
        Err(BundleError::NotVerified(faults)) => faults,
        other => panic!("{other:?}"),
    };
    // Files of an archive stay inside the folder that it was given.
    let beside: Vec<_> = fs::read_dir(into.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(beside.iter().all(|name| name == "run"), "{beside:?}");
    faults
}

/// The entries of a bundle, to be changed and packed again.
type Entry = (String, EntryType, Vec<u8>);

fn entries(path: &Path) -> Vec<Entry> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(fs::File::open(path).unwrap()).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::copy(&mut entry, &mut bytes).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), EntryType::Regular, bytes)
    });
    entries.collect()
}

fn packed(path: &Path, entries: &[Entry]) {
    let mut tar = tar::Builder::new(zstd::Encoder::new(fs::File::create(path).unwrap(), 3).unwrap());
    for (name, entry_type, bytes) in entries {
        let mut header = Header::new_ustar();
        // As bytes: names that the library would refuse to write.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*entry_type);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, bytes.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

#[test]
fn what_was_written_is_read_and_the_same_files_give_the_same_bytes() {
    for signed in [false, true] {
        let (_folder, path) = bundle(signed);
        let (_other, again) = bundle(signed);
        assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
        assert!(is_bundle(&path).unwrap());
        let (unpacked, into) = read(&path, signed.then_some(PUBLIC)).unwrap();
        assert_eq!(matches!(unpacked.signature, SignatureCheck::Right(_)), signed, "{:?}", unpacked.signature);
        let names: Vec<&str> = unpacked.manifest.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["run/events/calls-0000.parquet", "run/run.json", "run/stderr.txt", "run/stdout.txt"]);
        for Source { name, content } in sources() {
            let Content::Given(bytes) = content else { panic!("given") };
            assert_eq!(fs::read(into.path().join(name)).unwrap(), bytes);
        }
    }
    let (_folder, path) = bundle(true);
    assert_eq!(read(&path, None).unwrap().0.signature, SignatureCheck::NotChecked);
}

#[test]
fn the_manifest_is_what_its_schema_says() {
    let schema = serde_json::from_str(include_str!("../../../docs/bundle.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut redacted = described();
    redacted.redacted = Some(Default::default());
    for described in [described(), redacted] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        write(&path, false, described, sources(), None).unwrap();
        let (name, _, bytes) = entries(&path).swap_remove(0);
        assert_eq!(name, "bundle.json");
        let document = serde_json::from_slice(&bytes).unwrap();
        let faults: Vec<String> = schema.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

#[test]
fn nothing_is_overwritten_unasked_and_nothing_half_written_stays() {
    let (folder, path) = bundle(false);
    let before = fs::read(&path).unwrap();
    let error = write(&path, false, described(), Vec::new(), None).unwrap_err();
    assert!(matches!(error, BundleError::Exists { .. }), "{error:?}");
    // A dangling link counts as something, too.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    assert!(matches!(write(&link, false, described(), sources(), None), Err(BundleError::Exists { .. })));
    fs::remove_file(link).unwrap();

    let gone = Source { name: "run/x".to_owned(), content: Content::Stored(stored(folder.path().join("gone"), None)) };
    let error = write(&path, true, described(), vec![gone], None).unwrap_err();
    assert!(matches!(error, BundleError::Read { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // A file that is not what its owner checked.
    fs::write(folder.path().join("file"), "changed").unwrap();
    let changed = Content::Stored(stored(folder.path().join("file"), Some("0".repeat(64))));
    let changed = Source { name: "run/x".to_owned(), content: changed };
    let error = write(&path, true, described(), vec![changed], None).unwrap_err();
    assert!(matches!(error, BundleError::Changed { .. }), "{error:?}");
    fs::remove_file(folder.path().join("file")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    write(&path, true, described(), Vec::new(), None).unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let outside = Source { name: "../x".to_owned(), content: Content::Given(Vec::new()) };
    assert!(matches!(write(&path, true, described(), vec![outside], None), Err(BundleError::Name { .. })));
}

#[test]
fn a_byte_changed_in_any_file_is_named() {
    let (folder, path) = bundle(true);
    let whole = entries(&path);
    let changed = folder.path().join("changed");
    for number in 0..whole.len() {
        let (name, _, bytes) = &whole[number];
        if bytes.is_empty() {
            continue;
        }
        let mut entries = whole.clone();
        let at = bytes.len() / 2;
        entries[number].2[at] ^= 1;
        packed(&changed, &entries);
        let found = faults(&changed, Limits::default(), Some(PUBLIC));
        let said: Vec<String> = found.iter().map(Fault::to_string).collect();
        let names_it = said.iter().all(|fault| fault.contains(name.as_str()));
        assert!(names_it, "{name}: {said:?}");
    }
}

#[test]
fn each_kind_of_damage_is_named() {
    let (folder, path) = bundle(true);
    let whole = entries(&path);
    let changed = folder.path().join("changed");
    let file = |name: &str| (name.to_owned(), EntryType::Regular, b"x".to_vec());
    let with = |more: Entry| [whole.clone(), vec![more]].concat();
    let of_type = |entry_type| with(("run/link".to_owned(), entry_type, Vec::new()));
    let without = |name: &str| whole.iter().filter(|entry| entry.0 != name).cloned().collect::<Vec<_>>();
    let doubled = whole[3].clone();
    let cases: Vec<(Vec<Entry>, &str)> = vec![
        (with(file("run/more.txt")), "\"run/more.txt\" is in the archive though bundle.json does not list it"),
        (with(file("bundle.json")), "\"bundle.json\" is in the archive though"),
        (with(file("statement.dsse.json")), "\"statement.dsse.json\" is in the archive though"),
        (with(file("../outside")), "\"../outside\" leads out of"),
        (with(file("run/../../outside")), "leads out of"),
        (with(file("/tmp/outside")), "\"/tmp/outside\" leads out of"),
        (with(file("run/\u{1b}[2J")), r#""run/\u{1b}[2J" leads out of"#),
        (with(doubled), "is in the archive twice"),
        (of_type(EntryType::Symlink), "is not a regular file but a symbolic link"),
        (of_type(EntryType::Link), "a hard link"),
        (of_type(EntryType::Directory), "a directory"),
        (of_type(EntryType::Char), "a device"),
        (of_type(EntryType::Fifo), "a pipe"),
        (of_type(EntryType::GNULongName), "an entry of type 0x4c"),
        (of_type(EntryType::XHeader), "an entry of type 0x78"),
        (of_type(EntryType::GNUSparse), "an entry of type 0x53"),
        (without("run/stdout.txt"), "\"run/stdout.txt\" is missing"),
        (without("statement.dsse.json"), "it is not signed"),
        (without("bundle.json"), "it begins with \"statement.dsse.json\""),
        (whole[..1].to_vec(), "it is not signed"),
        (Vec::new(), "it is empty"),
    ];
    for (entries, expected) in cases {
        packed(&changed, &entries);
        let said: Vec<String> =
            faults(&changed, Limits::default(), Some(PUBLIC)).iter().map(Fault::to_string).collect();
        assert!(said.iter().any(|fault| fault.contains(expected)), "{expected}: {said:?}");
    }
}

#[test]
fn a_signature_is_that_of_the_key_and_of_these_files() {
    let (folder, path) = bundle(true);
    let said = |path: &Path, key| faults(path, Limits::default(), key)[0].to_string();
    assert!(said(&path, Some(OTHER)).contains("not right under the key"));
    let (_other, unsigned) = bundle(false);
    assert!(said(&unsigned, Some(PUBLIC)).contains("it is not signed"));

    // A whole bundle of other files, with this one's statement.
    let mut foreign = entries(&unsigned);
    let manifest = String::from_utf8(foreign[0].2.clone()).unwrap().replace("\"discrepancy\"", "\"verified\"");
    foreign[0].2 = manifest.into_bytes();
    foreign.insert(1, entries(&path)[1].clone());
    let changed = folder.path().join("changed");
    packed(&changed, &foreign);
    for key in [None, Some(PUBLIC)] {
        assert!(said(&changed, key).contains("another \"bundle.json\""), "{}", said(&changed, key));
    }
}

#[test]
fn what_would_unpack_to_too_much_is_refused() {
    let (folder, path) = bundle(false);
    let small = Limits { unpacked_bytes: 1_000, ..Limits::default() };
    let said = faults(&path, small, None)[0].to_string();
    assert!(said.contains("more than the limit of 1000 bytes"), "{said}");

    // It says that it is small and is not: neither unpacked nor read to its end.
    let bomb = folder.path().join("bomb");
    let mut entries = entries(&path);
    entries[1].2 = vec![0; 64 << 20];
    packed(&bomb, &entries);
    assert!(fs::metadata(&bomb).unwrap().len() < 64 << 10);
    let limits = Limits { unpacked_bytes: 1 << 20, ..Limits::default() };
    let said: Vec<String> = faults(&bomb, limits, None).iter().map(Fault::to_string).collect();
    assert!(said.iter().any(|fault| fault.contains("more than the limit of 1048576 bytes")), "{said:?}");

    // It says that it is large.
    entries.truncate(1);
    let text = String::from_utf8(entries[0].2.clone()).unwrap();
    entries[0].2 = text.replace("\"bytes\": 1000", "\"bytes\": 18446744073709551615").into_bytes();
    packed(&bomb, &entries);
    let said = faults(&bomb, Limits::default(), None)[0].to_string();
    assert!(said.contains("its manifest says 18446744073709551615"), "{said}");

    let few = Limits { files: 2, ..Limits::default() };
    assert_eq!(faults(&path, few, None), [Fault::TooMany { limit: 2 }]);
}

#[test]
fn another_version_is_named() {
    let (folder, path) = bundle(false);
    let changed = folder.path().join("changed");
    packed(
        &changed,
        &[("bundle.json".to_owned(), EntryType::Regular, b"{\"schema\":\"activebench.bundle/9\"}".to_vec())],
    );
    assert_eq!(faults(&changed, Limits::default(), None), [Fault::Schema { found: "activebench.bundle/9".to_owned() }]);
    drop(path);
}

#[test]
fn an_archive_cut_anywhere_is_damaged() {
    let (folder, path) = bundle(true);
    let whole = fs::read(&path).unwrap();
    let cut = folder.path().join("cut");
    for length in (0..whole.len()).step_by(7).chain(whole.len() - 8..whole.len()) {
        fs::write(&cut, &whole[..length]).unwrap();
        faults(&cut, Limits::default(), None);
    }
    for behind in [&b"x"[..], &[0; 600], &whole, &[0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7]] {
        let mut file = fs::File::create(&cut).unwrap();
        file.write_all(&whole).unwrap();
        file.write_all(behind).unwrap();
        let said = faults(&cut, Limits::default(), None)[0].to_string();
        assert!(said.contains("bytes follow the end of the compressed data"), "{said}");
    }
}

#[test]
fn a_byte_changed_anywhere_in_the_archive_changes_no_content_unseen() {
    let (folder, path) = bundle(true);
    let whole = fs::read(&path).unwrap();
    let changed = folder.path().join("changed");
    let tar = zstd::decode_all(whole.as_slice()).unwrap();
    let mut unseen = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&changed, &bytes).unwrap();
        if read(&changed, Some(PUBLIC)).is_ok() {
            // zstd can say a few things in two ways (a bit of the frame header without a meaning, the size of the
            // window, bits that pad a table): then every byte of every file is the same.
            assert_eq!(zstd::decode_all(bytes.as_slice()).unwrap(), tar, "{at}");
            unseen += 1;
        }
    }
    assert!(unseen < whole.len() / 50, "{unseen}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_no_bundle(bytes in vec(any::<u8>(), 0..2_000)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any");
        fs::write(&path, &bytes).unwrap();
        prop_assert!(read(&path, None).is_err());
    }

    #[test]
    fn any_bytes_as_a_tar_are_none_either(bytes in vec(any::<u8>(), 0..3_000), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let (folder, good) = bundle(true);
        let path = folder.path().join("any");
        fs::write(&path, zstd::encode_all(bytes.as_slice(), 1).unwrap()).unwrap();
        prop_assert!(read(&path, None).is_err());
        // The tar of a good one with a few bytes changed: read or refused, but never something else.
        let mut tar = zstd::decode_all(fs::File::open(good).unwrap()).unwrap();
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
        }
        fs::write(&path, zstd::encode_all(tar.as_slice(), 1).unwrap()).unwrap();
        if let Ok((_, into)) = read(&path, Some(PUBLIC)) {
            for Source { name, content } in sources() {
                let Content::Given(bytes) = content else { panic!("given") };
                prop_assert_eq!(fs::read(into.path().join(name)).unwrap(), bytes);
            }
        }
    }
}
