//! Values that a table keeps as words: enumerations, flags, errors, devices. A person reads them without a list of codes,
//! and a dictionary in each file keeps them as small as numbers.
//!
//! Runs of format 1 have numbers in their place, in columns of other names or of the same name. Each is read by what the
//! file has.

use std::collections::HashMap;
use std::hash::Hash;

use activebench_model::call::{DeviceNumber, FileKind, Op, open_bits};
use activebench_model::errno::{error_name, error_number, signal_name, signal_number};
use activebench_model::event::{
    BlockAction, BlockEventKind, FuseOperation, Origin, TaskEvent, TaskEventKind, ThreadState,
};

use crate::columns::{About, ColumnsIn, ColumnsOut, Described, Optional, OrNull, Stored};
use crate::error::RecordError;

/// Stores an enumeration as its words. The codes are those of format 1.
macro_rules! words {
    ($($type:ty: $all:expr, $word:expr, $of_code:expr;)*) => {
        $(
            impl Stored for $type {
                fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
                    let word: fn(Self) -> &'static str = $word;
                    columns.texts(name, rows.iter().map(|row| Some(word(*value(row)))));
                }

                fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
                    let word: fn(Self) -> &'static str = $word;
                    let of_code: fn(u32) -> Option<Self> = $of_code;
                    match columns.has(name) {
                        true => columns.worded_whole(name, |text| $all.iter().copied().find(|of| word(*of) == text)),
                        false => columns.coded(&earlier(name), of_code),
                    }
                }

                fn describe(name: &str, about: About, into: &mut Vec<Described>) {
                    let word: fn(Self) -> &'static str = $word;
                    let mut column = about.column(name);
                    column.about.words = $all.iter().map(|of| word(*of)).collect();
                    column.earlier = Some(earlier(name));
                    into.push(column);
                }
            }
        )*
    };
}

/// Returns the name that a column of words had in format 1, when it held codes.
fn earlier(name: &str) -> String {
    format!("{name}_code")
}

/// As [`words`], for an enumeration that has no list of its own. Codes are never reused.
macro_rules! listed {
    ($($type:ident { $($variant:ident = $code:literal, $word:literal;)* })*) => {
        words! {
            $(
                $type: [$($type::$variant,)*],
                |value| match value { $($type::$variant => $word,)* },
                |code| match code { $($code => Some($type::$variant),)* _ => None };
            )*
        }
    };
}

words! {
    Op: Op::ALL, Op::name, |code| Op::from_code(u16::try_from(code).ok()?);
    FuseOperation: FuseOperation::ALL, FuseOperation::word, |code| Some(FuseOperation::of_code(code));
}

listed! {
    FileKind { Other = 0, "other"; Regular = 1, "regular"; BlockDevice = 2, "block-device"; }
    TaskEventKind { Born = 1, "born"; Executed = 2, "executed"; Exited = 3, "exited"; }
    BlockEventKind { Queued = 1, "queued"; Completed = 2, "completed"; Inferred = 3, "inferred"; }
    BlockAction { Read = 0, "read"; Write = 1, "write"; Flush = 2, "flush"; Discard = 3, "discard"; Other = 4, "other"; }
    Origin {
        Unknown = 0, "unknown";
        Tree = 1, "tree";
        Observer = 2, "observer";
        Kernel = 3, "kernel";
        Foreign = 4, "foreign";
    }
    ThreadState {
        User = 0, "user";
        Kernel = 1, "kernel";
        Blocked = 2, "blocked";
        IoWait = 3, "io-wait";
        Preempted = 4, "preempted";
        Stopped = 5, "stopped";
    }
}

/// Writes values that have a text each, made once for each distinct value of the rows.
fn write_texts<K: Copy + Eq + Hash>(
    columns: &mut ColumnsOut,
    name: &str,
    values: impl Iterator<Item = Option<K>>,
    text: impl Fn(K) -> String,
) {
    let (mut texts, mut places) = (Vec::new(), HashMap::new());
    // Equal values come in runs.
    let mut last: Option<(K, usize)> = None;
    let rows: Vec<Option<usize>> = values
        .map(|value| {
            let value = value?;
            let place = match last {
                Some((known, place)) if known == value => place,
                _ => *places.entry(value).or_insert_with(|| {
                    texts.push(text(value));
                    texts.len() - 1
                }),
            };
            last = Some((value, place));
            Some(place)
        })
        .collect();
    columns.texts(name, rows.iter().map(|place| place.map(|place| texts[place].as_str())));
}

