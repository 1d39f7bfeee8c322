//! Values in columns, for formats that programs read: CSV, Parquet.

/// Rows of values of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, all of one length.
    pub columns: Vec<Column>,
}

/// Description of a column. The same for every format of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnAbout {
    /// `start_ns`.
    pub name: String,
    /// Unit of the numbers; empty where values are no numbers, and where another column states it.
    pub unit: &'static str,
    /// Sentences: what a value is, and when it is missing.
    pub meaning: String,
    /// All words that a value can be; empty for numbers and for text of any kind.
    pub words: Vec<&'static str>,
}

impl ColumnAbout {
    /// A column without a list of words.
    pub fn new(name: &str, unit: &'static str, meaning: &str) -> Self {
        Self { name: name.to_owned(), unit, meaning: meaning.to_owned(), words: Vec::new() }
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, unit and meaning.
    pub about: ColumnAbout,
    /// One value per row.
    pub values: Values,
}

/// The values of a column; `None` is a missing value, not zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<u64>>),
    /// Whole numbers that may be below 0.
    Signed(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Raw text; the code that writes it escapes it.
    Texts(Vec<Option<String>>),
}

impl Values {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Integers(values) => values.len(),
            Values::Signed(values) => values.len(),
            Values::Numbers(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// Returns `true` when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
