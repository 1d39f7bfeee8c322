//! The part of Thrift's compact protocol in which Parquet writes its descriptions.
//!
//! Reads any bytes: lengths are compared with what is left before memory is taken, and the number of values is bounded.
//! Source: `doc/specs/thrift-compact-protocol.md` of apache/thrift.

/// Maximum nesting: Parquet's own has five levels.
const DEEPEST: u32 = 8;

/// A value. Maps, sets and doubles are not in Parquet's descriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Bool(bool),
    Byte(u8),
    /// Of 16, 32 or 64 bits: all are written alike.
    Int(i64),
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    Struct(Fields<'a>),
}

/// The fields of a structure, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(i16, Value<'a>)>);

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, id: i16) -> Option<&Value<'a>> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, value)| value)
    }

    /// Returns a number; `None` if there is no such field, or it is not a number.
    pub(crate) fn int(&self, id: i16) -> Option<i64> {
        match self.get(id) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns a number that is not negative.
    pub(crate) fn count(&self, id: i16) -> Option<u64> {
        u64::try_from(self.int(id)?).ok()
    }

    pub(crate) fn list(&self, id: i16) -> Option<&[Value<'a>]> {
        match self.get(id) {
            Some(Value::List(values)) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn fields(&self, id: i16) -> Option<&Fields<'a>> {
        match self.get(id) {
            Some(Value::Struct(fields)) => Some(fields),
            _ => None,
        }
    }
}

/// Reads a structure from the front of the bytes, of at most `values` values. Returns it with the bytes that it takes;
/// `None` if it is not one.
pub(crate) fn read(bytes: &[u8], values: u32) -> Option<(Fields<'_>, usize)> {
    let mut reader = Reader { rest: bytes, values };
    let fields = reader.fields(0)?;
    Some((fields, bytes.len() - reader.rest.len()))
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Values that may still be read.
    values: u32,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn fields(&mut self, depth: u32) -> Option<Fields<'a>> {
        let mut fields = Vec::new();
        let mut last = 0_i16;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == 0 {
                // Any other first half is not what a writer makes.
                return (header == 0).then_some(Fields(fields));
            }
            let id = match header >> 4 {
                0 => i16::try_from(self.signed()?).ok()?,
                step => last.checked_add(i16::from(step))?,
            };
            // Ascending, so that no field is there twice.
            if id <= last {
                return None;
            }
            last = id;
            let value = match kind {
                1 | 2 => Value::Bool(kind == 1),
                _ => self.value(kind, depth)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<Value<'a>> {
        self.values = self.values.checked_sub(1)?;
        match kind {
            3 => self.byte().map(Value::Byte),
            4..=6 => self.signed().map(Value::Int),
            8 => {
                let length = self.unsigned()?;
                self.bytes(length).map(Value::Bytes)
            }
            9 if depth < DEEPEST => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.unsigned()?,
                    few => u64::from(few),
                };
                // Each value takes a byte at least.
                if count > self.rest.len() as u64 || count > u64::from(self.values) {
                    return None;
                }
                (0..count).map(|_| self.value(header & 0x0f, depth + 1)).collect::<Option<_>>().map(Value::List)
            }
            12 if depth < DEEPEST => self.fields(depth + 1).map(Value::Struct),
            _ => None,
        }
    }
}

/// Appends a structure.
pub(crate) fn write(fields: &Fields<'_>, to: &mut Vec<u8>) {
    let mut last = 0;
    for (id, value) in &fields.0 {
        let kind = match value {
            Value::Bool(true) => 1,
            Value::Bool(false) => 2,
            other => kind_of(other),
        };
        match id - last {
            step @ 1..=15 => to.push((step as u8) << 4 | kind),
            _ => {
                to.push(kind);
                write_signed(i64::from(*id), to);
            }
        }
        last = *id;
        if !matches!(value, Value::Bool(_)) {
            write_value(value, to);
        }
    }
    to.push(0);
}

/// Returns the number of a value's kind. 64 bits stand for all widths, except where a reader looks at the width of a
/// list's elements: Parquet's lists of numbers are not written here.
fn kind_of(value: &Value<'_>) -> u8 {
    match value {
        Value::Bool(_) => 2,
        Value::Byte(_) => 3,
        Value::Int(_) => 6,
        Value::Bytes(_) => 8,
        Value::List(_) => 9,
        Value::Struct(_) => 12,
    }
}

fn write_value(value: &Value<'_>, to: &mut Vec<u8>) {
    match value {
        Value::Bool(value) => to.push(if *value { 1 } else { 2 }),
        Value::Byte(byte) => to.push(*byte),
        Value::Int(value) => write_signed(*value, to),
        Value::Bytes(bytes) => {
            write_unsigned(bytes.len() as u64, to);
            to.extend_from_slice(bytes);
        }
        Value::List(values) => {
            let kind = values.first().map_or(12, kind_of);
            to.push(0xf0 | kind);
            write_unsigned(values.len() as u64, to);
            values.iter().for_each(|value| write_value(value, to));
        }
        Value::Struct(fields) => write(fields, to),
    }
}

fn write_unsigned(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn write_signed(value: i64, to: &mut Vec<u8>) {
    write_unsigned((value << 1 ^ value >> 63) as u64, to);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let fields = Fields(vec![
            (1, Value::Int(i64::MIN)),
            (3, Value::Bool(false)),
            (4, Value::Bytes(b"name")),
            (40, Value::List(vec![Value::Int(-1), Value::Int(i64::MAX)])),
            (41, Value::List(vec![Value::Struct(Fields(vec![(2, Value::Byte(7))])); 20])),
        ]);
        let mut bytes = Vec::new();
        write(&fields, &mut bytes);
        assert_eq!(read(&bytes, 100), Some((fields, bytes.len())));
        assert_eq!(read(&bytes, 40), None, "more values than allowed");
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length], 100), None, "{length}");
        }
    }

    #[test]
    fn a_stated_length_takes_no_memory() {
        // A list of 2^31 structures, bytes of 2^62, fields that go back, and structures without an end.
        for bytes in [
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x00][..],
            &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x00],
            &[0x26, 0x02, 0x06, 0x02, 0x02, 0x00],
            &[0x1c; 64],
            &[0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00],
        ] {
            assert_eq!(read(bytes, 1 << 16), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Some((fields, length)) = read(&bytes, 1 << 10) {
                prop_assert!(length <= bytes.len());
                let mut again = Vec::new();
                write(&fields, &mut again);
                prop_assert_eq!(read(&again, 1 << 11).map(|(fields, _)| fields), Some(fields));
            }
        }
    }
}
