//! Tables of every format: rows of "a | b | c" under a header.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    adapters::extract::build::Builder,
    domain::extract::BlockKind,
    text::clean::{clean, flow},
};

/// A cell may not claim more rows or columns than this.
const MAX_SPAN: usize = 1_000;

/// A cell with the room that it takes.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Cell {
    /// A cell of one row and one column.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), rows: 1, columns: 1 }
    }
}

/// A table in the making. A cell that spans rows is repeated in each of them, so that each row can be read alone.
#[derive(Debug, Default)]
pub(super) struct Grid {
    rows: Vec<Vec<String>>,
    header_rows: usize,
    /// By column: rows still to fill, and with what.
    carried: Vec<(usize, String)>,
}

impl Grid {
    /// Adds a row. `header`: the file says that it heads the table; it counts only at the top.
    pub(super) fn row(&mut self, cells: Vec<Cell>, header: bool) {
        let mut row: Vec<String> = Vec::new();
        for cell in cells {
            self.carry(&mut row);
            let text = flow(&clean(&cell.text), false);
            let columns = cell.columns.clamp(1, MAX_SPAN);
            let rows = cell.rows.clamp(1, MAX_SPAN);
            for extra in 0..columns {
                let column = row.len();
                if rows > 1 {
                    if self.carried.len() <= column {
                        self.carried.resize(column + 1, (0, String::new()));
                    }
                    self.carried[column] = (rows - 1, if extra == 0 { text.clone() } else { String::new() });
                }
                row.push(if extra == 0 { text.clone() } else { String::new() });
            }
        }
        self.carry(&mut row);
        while row.last().is_some_and(String::is_empty) {
            row.pop();
        }
        if row.is_empty() {
            return;
        }
        if header && self.header_rows == self.rows.len() {
            self.header_rows += 1;
        }
        self.rows.push(row);
    }

    /// Fills the next columns from cells of the rows above.
    fn carry(&mut self, row: &mut Vec<String>) {
        while let Some((left, text)) = self.carried.get_mut(row.len())
            && *left > 0
        {
            *left -= 1;
            row.push(text.clone());
        }
    }

    /// Writes the table. Where the file names no header, a first row of words over other rows is taken for one; a
    /// table of one column is prose.
    pub(super) fn emit(mut self, builder: &mut Builder) {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if width <= 1 {
            for row in &self.rows {
                builder.push(BlockKind::Paragraph, &row[0]);
            }
            return;
        }
        // A title in a merged cell above the header is a line of its own.
        while self.rows.len() > 2 && self.rows[0].len() == 1 && self.header_rows <= 1 {
            builder.push(BlockKind::Paragraph, &self.rows[0][0]);
            self.rows.remove(0);
            self.header_rows = 0;
        }
        if self.header_rows == 0 && looks_like_header(&self.rows) {
            self.header_rows = 1;
        }
        if self.header_rows == self.rows.len() {
            self.header_rows = 0;
        }
        for (no, row) in self.rows.iter().enumerate() {
            let kind = if no < self.header_rows { BlockKind::TableHeader } else { BlockKind::TableRow };
            builder.push(kind, &row.join(" | "));
        }
    }
}

/// A period as it heads a column: years, quarters, months.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test builds it")]
static PERIOD: LazyLock<Regex> = LazyLock::new(|| {
    let year = r"(?:fy ?)?(?:19|20)\d\d(?:/\d\d)?(?: ?年度?)?(?:[-/. ]?(?:q[1-4]|h[12]|\d{1,2}月?|[1-4]季度))?";
    let part = r"(?:q[1-4]|h[12])(?:[-/. ]?(?:19|20)?\d\d)?|fy ?\d\d|(?:1[0-2]|0?[1-9])月份?|第?[1-4]季度";
    Regex::new(&format!("(?i)^(?:{year}|{part})$")).expect("a valid pattern")
});