impl Optional for DeviceNumber {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        write_texts(columns, name, rows.iter().map(|row| value(row).copied()), |device| device.to_string());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        match columns.is_text(name) {
            true => columns.worded(name, device_of),
            false => {
                let numbers = <u32 as Optional>::read(columns, name)?;
                Ok(numbers.into_iter().map(|number| number.map(DeviceNumber)).collect())
            }
        }
    }
}

impl Stored for DeviceNumber {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        <Self as Optional>::write(columns, name, rows, |row| Some(value(row)));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let missing = || columns.error(name, "a value is missing");
        <Self as Optional>::read(columns, name)?.into_iter().map(|device| device.ok_or_else(missing)).collect()
    }
}

fn device_of(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    let device = DeviceNumber::new(major.parse().ok().filter(|major| *major < 1 << 12)?, minor.parse().ok()?);
    (device.to_string() == text).then_some(device)
}

/// How a field is kept whose type does not say it.
pub(crate) trait Kept<Row, T> {
    /// The stored type.
    type As: Optional;

    /// Returns the stored value; `None` is null.
    fn kept(row: &Row, value: &T) -> Option<Self::As>;

    /// Returns the field of a stored value.
    fn field(kept: Option<Self::As>) -> T;

    /// Reads the fields.
    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<T>, RecordError> {
        Ok(<Self::As as Optional>::read(columns, name)?.into_iter().map(Self::field).collect())
    }
}

pub(crate) fn write_kept<C: Kept<Row, T>, Row, T, R>(
    columns: &mut ColumnsOut,
    name: &str,
    rows: &[R],
    row_of: impl Fn(&R) -> &Row,
    field: impl Fn(&Row) -> &T,
) {
    let kept: Vec<Option<C::As>> = rows.iter().map(&row_of).map(|row| C::kept(row, field(row))).collect();
    Optional::write(columns, name, &kept, |kept| kept.as_ref());
}

