//! A table of TOML, read field by field. Faults are collected, so that the user sees all of them at once.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Fault;

/// How alike a name must be to be what was meant; `tolerence` and `tolerance` are by 0.97.
const ALIKE: f64 = 0.8;

/// A value with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// The bytes of the file.
    pub span: Range<usize>,
}

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(super) struct Faulty(RefCell<Vec<Fault>>);

impl Faulty {
    pub(super) fn add(&self, span: &Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.0.borrow_mut().push(Fault::new(span.clone(), message, hint));
    }

    pub(super) fn into_inner(self) -> Vec<Fault> {
        self.0.into_inner()
    }
}

/// One table, and which fields of it were asked for.
pub(super) struct Fields<'a> {
    /// As a person finds it: `[[limit]]`.
    pub(super) name: &'a str,
    pub(super) span: Range<usize>,
    table: &'a DeTable<'a>,
    faulty: &'a Faulty,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(name: &'a str, table: &'a DeTable<'a>, span: Range<usize>, faulty: &'a Faulty) -> Self {
        Self { name, span, table, faulty, known: RefCell::default() }
    }

    fn get(&self, field: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.borrow_mut().push(field);
        self.table.get(field)
    }

    /// Returns `true` if the file has the field.
    pub(super) fn has(&self, field: &str) -> bool {
        self.table.get(field).is_some()
    }

    /// Says that a field is not there.
    pub(super) fn missing(&self, field: &str, hint: &str) {
        self.faulty.add(&self.span, format!("{} has no `{field}`", self.name), hint);
    }

    fn is_no(&self, field: &str, found: &Spanned<DeValue<'_>>, wanted: &str, hint: &str) {
        let message = format!("`{field}` is a TOML {}, not {wanted}", found.get_ref().type_str());
        self.faulty.add(&found.span(), message, hint);
    }

    /// A text that is not empty.
    pub(super) fn text(&self, field: &'static str, hint: &str) -> Option<Placed<String>> {
        let found = self.get(field)?;
        match found.get_ref() {
            DeValue::String(text) if text.trim().is_empty() => {
                self.faulty.add(&found.span(), format!("`{field}` is empty"), hint);
                None
            }
            DeValue::String(text) => Some(Placed { value: text.to_string(), span: found.span() }),
            _ => {
                self.is_no(field, found, "a text in quotes", hint);
                None
            }
        }
    }

    /// The same, which must be there.
    pub(super) fn required(&self, field: &'static str, hint: &str) -> Option<Placed<String>> {
        if self.table.get(field).is_none() {
            self.missing(field, hint);
        }
        self.text(field, hint)
    }

    /// A text or a date without quotes.
    pub(super) fn text_or_date(&self, field: &'static str, hint: &str) -> Option<String> {
        match self.get(field).map(Spanned::get_ref) {
            Some(DeValue::Datetime(date)) => Some(date.to_string()),
            _ => self.text(field, hint).map(|text| text.value),
        }
    }

    pub(super) fn flag(&self, field: &'static str) -> Option<bool> {
        let found = self.get(field)?;
        let flag = found.get_ref().as_bool();
        if flag.is_none() {
            self.is_no(field, found, "true or false", "write it without quotes");
        }
        flag
    }

    /// A whole number in a range.
    pub(super) fn number(&self, field: &'static str, range: std::ops::RangeInclusive<u32>) -> Option<Placed<u32>> {
        let found = self.get(field)?;
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(integer) = found.get_ref() else {
            self.is_no(field, found, &wanted, "write it without quotes");
            return None;
        };
        let number =
            u32::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| range.contains(number));
        if number.is_none() {
            self.faulty.add(&found.span(), format!("`{field}` is not {wanted}"), "");
        }
        Some(Placed { value: number?, span: found.span() })
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&self, field: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let hint = format!("one of {}", listed(&names));
        let text = self.text(field, &hint)?;
        let chosen = choices.iter().find(|(name, _)| *name == text.value);
        if chosen.is_none() {
            let hint = alike(&text.value, &names).map_or(hint, |name| format!("did you mean \"{name}\"?"));
            self.faulty.add(&text.span, format!("`{field}` cannot be {:?}", text.value), hint);
        }
        chosen.map(|(_, value)| *value)
    }

    /// A list of texts.
    pub(super) fn words(&self, field: &'static str, hint: &str) -> Option<Vec<Placed<String>>> {
        let Some(found) = self.get(field) else {
            self.missing(field, hint);
            return None;
        };
        let Some(list) = found.get_ref().as_array() else {
            self.is_no(field, found, "a list of words", hint);
            return None;
        };
        if list.is_empty() {
            self.faulty.add(&found.span(), format!("`{field}` is empty"), hint);
            return None;
        }
        let mut words = Vec::new();
        for word in list.iter() {
            match word.get_ref().as_str() {
                Some(text) => words.push(Placed { value: text.to_owned(), span: word.span() }),
                None => self.is_no(field, word, "a word in quotes", hint),
            }
        }
        Some(words)
    }

    /// A table inside, under its own name.
    pub(super) fn table(&self, field: &'static str, name: &'a str) -> Option<Fields<'a>> {
        let found = self.get(field)?;
        match found.get_ref() {
            DeValue::Table(table) => Some(Fields::new(name, table, found.span(), self.faulty)),
            _ => {
                self.is_no(field, found, "a table", &format!("write {name} on a line of its own"));
                None
            }
        }
    }

    /// Tables inside, one behind the other.
    pub(super) fn tables(&self, field: &'static str, name: &'a str) -> Vec<Fields<'a>> {
        let Some(found) = self.get(field) else { return Vec::new() };
        let hint = format!("write {name} above each");
        let Some(list) = found.get_ref().as_array() else {
            self.is_no(field, found, "a list of tables", &hint);
            return Vec::new();
        };
        let fields = |entry: &'a Spanned<DeValue<'a>>| match entry.get_ref() {
            DeValue::Table(table) => Some(Fields::new(name, table, entry.span(), self.faulty)),
            _ => {
                self.is_no(field, entry, "a table", &hint);
                None
            }
        };
        list.iter().filter_map(fields).collect()
    }

    /// Every field with a text, whatever its name.
    pub(super) fn all_texts(&self, hint: &str) -> Vec<(Placed<String>, Placed<String>)> {
        let mut texts = Vec::new();
        for (key, value) in self.table {
            let name = Placed { value: key.get_ref().to_string(), span: key.span() };
            match value.get_ref().as_str() {
                Some(text) => texts.push((name, Placed { value: text.to_owned(), span: value.span() })),
                None => self.is_no(key.get_ref(), value, "a text in quotes", hint),
            }
        }
        texts
    }

    /// Says which fields nobody asked for.
    pub(super) fn finish(self) {
        let known = self.known.into_inner();
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let hint = match alike(key.get_ref(), &known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("{} has {}", self.name, listed(&known)),
            };
            self.faulty.add(&key.span(), format!("{} has no field `{}`", self.name, key.get_ref()), hint);
        }
    }
}

/// The name that was meant; `None` where none is near.
pub fn alike<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let likeness = |name: &&str| strsim::jaro_winkler(text, name);
    let nearest = names.iter().copied().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(&nearest) >= ALIKE).then_some(nearest)
}

/// Names for a person.
pub fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
