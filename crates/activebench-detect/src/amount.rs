//! Bytes whose type says in which time they were counted, so that only those of one time can be held against each other.

use std::marker::PhantomData;

use activebench_model::fact::FactName;
use activebench_model::phase::Phase;

use crate::context::Run;

/// What ended while the clock ran: calls, and requests that completed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completed {}

/// What began while the clock ran: pages that entered the page cache, and requests that were in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {}

/// What happened in a pass, from its open to the end of its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfPass {}

/// What happened from the start of the clock until the bytes were durable, or the next pass over the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UntilDurable {}

/// A fact that counts bytes in a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<Time> {
    name: FactName,
    time: PhantomData<Time>,
}

impl<Time> Counted<Time> {
    const fn new(name: FactName) -> Self {
        Self { name, time: PhantomData }
    }
}

/// Read calls.
pub(crate) const READ: Counted<Completed> = Counted::new(FactName::ReadBytes);
/// Read calls of other passes on the same files, whose bytes are among those of the device.
pub(crate) const OTHERS_READ: Counted<Completed> = Counted::new(FactName::OthersReadBytes);
/// Completed reads of the files' data at the device.
pub(crate) const DEVICE_READ: Counted<Completed> = Counted::new(FactName::DeviceReadBytes);
/// Completed writes of the files' data at the device.
pub(crate) const DEVICE_WRITTEN: Counted<Completed> = Counted::new(FactName::DeviceWriteBytes);
/// Reads at the layers below the device.
pub(crate) const BELOW_READ: Counted<Completed> = Counted::new(FactName::BelowReadBytes);
/// Writes at the layers below the device.
pub(crate) const BELOW_WRITTEN: Counted<Completed> = Counted::new(FactName::BelowWriteBytes);
/// Pages that entered the page cache while the clock ran.
pub(crate) const INSERTED: Counted<Begun> = Counted::new(FactName::WindowInsertedBytes);
/// Reads at the device that were in progress while the clock ran.
pub(crate) const DEVICE_READ_BEGUN: Counted<Begun> = Counted::new(FactName::DeviceReadBegunBytes);
/// Pages that entered the page cache in the pass.
pub(crate) const INSERTED_OF_PASS: Counted<OfPass> = Counted::new(FactName::CacheInsertedBytes);
/// Write calls: all that they wrote has the time until it is durable to get to the device.
pub(crate) const WRITTEN: Counted<UntilDurable> = Counted::new(FactName::WriteBytes);
/// Writes of the files' data at the device until durable.
pub(crate) const DEVICE_WRITTEN_DURABLE: Counted<UntilDurable> = Counted::new(FactName::DeviceWriteBytesDurable);
/// Writes at the layers below the device in that time.
pub(crate) const BELOW_WRITTEN_DURABLE: Counted<UntilDurable> = Counted::new(FactName::BelowWriteBytesDurable);

/// A number of bytes, counted in a time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Amount<Time> {
    bytes: f64,
    time: PhantomData<Time>,
}

impl<Time> Amount<Time> {
    /// A number of bytes that the caller knows to be of this time.
    pub(crate) fn of(bytes: f64) -> Self {
        Self { bytes, time: PhantomData }
    }

    /// The number alone, for messages and thresholds.
    pub(crate) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// By how much it is less than another of the same time; 0 where it is not.
    pub(crate) fn short_of(&self, other: &Self) -> f64 {
        (other.bytes - self.bytes).max(0.0)
    }

    /// The smaller of two of the same time.
    pub(crate) fn least(self, other: Self) -> Self {
        Self::of(self.bytes.min(other.bytes))
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self::of(self.bytes + other.bytes)
    }

    /// The larger of two of the same time.
    pub(crate) fn most(self, other: Self) -> Self {
        Self::of(self.bytes.max(other.bytes))
    }
}

/// Bytes that entered the page cache in the pass before its clock ran.
pub(crate) fn inserted_before(pass: &Amount<OfPass>, inside: &Amount<Begun>) -> f64 {
    (pass.bytes - inside.bytes).max(0.0)
}

impl Run<'_> {
    /// Bytes of a phase, seen whole.
    ///
    /// # Errors
    /// What is in the way, as [`Run::fact`] does.
    pub(crate) fn amount<Time>(&self, phase: &Phase, counted: Counted<Time>) -> Result<Amount<Time>, String> {
        Ok(Amount::of(self.fact(phase, counted.name)?))
    }

    /// As [`Run::amount`]; `None` where it was not computed because nothing is there to be counted.
    ///
    /// # Errors
    /// As [`Run::amount`].
    pub(crate) fn amount_if_any<Time>(
        &self,
        phase: &Phase,
        counted: Counted<Time>,
    ) -> Result<Option<Amount<Time>>, String> {
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
    fn amounts_of_one_time_are_compared() {
        let (less, more) = (Amount::<Completed>::of(3.0), Amount::<Completed>::of(5.0));
        assert_eq!((less.short_of(&more), more.short_of(&less)), (2.0, 0.0));
        assert_eq!((less.least(more).bytes(), less.most(more).bytes()), (3.0, 5.0));
        assert_eq!(inserted_before(&Amount::of(5.0), &Amount::of(3.0)), 2.0);
    }
}