pub(crate) fn read_kept<C: Kept<Row, T>, Row, T>(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<T>, RecordError> {
    C::read(columns, name)
}

pub(crate) fn describe_kept<C: Kept<Row, T>, Row, T>(name: &str, about: About, into: &mut Vec<Described>) {
    <C::As as Optional>::describe(name, about, into);
}

/// Null for the -1 that stands for an unknown value in memory.
pub(crate) struct UnlessMinusOne;

impl<Row> Kept<Row, i64> for UnlessMinusOne {
    type As = i64;

    fn kept(_: &Row, value: &i64) -> Option<i64> {
        (*value != -1).then_some(*value)
    }

    fn field(kept: Option<i64>) -> i64 {
        kept.unwrap_or(-1)
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<i64>, RecordError> {
        i64::read_or(columns, name, -1)
    }
}

impl<Row> Kept<Row, i32> for UnlessMinusOne {
    type As = i32;

    fn kept(_: &Row, value: &i32) -> Option<i32> {
        (*value != -1).then_some(*value)
    }

    fn field(kept: Option<i32>) -> i32 {
        kept.unwrap_or(-1)
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<i32>, RecordError> {
        i32::read_or(columns, name, -1)
    }
}

/// Null for the 0 that stands for an unknown value in memory.
pub(crate) struct UnlessZero;

impl<Row> Kept<Row, u64> for UnlessZero {
    type As = u64;

    fn kept(_: &Row, value: &u64) -> Option<u64> {
        (*value != 0).then_some(*value)
    }

    fn field(kept: Option<u64>) -> u64 {
        kept.unwrap_or(0)
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<u64>, RecordError> {
        u64::read_or(columns, name, 0)
    }
}

impl<Row> Kept<Row, u32> for UnlessZero {
    type As = u32;

    fn kept(_: &Row, value: &u32) -> Option<u32> {
        (*value != 0).then_some(*value)
    }

    fn field(kept: Option<u32>) -> u32 {
        kept.unwrap_or(0)
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<u32>, RecordError> {
        u32::read_or(columns, name, 0)
    }
}

/// Null for the empty text that stands for no text in memory.
pub(crate) struct UnlessEmpty;

impl<Row> Kept<Row, String> for UnlessEmpty {
    type As = String;

    fn kept(_: &Row, value: &String) -> Option<String> {
        (!value.is_empty()).then(|| value.clone())
    }

    fn field(kept: Option<String>) -> String {
        kept.unwrap_or_default()
    }
}

/// Figures of a task at its end: null in events of other kinds.
pub(crate) struct AtExit;

impl Kept<TaskEvent, u64> for AtExit {
    type As = u64;

    fn kept(event: &TaskEvent, value: &u64) -> Option<u64> {
        (event.kind == TaskEventKind::Exited || *value != 0).then_some(*value)
    }

    fn field(kept: Option<u64>) -> u64 {
        kept.unwrap_or(0)
    }
}

impl Kept<TaskEvent, i32> for AtExit {
    type As = WaitStatus;

    fn kept(event: &TaskEvent, value: &i32) -> Option<WaitStatus> {
        (event.kind == TaskEventKind::Exited || *value != 0).then_some(WaitStatus(*value))
    }

    fn field(kept: Option<WaitStatus>) -> i32 {
        kept.map_or(0, |status| status.0)
    }
}

/// A value that is stored as text, and was a number in format 1.
trait Texted: Copy + Eq + Hash {
    /// The type of the number.
    type Number: Optional;
    /// The column's name in format 1, where it is another one.
    const EARLIER: Option<&'static str> = None;

    fn text(self) -> String;
    fn of_text(text: &str) -> Option<Self>;
    /// `None` is null.
    fn of_number(number: Self::Number) -> Option<Self>;
}

macro_rules! texted {
    ($($type:ty),*) => {
        $(
            impl Optional for $type {
                fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
                    write_texts(columns, name, rows.iter().map(|row| value(row).copied()), Texted::text);
                }

                fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
                    if columns.is_text(name) {
                        return columns.worded(name, Self::of_text);
                    }
                    let earlier = Self::EARLIER.filter(|_| !columns.has(name)).unwrap_or(name);
                    let numbers = <<Self as Texted>::Number as Optional>::read(columns, earlier)?;
                    Ok(numbers.into_iter().map(|number| Self::of_number(number?)).collect())
                }

                fn describe(name: &str, about: About, into: &mut Vec<Described>) {
                    into.push(Described { earlier: Self::EARLIER.map(str::to_owned), ..about.column(name) });
                }
            }
        )*
    };
}

texted! { OpenFlags, WaitStatus, BlockStatus }

/// The bits of [`open_bits`] as words: `direct+writable`; `none` without any.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OpenFlags(u32);

/// Words of [`open_bits`], by the bits.
const OPEN_FLAGS: &[(u32, &str)] = &[
    (open_bits::DIRECT, "direct"),
    (open_bits::SYNC, "sync"),
    (open_bits::DSYNC, "dsync"),
    (open_bits::APPEND, "append"),
    (open_bits::WRITABLE, "writable"),
    (open_bits::CREATE, "create"),
    (open_bits::TRUNCATE, "truncate"),
];

impl<Row> Kept<Row, u32> for OpenFlags {
    type As = OpenFlags;

    fn kept(_: &Row, value: &u32) -> Option<OpenFlags> {
        Some(OpenFlags(*value))
    }

    fn field(kept: Option<OpenFlags>) -> u32 {
        kept.map_or(0, |flags| flags.0)
    }
}

impl Texted for OpenFlags {
    type Number = u32;
    const EARLIER: Option<&'static str> = Some("open_flag_bits");

    fn text(self) -> String {
        let named = OPEN_FLAGS.iter().filter(|(bit, _)| self.0 & bit != 0);
        let mut words: Vec<String> = named.map(|(_, word)| (*word).to_owned()).collect();
        let others = OPEN_FLAGS.iter().fold(self.0, |rest, (bit, _)| rest & !bit);
        if others != 0 {
            words.push(format!("{others:#x}"));
        }
        if words.is_empty() { "none".to_owned() } else { words.join("+") }
    }

    fn of_text(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self(0));
        }
        let mut bits = 0;
        for word in text.split('+') {
            bits |= match OPEN_FLAGS.iter().find(|(_, known)| *known == word) {
                Some((bit, _)) => *bit,
                None => u32::from_str_radix(word.strip_prefix("0x")?, 16).ok()?,
            };
        }
        Some(Self(bits))
    }

    fn of_number(number: u32) -> Option<Self> {
        Some(Self(number))
    }
}

/// How a task ended: `exited 0`, `SIGKILL`, `SIGSEGV+core`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WaitStatus(i32);

/// Bit of a wait status: a core was written.
const CORE: i32 = 0x80;

impl Texted for WaitStatus {
    type Number = i32;

    fn text(self) -> String {
        let signal = self.0 & 0x7f;
        match self.0 {
            exited if exited & !0xff00 == 0 => format!("exited {}", exited >> 8),
            killed if killed & !(0x7f | CORE) == 0 => {
                let name = signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
                if killed & CORE != 0 { format!("{name}+core") } else { name }
            }
            other => format!("status {other}"),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<i32>().ok();
        if let Some(code) = number("exited ") {
            return (0..=0xff).contains(&code).then_some(Self(code << 8));
        }
        if let Some(status) = number("status ") {
            return Some(Self(status));
        }
        let (name, core) = text.strip_suffix("+core").map_or((text, 0), |name| (name, CORE));
        let unnamed = || name.strip_prefix("signal ")?.parse().ok().filter(|signal| (0..0x80).contains(signal));
        Some(Self(signal_number(name).or_else(unnamed)? | core))
    }

    fn of_number(number: i32) -> Option<Self> {
        Some(Self(number))
    }
}

/// The block layer's status of a request; null for success.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlockStatus(u8);

/// Names of the statuses, which are equal from Linux 5.15 to 6.12 (include/linux/blk_types.h). Higher ones differ.
const BLOCK_STATUSES: [&str; 13] = [
    "NOTSUPP",
    "TIMEOUT",
    "NOSPC",
    "TRANSPORT",
    "TARGET",
    "RESV_CONFLICT",
    "MEDIUM",
    "PROTECTION",
    "RESOURCE",
    "IOERR",
    "DM_REQUEUE",
    "AGAIN",
    "DEV_RESOURCE",
];

impl<Row> Kept<Row, u8> for BlockStatus {
    type As = BlockStatus;

    fn kept(_: &Row, value: &u8) -> Option<BlockStatus> {
        (*value != 0).then_some(BlockStatus(*value))
    }

    fn field(kept: Option<BlockStatus>) -> u8 {
        kept.map_or(0, |status| status.0)
    }
}

impl Texted for BlockStatus {
    type Number = u32;

    fn text(self) -> String {
        let name = usize::from(self.0).checked_sub(1).and_then(|place| BLOCK_STATUSES.get(place));
        name.map_or_else(|| format!("status {}", self.0), |name| format!("BLK_STS_{name}"))
    }

    fn of_text(text: &str) -> Option<Self> {
        let named = |name: &str| BLOCK_STATUSES.iter().position(|known| *known == name);
        let number = match text.strip_prefix("BLK_STS_") {
            Some(name) => u8::try_from(named(name)? + 1).ok()?,
            None => text.strip_prefix("status ")?.parse().ok()?,
        };
        Some(Self(number))
    }

    fn of_number(number: u32) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| *number != 0).map(Self)
    }
}

