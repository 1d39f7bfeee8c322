//! Markdown that fits a ticket: sections that are cut between their items, never inside one.

/// Fewer characters than this in every report. Jira takes 32,767, GitHub 65,536, and text
/// cut exactly at a limit has overflowed after conversion (mozilla/jira-bugzilla-integration
/// pull request 1132), hence the headroom.
pub const LIMIT: usize = 30_000;

/// Room for the line that says what was left out.
const LEFT_OUT_LINE: usize = 160;
/// A part of the report that may be cut between its items.
pub(crate) struct Section {
    /// Heading and table head; never cut.
    pub(crate) lead: String,
    /// Whole lines each, most important first.
    pub(crate) items: Vec<String>,
    /// What an item is: `claims`.
    pub(crate) noun: &'static str,
    /// Thousandths of the limit that this section has for certain; together less than all.
    pub(crate) share: usize,
}

impl Section {
    fn wanted(&self) -> usize {
        length(&self.lead) + self.items.iter().map(|item| length(item)).sum::<usize>() + LEFT_OUT_LINE
    }

    fn write(&self, room: usize, report: &mut String) {
        if self.lead.is_empty() && self.items.is_empty() {
            return;
        }
        if !report.is_empty() {
            report.push('\n');
        }
        report.push_str(&self.lead);
        let mut left = room.saturating_sub(length(&self.lead) + LEFT_OUT_LINE);
        let fits = |item: &&String| {
            let is_room = length(item) <= left;
            left = left.saturating_sub(length(item));
            is_room
        };
        let shown = self.items.iter().take_while(fits).inspect(|item| report.push_str(item)).count();
        if shown < self.items.len() {
            let left_out = self.items.len() - shown;
            report.push_str(&format!(
                "\nLeft out to fit a ticket: {left_out} of {} {}. All of them are in the JSON report.\n",
                self.items.len(),
                self.noun
            ));
        }
    }
}

/// The sections in fewer characters than so many; what some do not need of their share is given to the others, in order.
pub(crate) fn assembled(sections: &[Section], limit: usize) -> String {
    let share = |section: &Section| section.wanted().min(section.share * limit / 1_000);
    let mut rooms: Vec<usize> = sections.iter().map(share).collect();
    let separators = sections.len();
    let mut spare = (limit - 1).saturating_sub(rooms.iter().sum::<usize>() + separators);
    for (room, section) in rooms.iter_mut().zip(sections) {
        let more = (section.wanted() - *room).min(spare);
        *room += more;
        spare -= more;
    }
    let mut report = String::new();
    for (section, room) in sections.iter().zip(rooms) {
        section.write(room, &mut report);
    }
    report
}

pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}
