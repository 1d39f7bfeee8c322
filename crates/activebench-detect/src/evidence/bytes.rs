//! Bytes whose type says in which time they were counted and whose they are, so that only those of one time and scope
//! can be held against each other.

use std::marker::PhantomData;

use activebench_model::fact::FactName;
use activebench_model::phase::Phase;

use crate::run::Run;

/// I/O that ended inside the window: calls, and requests that completed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completed {}

/// I/O that began inside the window: pages that entered the page cache, and requests that were in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {}

/// I/O of a pass, from its open to the end of its window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfPass {}

/// I/O from the start of the window until the bytes were durable, or the next pass over the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UntilDurable {}

/// I/O of the tasks of the pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own {}

/// I/O of other tasks on the same files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others {}

/// I/O on the files of the pass, whoever did it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfFiles {}

/// A fact that counts bytes in a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<Time, Whose> {
    name: FactName,
    of: PhantomData<(Time, Whose)>,
}

impl<Time, Whose> Counted<Time, Whose> {
    const fn new(name: FactName) -> Self {
        Self { name, of: PhantomData }
    }
}

/// Read calls.
pub(crate) const READ: Counted<Completed, Own> = Counted::new(FactName::ReadBytes);
/// Read calls of other passes on the same files, whose bytes are among those of the device.
pub(crate) const OTHERS_READ: Counted<Completed, Others> = Counted::new(FactName::OthersReadBytes);
/// Completed reads of the files' data at the device.
pub(crate) const DEVICE_READ: Counted<Completed, OfFiles> = Counted::new(FactName::DeviceReadBytes);
/// Completed writes of the files' data at the device.
pub(crate) const DEVICE_WRITTEN: Counted<Completed, OfFiles> = Counted::new(FactName::DeviceWriteBytes);
/// Reads at the layers below the device.
pub(crate) const BELOW_READ: Counted<Completed, OfFiles> = Counted::new(FactName::BelowReadBytes);
/// Writes at the layers below the device.
pub(crate) const BELOW_WRITTEN: Counted<Completed, OfFiles> = Counted::new(FactName::BelowWriteBytes);
/// Pages that entered the page cache while the clock ran.
pub(crate) const INSERTED: Counted<Begun, OfFiles> = Counted::new(FactName::WindowInsertedBytes);
/// Reads at the device that were in progress while the clock ran.
pub(crate) const DEVICE_READ_BEGUN: Counted<Begun, OfFiles> = Counted::new(FactName::DeviceReadBegunBytes);
/// Pages that entered the page cache in the pass.
pub(crate) const INSERTED_OF_PASS: Counted<OfPass, OfFiles> = Counted::new(FactName::CacheInsertedBytes);
/// Write calls: all that they wrote has the time until it is durable to get to the device.
pub(crate) const WRITTEN: Counted<UntilDurable, Own> = Counted::new(FactName::WriteBytes);
/// Writes of the files' data at the device until durable.
pub(crate) const DEVICE_WRITTEN_DURABLE: Counted<UntilDurable, OfFiles> =
    Counted::new(FactName::DeviceWriteBytesDurable);
/// Writes at the layers below the device in that time.
pub(crate) const BELOW_WRITTEN_DURABLE: Counted<UntilDurable, OfFiles> = Counted::new(FactName::BelowWriteBytesDurable);

/// A number of bytes, counted in a time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Amount<Time, Whose> {
    bytes: f64,
    of: PhantomData<(Time, Whose)>,
}

impl<Time, Whose> Amount<Time, Whose> {
    /// A number of bytes that the caller knows to be of this time and scope.
    pub(crate) fn of(bytes: f64) -> Self {
        Self { bytes, of: PhantomData }
    }

    /// The number alone, for messages and thresholds.
    pub(crate) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// By how much it is less than another of the same time and scope; 0 where it is not.
    pub(crate) fn short_of(&self, other: &Self) -> f64 {
        (other.bytes - self.bytes).max(0.0)
    }

    /// The smaller of two of the same time and scope.
    pub(crate) fn least(self, other: Self) -> Self {
        Self::of(self.bytes.min(other.bytes))
    }

    /// The larger of two of the same time and scope.
    pub(crate) fn most(self, other: Self) -> Self {
        Self::of(self.bytes.max(other.bytes))
    }
}

impl<Time> Amount<Time, Own> {
    /// Returns the least amount of I/O on the files: others may have done more.
    pub(crate) fn at_least_of_files(self) -> Amount<Time, OfFiles> {
        Amount::of(self.bytes)
    }

    /// Returns the I/O on the files by the pass and by these others.
    pub(crate) fn with(self, others: Amount<Time, Others>) -> Amount<Time, OfFiles> {
        Amount::of(self.bytes + others.bytes)
    }
}

/// Bytes that entered the page cache in the pass before its clock ran.
pub(crate) fn inserted_before(pass: &Amount<OfPass, OfFiles>, inside: &Amount<Begun, OfFiles>) -> f64 {
    (pass.bytes - inside.bytes).max(0.0)
}

impl Run<'_> {
    /// Bytes of a phase, seen whole.
    ///
    /// # Errors
    /// Returns the reason if a fact cannot be used, as [`Run::fact`] does.
    pub(crate) fn amount<Time, Whose>(
        &self,
        phase: &Phase,
        counted: Counted<Time, Whose>,
    ) -> Result<Amount<Time, Whose>, String> {
        Ok(Amount::of(self.fact(phase, counted.name)?))
    }

    /// As [`Run::amount`]; `None` where it was not computed because nothing is there to be counted.
    ///
    /// # Errors
    /// As [`Run::amount`].
    pub(crate) fn amount_if_any<Time, Whose>(
        &self,
        phase: &Phase,
        counted: Counted<Time, Whose>,
    ) -> Result<Option<Amount<Time, Whose>>, String> {
        match phase.facts.get(counted.name) {
            None => Ok(None),
            Some(_) => self.amount(phase, counted).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use activebench_model::units::Unit;

    use super::*;

    #[test]
    fn a_fact_is_of_one_time() {
        let names = [
            READ.name,
            OTHERS_READ.name,
            DEVICE_READ.name,
            DEVICE_WRITTEN.name,
            BELOW_READ.name,
            BELOW_WRITTEN.name,
            INSERTED.name,
            DEVICE_READ_BEGUN.name,
            INSERTED_OF_PASS.name,
            WRITTEN.name,
            DEVICE_WRITTEN_DURABLE.name,
            BELOW_WRITTEN_DURABLE.name,
        ];
        let distinct: BTreeSet<FactName> = names.into_iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.into_iter().all(|name| name.unit() == Unit::Bytes));
    }

    #[test]
    fn amounts_of_one_time_and_scope_are_compared() {
        let (less, more) = (Amount::<Completed, Own>::of(3.0), Amount::<Completed, Own>::of(5.0));
        assert_eq!((less.short_of(&more), more.short_of(&less)), (2.0, 0.0));
        assert_eq!((less.least(more).bytes(), less.most(more).bytes()), (3.0, 5.0));
        assert_eq!((less.at_least_of_files().bytes(), less.with(Amount::of(4.0)).bytes()), (3.0, 7.0));
        assert_eq!(inserted_before(&Amount::of(5.0), &Amount::of(3.0)), 2.0);
    }
}