/// What a call returned: a number, or null and the error's name in a column of its own (`returned`, `error`). The sum of
/// a column is then that of what succeeded.
#[derive(Clone, Copy)]
pub(crate) struct Returned(i64);

/// Name of the column.
const ERROR: &str = "error";
/// The largest errno (`MAX_ERRNO`, include/linux/err.h of Linux 6.12).
const MAX_ERRNO: i64 = 4095;

impl<Row> Kept<Row, i64> for Returned {
    type As = Returned;

    fn kept(_: &Row, value: &i64) -> Option<Returned> {
        Some(Returned(*value))
    }

    fn field(kept: Option<Returned>) -> i64 {
        kept.map_or(0, |returned| returned.0)
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<i64>, RecordError> {
        match columns.has_value(ERROR) {
            // Format 1, or nothing failed.
            false => <i64 as Stored>::read(columns, name),
            true => Ok(<Returned as Optional>::read(columns, name)?
                .into_iter()
                .map(<Self as Kept<Row, i64>>::field)
                .collect()),
        }
    }
}

impl Returned {
    fn errno(self) -> Option<i32> {
        // In the range of an `i32`.
        (-MAX_ERRNO..0).contains(&self.0).then(|| -self.0 as i32)
    }

    fn errno_of(text: &str) -> Option<i32> {
        let unnamed = || text.strip_prefix("errno ")?.parse().ok();
        error_number(text).or_else(unnamed).filter(|number| (1..=MAX_ERRNO).contains(&i64::from(*number)))
    }
}

impl Optional for Returned {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        <i64 as Optional>::write(columns, name, rows, |row| {
            value(row).filter(|returned| returned.errno().is_none()).map(|returned| &returned.0)
        });
        let errors = rows.iter().map(|row| value(row)?.errno());
        let text = |errno| error_name(errno).map_or_else(|| format!("errno {errno}"), str::to_owned);
        write_texts(columns, ERROR, errors, text);
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        let returned = <i64 as Optional>::read(columns, name)?.into_iter();
        let errors = columns.worded(ERROR, Self::errno_of)?;
        returned
            .zip(errors)
            .map(|pair| match pair {
                (Some(returned), None) => Ok(Some(Self(returned))),
                (None, Some(errno)) => Ok(Some(Self(-i64::from(errno)))),
                _ => Err(columns.error(name, "a row needs a value here or in the column error, and not in both")),
            })
            .collect()
    }

    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        into.push(about.column(name));
        let meaning = "Name of the error; null where the call succeeded. `errno 512` for a number without a name.";
        into.push(About { unit: "", meaning }.column(ERROR));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_text_of_its_own_and_comes_back() {
        for bits in (0..1 << 9).chain([u32::MAX, 1 << 31]) {
            assert_eq!(OpenFlags::of_text(&OpenFlags(bits).text()).map(|flags| flags.0), Some(bits));
        }
        for status in (-70_000..70_000).chain([i32::MIN, i32::MAX]) {
            let text = WaitStatus(status).text();
            assert_eq!(WaitStatus::of_text(&text).map(|status| status.0), Some(status), "{text}");
        }
        for status in 1..=u8::MAX {
            assert_eq!(BlockStatus::of_text(&BlockStatus(status).text()).map(|status| status.0), Some(status));
        }
        for device in [0, 1, 0xf_ffff, 1 << 20, u32::MAX].map(DeviceNumber) {
            assert_eq!(device_of(&device.to_string()), Some(device));
        }
        for op in Op::ALL {
            assert!(Op::ALL.iter().filter(|other| other.name() == op.name()).count() == 1, "{op:?}");
        }
    }

