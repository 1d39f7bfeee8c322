//! Reads the cases below `fixtures/detectors/` (its README says how they are written).

use std::path::{Path, PathBuf};

use activebench_detect::run::Run;
use activebench_detect::thresholds::Thresholds;
use activebench_model::claim::Parsed;
use activebench_model::fact::{Completeness, Fact, FactName, Facts, Scope};
use activebench_model::phase::Phase;
use activebench_model::run::Manifest;
use activebench_model::thread_stacks::Profiles;
use activebench_model::units::Quantity;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A stored run, owned.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) says: String,
    pub(crate) manifest: Manifest,
    pub(crate) parsed: Parsed,
    pub(crate) phases: Vec<Phase>,
    pub(crate) facts: Facts,
    pub(crate) profiles: Profiles,
    pub(crate) thresholds: Thresholds,
}

impl Stored {
    pub(crate) fn run(&self) -> Run<'_> {
        Run {
            manifest: &self.manifest,
            parsed: &self.parsed,
            phases: &self.phases,
            facts: &self.facts,
            profiles: &self.profiles,
            thresholds: &self.thresholds,
            advisor: activebench_tools::advisor_of(&self.parsed.tool),
            // Tests change the facts between two judgements: each has its own figures.
            index: Box::leak(Box::default()),
            part: None,
        }
    }

    /// The run under another profile.
    pub(crate) fn under(mut self, profile: &str) -> Self {
        self.thresholds = Thresholds::profile(profile).expect("the profile exists");
        self
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/detectors")
}

/// The JSON files of a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = serde_json::Deserializer::from_str(&text);
    let read = Once.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let Some(other) = value.get("same_as") else { return value };
    assert_eq!(value.as_object().map(Map::len), Some(1), "{}: keys beside same_as", path.display());
    self::read(&fixtures().join(other.as_str().expect("same_as is a path below fixtures/detectors")))
}

/// JSON in which each key of an object appears once: of two, serde_json would silently take the last.
#[derive(Clone, Copy)]
struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!("{key:?} stands there twice")));
            }
            fields.insert(key, value);
        }
        Ok(fields.into())
    }
}

pub(crate) fn honest(name: &str) -> Stored {
    build(read(&fixtures().join(format!("honest/{name}.json"))))
}

/// An honest run, changed as a case says.
pub(crate) fn changed(base: &str, case: &Value) -> Stored {
    build(apply(read(&fixtures().join(format!("honest/{base}.json"))), case))
}

pub(crate) fn case(path: &Path) -> Stored {
    let case = read(path);
    let base = case["base"].as_str().unwrap_or_else(|| panic!("{}: no base", path.display()));
    changed(base, &case)
}

/// JSON merge patch, RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let fields = target.as_object_mut().expect("it was made one");
    for (key, change) in changes {
        match change {
            Value::Null => drop(fields.remove(key)),
            _ => merge(fields.entry(key.clone()).or_insert(Value::Null), change),
        }
    }
}

fn apply(mut run: Value, case: &Value) -> Value {
    if let Some(change) = case.get("before") {
        let mut before = run["phases"][0].clone();
        merge(&mut before, change);
        run["phases"].as_array_mut().expect("phases are a list").push(before);
    }
    for (key, change) in case.as_object().expect("a case is an object") {
        match key.as_str() {
            "base" | "before" => {}
            "says" | "run_facts" | "thresholds" => run[key] = change.clone(),
            "manifest" | "parsed" => merge(&mut run[key], change),
            "phase" => merge(&mut run["phases"][0], change),
            "facts" => merge(&mut run["phases"][0]["facts"], change),
            "target" => merge(&mut run["manifest"]["host"]["targets"][0], change),
            "layer" => merge(&mut run["manifest"]["host"]["targets"][0]["layers"][0], change),
            "claims" => {
                for (index, patch) in change.as_array().expect("a list").iter().enumerate() {
                    merge(&mut run["parsed"]["claims"][index], patch);
                }
            }
            other => panic!("a case has no key {other:?}"),
        }
    }
    run
}

fn facts(short: &Value) -> Facts {
    let mut facts = Facts::default();
    for (key, value) in short.as_object().into_iter().flatten() {
        let name = FactName::ALL.iter().find(|name| name.as_str() == key);
        let name = *name.unwrap_or_else(|| panic!("there is no fact {key:?}"));
        let quantity = |value: f64| Quantity { value, unit: name.unit() };
        let fact = match (value.as_f64(), value["missing"].as_str(), value["partial"].as_str()) {
            (Some(number), _, _) => Fact::complete(quantity(number), Scope::Tree, "test"),
            (_, Some(why), _) => Fact::missing(why, Scope::Tree, "test"),
            (_, _, Some(lost)) => Fact {
                completeness: Completeness::Partial(lost.to_owned()),
                ..Fact::complete(quantity(value["value"].as_f64().expect("a number")), Scope::Tree, "test")
            },
            _ => panic!("{key}: {value} is not a fact"),
        };
        facts.insert(name, fact);
    }
    facts
}

fn build(mut run: Value) -> Stored {
    fn typed<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("the case fits the model")
    }
    let mut phases = Vec::new();
    for phase in run["phases"].as_array_mut().expect("phases are a list") {
        let short = phase["facts"].take();
        phase["facts"] = Value::Object(Map::new());
        let mut phase: Phase = typed(phase.clone());
        phase.facts = facts(&short);
        phases.push(phase);
    }
    let manifest: Manifest = typed(run["manifest"].take());
    let mut thresholds = Thresholds::profile(&manifest.choices.profile).expect("the profile exists");
    for (name, value) in run["thresholds"].as_object().into_iter().flatten() {
        thresholds = thresholds.overridden(&format!("{name} = {value}"), "limits.toml").expect("a threshold");
    }
    Stored {
        says: run["says"].as_str().expect("a case says what it is").to_owned(),
        parsed: typed(run["parsed"].take()),
        phases,
        facts: facts(&run["run_facts"]),
        profiles: Profiles::default(),
        thresholds,
        manifest,
    }
}

/// The file's name without its ending.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}