/// Whether the first row names columns: no repeats, no blanks but in the corner above the names of rows, and no numbers
/// where there is a body to tell by. Periods are names where something else stands below.
fn looks_like_header(rows: &[Vec<String>]) -> bool {
    let [first, second, ..] = rows else { return false };
    let has_corner = first.len() >= 3 && first[0].is_empty() && !second[0].is_empty() && !is_numeric(&second[0]);
    let (mut periods, mut periods_below, mut seen) = (0, 0, Vec::<&String>::new());
    for (column, cell) in first.iter().enumerate().skip(usize::from(has_corner)) {
        if cell.is_empty() || seen.contains(&cell) || cell.chars().count() > 60 {
            return false;
        }
        seen.push(cell);
        if is_numeric(cell) {
            if column == 0 || !PERIOD.is_match(cell) {
                return false;
            }
            periods += 1;
            periods_below += usize::from(second.get(column).is_some_and(|below| PERIOD.is_match(below)));
        }
    }
    // A name and a year may as well be a row: "Founded | 1998".
    let may_be_names = periods == 0 || first.len() >= 3 && periods_below < periods;
    may_be_names && first.len() >= 2 && first.len() + 1 >= second.len()
}

fn is_numeric(cell: &str) -> bool {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    digits > 0 && digits * 2 >= cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(row: &[&str]) -> Vec<Cell> {
        row.iter().map(|text| Cell::plain(*text)).collect()
    }

    fn text(grid: Grid) -> (String, Vec<BlockKind>) {
        let mut builder = Builder::default();
        grid.emit(&mut builder);
        let out = builder.finish();
        (out.text, out.blocks.iter().map(|block| block.kind).collect())
    }

    #[test]
    fn spans_fill_the_rows_below() {
        let mut grid = Grid::default();
        grid.row(plain(&["Model", "Part", "Years"]), true);
        grid.row(
            vec![Cell { text: "Aurora".into(), rows: 2, columns: 1 }, Cell::plain("Case"), Cell::plain("2")],
            false,
        );
        grid.row(plain(&["Battery", "1"]), false);
        assert_eq!(
            text(grid),
            (
                "Model | Part | Years\nAurora | Case | 2\nAurora | Battery | 1".into(),
                vec![BlockKind::TableHeader, BlockKind::TableRow, BlockKind::TableRow]
            )
        );
    }

    #[test]
    fn a_first_row_of_words_is_the_header() {
        let mut grid = Grid::default();
        grid.row(plain(&["型号", "价格"]), false);
        grid.row(plain(&["X1", "199"]), false);
        assert_eq!(text(grid).1, [BlockKind::TableHeader, BlockKind::TableRow]);
        let mut grid = Grid::default();
        grid.row(plain(&["2023", "2024"]), false);
        grid.row(plain(&["1", "2"]), false);
        assert_eq!(text(grid).1, [BlockKind::TableRow, BlockKind::TableRow]);
    }

    #[test]
    fn periods_and_a_blank_corner_head_columns() {
        let is_header = |first: &[&str], second: &[&str]| {
            let mut grid = Grid::default();
            grid.row(plain(first), false);
            grid.row(plain(second), false);
            text(grid).1[0] == BlockKind::TableHeader
        };
        for first in [
            ["Region", "2023", "2024"],
            ["地区", "2023年", "2024年"],
            ["Region", "Q1 2024", "Q2 2024"],
            ["Region", "2024Q1", "2024-06"],
            ["门店", "1月", "12月"],
            ["Store", "Q1", "Q2"],
            ["Store", "Unit", "FY25"],
            ["", "2023", "2024"],
            ["", "Price", "Weight"],
        ] {
            assert!(is_header(&first, &["North", "1999", "20"]), "{first:?}");
        }
        // Rows that say something themselves.
        assert!(!is_header(&["Founded", "1998"], &["Employees", "350"]));
        assert!(!is_header(&["Ada", "1998", "2004"], &["Ben", "1999", "2011"]));
        assert!(!is_header(&["North", "10", "20"], &["South", "30", "40"]));
        assert!(!is_header(&["1998", "Berlin", "a"], &["2004", "Paris", "b"]));
        assert!(!is_header(&["", "Report"], &["Region", "Sum"]));
        assert!(!is_header(&["a", "", "b"], &["c", "d", "e"]));
    }

    #[test]
    fn one_column_is_prose() {
        let mut grid = Grid::default();
        grid.row(plain(&["only"]), true);
        assert_eq!(text(grid), ("only".into(), vec![BlockKind::Paragraph]));
    }
}