    #[test]
    fn texts_say_it_in_words() {
        assert_eq!(OpenFlags(open_bits::DIRECT | open_bits::WRITABLE).text(), "direct+writable");
        assert_eq!((OpenFlags(0).text(), OpenFlags(1 << 8).text()), ("none".to_owned(), "0x100".to_owned()));
        for (status, text) in [(0, "exited 0"), (2 << 8, "exited 2"), (9, "SIGKILL"), (11 | CORE, "SIGSEGV+core")] {
            assert_eq!(WaitStatus(status).text(), text);
        }
        assert_eq!(BlockStatus(10).text(), "BLK_STS_IOERR");
        assert_eq!(DeviceNumber::new(259, 3).to_string(), "259:3");
    }

    #[test]
    fn what_nobody_writes_is_no_value() {
        assert!(OpenFlags::of_text("direct+swift").is_none() && OpenFlags::of_text("").is_none());
        assert!(WaitStatus::of_text("exited 256").is_none() && WaitStatus::of_text("SIGWHAT").is_none());
        assert!(BlockStatus::of_text("BLK_STS_OK").is_none());
        assert!(Returned::errno_of("errno 0").is_none() && Returned::errno_of("errno 4096").is_none());
        for text in ["4096:0", "1", "01:1", "-1:0", "1:1048576"] {
            assert_eq!(device_of(text), None, "{text}");
        }
    }
}
