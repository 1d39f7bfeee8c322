//! Markdown that fits a ticket. Sections are cut between their items, never inside one.

/// Exclusive upper limit of every report, in characters. Jira accepts 32,767, GitHub 65,536. The limit is lower because
/// text cut exactly at a limit has overflowed after conversion (mozilla/jira-bugzilla-integration pull request 1132).
pub const LIMIT: usize = 30_000;

/// Space for the line about items left out.
const LEFT_OUT_LINE: usize = 160;
/// A part of the report that may be cut between its items.
pub(crate) struct Section {
    /// Heading and table head; never cut.
    pub(crate) lead: String,
    /// Items of whole lines each, most important first.
    pub(crate) items: Vec<String>,
    /// Noun for the items: `claims`.
    pub(crate) noun: &'static str,
    /// Guaranteed share of the limit, in thousandths. All shares add up to less than 1000.
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

/// Joins the sections in fewer than `limit` characters. Sections that need less than their share leave the rest to the
/// others, in order.
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
