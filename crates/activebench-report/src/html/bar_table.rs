//! A table of figures with a drawing in each row, such as bars or dots. In a narrow window the drawing is below its row.

use maud::{Markup, html};

use super::row_axis::RowAxis;

/// The heads of the columns.
pub(super) struct Heads<'a> {
    /// Of the names of the rows.
    pub(super) name: &'a str,
    /// Of the figures before the drawing, and their labels in a narrow window.
    pub(super) figures: [(&'a str, &'a str); 2],
    /// Of the drawing.
    pub(super) drawn: &'a str,
    /// Of the figure behind the drawing.
    pub(super) last: &'a str,
    /// Of the word at the end.
    pub(super) word: &'a str,
}

/// A row.
pub(super) struct Row {
    pub(super) name: Markup,
    pub(super) figures: [Markup; 2],
    pub(super) drawing: Markup,
    pub(super) last: Markup,
    pub(super) word: Markup,
}

/// Rows that belong together.
pub(super) struct Group {
    /// Head above them; `None` for rows that need none.
    pub(super) title: Option<Markup>,
    pub(super) rows: Vec<Row>,
    /// Labels below them, and what is said of the axis; `None` where the next group has the same axis, or there is none.
    pub(super) axis: Option<(Markup, String)>,
}

impl Group {
    /// Returns the labels of an axis.
    pub(super) fn labels(axis: Option<&RowAxis>) -> Option<(Markup, String)> {
        axis.map(|axis| (axis.draw_labels(), axis.says()))
    }
}

/// Renders the table.
pub(super) fn bar_table(name: &str, heads: &Heads<'_>, groups: &[Group]) -> Markup {
    html! {
        // The roles keep it a table where the style sheet gives it another layout.
        table.bars role="table" aria-label=(name) {
            thead role="rowgroup" {
                tr role="row" {
                    th scope="col" role="columnheader" { (heads.name) }
                    @for (head, _) in heads.figures { th scope="col" role="columnheader" class="number" { (head) } }
                    th scope="col" role="columnheader" class="drawn" { (heads.drawn) }
                    th scope="col" role="columnheader" class="number" { (heads.last) }
                    th scope="col" role="columnheader" { (heads.word) }
                }
            }
            @for group in groups {
                tbody role="rowgroup" {
                    @if let Some(title) = &group.title {
                        tr.title role="row" { th scope="rowgroup" role="rowheader" colspan="6" { (title) } }
                    }
                    @for row in &group.rows { (of_row(row, heads)) }
                    @if let Some((labels, says)) = &group.axis {
                        tr.axis aria-hidden="true" {
                            td colspan="3" {} td.drawn { (labels) } td colspan="2" { (says) }
                        }
                    }
                }
            }
        }
    }
}

fn of_row(row: &Row, heads: &Heads<'_>) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" { (row.name) }
            @for ((_, label), figure) in heads.figures.iter().zip(&row.figures) {
                td.number role="cell" data-label=(label) { (figure) }
            }
            td.drawn role="cell" { (row.drawing) }
            td.number role="cell" { (row.last) }
            td.cause role="cell" { (row.word) }
        }
    }
}
