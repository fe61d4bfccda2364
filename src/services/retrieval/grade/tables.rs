//! A price list that holds several prices: whether the question leaves open which row, or which column, is meant.

use std::collections::BTreeSet;

use crate::{
    domain::evidence::Passage,
    text::{
        fold,
        quantities::{Kind, Quantity, quantities},
        question::{Content, Question, Wants},
        sentences::is_row,
        vocabulary::Vocabulary,
    },
};

use super::{
    super::facets::{Mention, value_key},
    choices::MOST,
    given::Given,
    lexicon::{Kin, Weighted},
    support::near,
};

/// A table that was put together again from the leaves of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Column names; a header of several rows is joined by spaces.
    pub columns: Vec<String>,
    /// For each column the header's cell that names a date, if one does.
    pub dates: Vec<Option<String>>,
    /// Cells, as many per row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// The sentence that stands right above it.
    pub caption: String,
    /// The innermost heading above it.
    pub heading: String,
}

/// What a question leaves open in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// Whether the columns are open (periods), else the rows (kinds).
    pub is_period: bool,
    /// What the choices are called: a column's name, if it has one.
    pub slot: Option<String>,
    /// The choices, each once, in the table's order, with the number of rows that carry each.
    pub values: Vec<(String, u32)>,
}

/// The tables in these leaves of one document; parts of one table (same columns) are joined.
pub(crate) fn tables(leaves: &[&Passage]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for leaf in leaves {
        for mut table in of_text(&leaf.text, leaf.header.as_deref()) {
            let path = leaf.section.as_deref().unwrap_or_default();
            path.rsplit(" > ").next().unwrap_or_default().clone_into(&mut table.heading);
            match tables.iter_mut().find(|known| !known.columns.is_empty() && known.columns == table.columns) {
                Some(known) => {
                    for row in table.rows.drain(..) {
                        if !known.rows.contains(&row) {
                            known.rows.push(row);
                        }
                    }
                }
                None => tables.push(table),
            }
        }
    }
    tables
}

fn of_text(text: &str, header: Option<&str>) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut block: Vec<Vec<String>> = Vec::new();
    let mut ruled = None;
    let mut above = "";
    let mut caption = String::new();
    for line in text.lines().chain([""]) {
        if is_row(line) {
            if block.is_empty() {
                above.clone_into(&mut caption);
            }
            let cells = cells(line);
            if is_rule(&cells) {
                ruled = Some(block.len());
            } else {
                block.push(cells);
            }
            continue;
        }
        if !block.is_empty() {
            tables.extend(assemble(std::mem::take(&mut block), ruled.take(), header, &caption));
        }
        if !line.trim().is_empty() {
            above = line.trim();
        }
    }
    tables
}

/// The cells of a row, written `a | b` or `| a | b |`.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let outer = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    outer.unwrap_or(line).split('|').map(|cell| cell.trim().trim_matches('*').to_owned()).collect()
}

fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
}

/// `ruled`: how many rows stand above the rule, if there is one.
fn assemble(mut block: Vec<Vec<String>>, ruled: Option<usize>, header: Option<&str>, caption: &str) -> Option<Table> {
    let mut head: Vec<Vec<String>> =
        header.into_iter().flat_map(str::lines).filter(|line| is_row(line)).map(cells).collect();
    if head.is_empty() {
        let first_names = block.first().is_some_and(|row| !row.iter().skip(1).any(|cell| amount(cell)));
        let rows = ruled.unwrap_or(usize::from(first_names && block.len() > 1)).min(block.len());
        head = block.drain(..rows).collect();
    } else {
        block.retain(|row| !head.contains(row));
    }
    // A row that names columns only (no amounts, and no first cell or a date) belongs to the header.
    let names_columns = |row: &Vec<String>| {
        let unlabelled = row.first().is_some_and(String::is_empty);
        let dated = row.iter().skip(1).any(|cell| Mention::read(cell).says_year());
        (unlabelled || dated) && !row.iter().skip(1).any(|cell| amount(cell))
    };
    while block.len() > 1 && block.first().is_some_and(names_columns) {
        head.push(block.remove(0));
    }
    if head.is_empty() {
        return None;
    }
    let width = head.iter().chain(&block).map(Vec::len).max().unwrap_or_default();
    let pieces = |column: usize| head.iter().filter_map(move |row| row.get(column)).filter(|cell| !cell.is_empty());
    let columns = (0..width).map(|column| pieces(column).map(String::as_str).collect::<Vec<_>>().join(" ")).collect();
    let dates = (0..width)
        .map(|column| {
            // Under "Years ended September 30" the year tells columns apart.
            let dated = |cell: &&String| quantities(cell).iter().any(|found| found.kind == Kind::Date);
            pieces(column).find(|cell| Mention::read(cell).says_year()).or_else(|| pieces(column).find(dated)).cloned()
        })
        .collect();
    let rows: Vec<Vec<String>> = block
        .into_iter()
        .filter(|row| row.iter().any(|cell| !cell.is_empty()))
        .map(|mut row| {
            row.resize(width, String::new());
            row
        })
        .collect();
    (width >= 2 && !rows.is_empty()).then(|| Table {
        columns,
        dates,
        rows,
        caption: caption.to_owned(),
        heading: String::new(),
    })
}

/// Whether a cell holds a number that is no year.
fn amount(cell: &str) -> bool {
    // "2018 (4)" is a year with a footnote.
    let cell = match cell.split_once(" (") {
        Some((year, note)) if note.len() <= 3 && Mention::read(year).says_year() => year,
        _ => cell,
    };
    cell.chars().any(|c| c.is_ascii_digit()) && !quantities(cell).iter().all(|quantity| quantity.kind == Kind::Date)
}

impl Table {
    /// The cells of a column that hold something.
    fn filled(&self, column: usize) -> Vec<&String> {
        self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).collect()
    }

    /// Share of the question's weight that the table tells about: that its columns, caption, heading or rows hold. What
    /// only names the document ("the Kestrel K7") is no matter of a table.
    pub(crate) fn cover(&self, weighted: &[Weighted], kin: &Kin, title: &Vocabulary) -> f32 {
        let read = |cells: &[String]| Vocabulary::read(&cells.join(" "));
        let own = Vocabulary::read(&format!("{}\n{}\n{}", self.columns.join(" "), self.caption, self.heading));
        let rows: Vec<Vocabulary> = self.rows.iter().map(|row| read(row)).collect();
        let (mut all, mut covered) = (0.0_f32, 0.0_f32);
        for weighted in weighted {
            let inside = rows.iter().chain([&own]).map(|text| says(text, &weighted.word, kin)).fold(0.0, f32::max);
            if inside < 0.5 && title.holds(&weighted.word) >= 0.5 {
                continue;
            }
            all += weighted.weight;
            covered += weighted.weight * inside;
        }
        if all > 0.0 { covered / all } else { 1.0 }
    }
}

/// From which nearness on a heading says a word by another name: "price" for "cost".
const SAME: f32 = 0.85;

/// How far the words around a table hold a word of the question, by another name too.
fn says(text: &Vocabulary, word: &Content, kin: &Kin) -> f32 {
    let itself = text.holds(word);
    Some(near(text, word, kin, itself)).filter(|near| *near >= SAME).unwrap_or(itself)
}

/// What `question` leaves open in `table`, if `enough` of its weight is about that table. `given` holds all that has been
/// said already.
pub(crate) fn open(
    table: &Table,
    question: &Question,
    (weighted, kin): (&[Weighted], &Kin),
    given: &Given,
    above: &Vocabulary,
    enough: f32,
) -> Option<Open> {
    if !matches!(question.wants, Wants::Money | Wants::Amount | Wants::Percent | Wants::Duration | Wants::Other) {
        return None;
    }
    let column = answering_column(table, question, weighted, kin)?;
    let rows = matching_rows(table, (weighted, kin), column, above, enough)?;
    let asked = Mention::read(&question.folded);
    // A row whose whole label the question says is meant, unless several rows are labelled so.
    let label = |row: usize| value_key(&table.rows[row][0]);
    let is_meant = |row: &usize| {
        says_all(&asked, &table.rows[*row][0]) && rows.iter().filter(|other| label(**other) == label(*row)).count() == 1
    };
    let named = rows.iter().copied().find(is_meant);
    match named.or_else(|| rows.first().copied().filter(|_| rows.len() == 1)) {
        Some(row) => open_columns(table, &table.rows[row], question, weighted, &given.of_time()),
        None => open_rows(table, &rows, column, &given.all()),
    }
}

/// The column that holds what is asked: the one whose name meets the question best among those with fitting amounts. Where
/// only a count or nothing by form is asked for, any amount fits: then the name of the column has to say that it is meant.
fn answering_column(table: &Table, question: &Question, weighted: &[Weighted], kin: &Kin) -> Option<usize> {
    let kinds = question.wants.quantities();
    let holds = |column: usize, fits: &dyn Fn(&Quantity) -> bool| {
        let filled = table.filled(column);
        let fitting = filled.iter().filter(|cell| quantities(cell).iter().any(fits)).count();
        !filled.is_empty() && fitting * 2 > filled.len() && !is_code_column(&filled)
    };
    let is_exact = |quantity: &Quantity| kinds.contains(&quantity.kind);
    // Accounting tables leave the unit to the header: there a bare number answers, where no column has the unit. Shares
    // and changes are reckoned from any amounts.
    let is_loose = |quantity: &Quantity| {
        kinds.is_empty() || is_exact(quantity) || quantity.kind == Kind::Number || question.wants == Wants::Percent
    };
    let columns = 1..table.columns.len();
    let has_exact = !kinds.is_empty() && columns.clone().any(|column| holds(column, &is_exact));
    let met = |column: usize| -> f32 {
        let name = Vocabulary::read(&table.columns[column]);
        weighted.iter().map(|weighted| says(&name, &weighted.word, kin) * weighted.weight).sum()
    };
    let is_said = |column: usize| {
        let is_named = table.columns[column].chars().any(char::is_alphabetic) && table.dates[column].is_none();
        !matches!(question.wants, Wants::Amount | Wants::Other) || !is_named || met(column) > 0.0
    };
    let fits = |column: &usize| {
        let is_dated = table.dates[*column].is_some();
        holds(*column, if has_exact && !is_dated { &is_exact } else { &is_loose }) && is_said(*column)
    };
    // Of equals a dated one: a column of notes holds numbers too.
    let merit = |column: usize| (met(column), u8::from(table.dates[column].is_some()));
    columns.filter(fits).fold(None, |best: Option<usize>, column| match best {
        Some(known) if merit(known) >= merit(column) => Some(known),
        _ => Some(column),
    })
}

fn is_code_column(cells: &[&String]) -> bool {
    let codes = cells
        .iter()
        .filter(|cell| {
            cell.chars().any(char::is_alphabetic)
                && !cell.contains(' ')
                && cell.contains('-')
                && quantities(cell).is_empty()
        })
        .count();
    codes * 2 > cells.len()
}

/// The rows that the question may mean: those that hold most of what it says beyond what stands above all of them.
/// `None`: the question says something that no row and nothing above holds.
fn matching_rows(
    table: &Table,
    (weighted, kin): (&[Weighted], &Kin),
    column: usize,
    above: &Vocabulary,
    enough: f32,
) -> Option<Vec<usize>> {
    let read: Vec<Vocabulary> = table.rows.iter().map(|row| Vocabulary::read(&row.join(" "))).collect();
    // What another column of amounts is called is told by that one alone.
    let is_other = |other: usize| {
        let filled = table.filled(other);
        let amounts = filled.iter().filter(|cell| amount(cell)).count();
        other != column && table.dates[other].is_none() && amounts * 2 > filled.len()
    };
    let names = table.columns.iter().enumerate().filter(|(other, _)| !is_other(*other));
    let columns = Vocabulary::read(&names.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" "));
    let caption = Vocabulary::read(&table.caption);
    let outside_of_rows = |weighted: &Weighted| {
        [above, &columns, &caption].into_iter().map(|text| says(text, &weighted.word, kin)).fold(0.0, f32::max)
    };
    let (mut all, mut anywhere) = (0.0_f32, 0.0_f32);
    let mut scores = vec![0.0_f32; table.rows.len()];
    for weighted in weighted {
        let outside = outside_of_rows(weighted);
        let inside = read.iter().map(|row| row.holds(&weighted.word)).fold(0.0, f32::max);
        all += weighted.weight;
        anywhere += weighted.weight * outside.max(inside);
        for (score, row) in scores.iter_mut().zip(&read) {
            *score += weighted.weight * row.holds(&weighted.word);
        }
    }
    if all <= 0.0 || anywhere < enough * all {
        return None;
    }
    let best = scores.iter().copied().fold(0.0, f32::max);
    let rows: Vec<usize> = (0..table.rows.len())
        .filter(|row| scores[*row] >= best - 0.01 && table.rows[*row].get(column).is_some_and(|cell| !cell.is_empty()))
        .collect();
    // Where the question names no row it must at least be about this very table: its words stand above it.
    let about = weighted.iter().map(|weighted| weighted.weight * outside_of_rows(weighted)).sum::<f32>();
    if best <= 0.01 && (about < enough * all || rows.len() > MOST) || best > 0.01 && best + about < enough * all {
        return None;
    }
    Some(rows)
}

fn open_rows(table: &Table, rows: &[usize], column: usize, given: &[Mention]) -> Option<Open> {
    let cell = |row: usize, column: usize| table.rows[row][column].as_str();
    let answers: BTreeSet<String> = rows.iter().map(|row| value_key(cell(*row, column))).collect();
    if answers.len() < 2 {
        return None;
    }
    // Sums are no kind beside what they sum up.
    let dimension = (0..table.columns.len()).filter(|other| *other != column).find(|other| {
        let values: BTreeSet<String> = rows.iter().map(|row| value_key(cell(*row, *other))).collect();
        values.len() >= 2 && rows.iter().all(|row| !cell(*row, *other).is_empty() && !amount_only(cell(*row, *other)))
    })?;
    let mut values: Vec<(String, u32)> = Vec::new();
    for row in rows {
        let label = cell(*row, dimension);
        match values.iter_mut().find(|(known, _)| value_key(known) == value_key(label)) {
            Some((_, count)) => *count += 1,
            None => values.push((label.to_owned(), 1)),
        }
    }
    let fixed = given.iter().any(|mention| values.iter().any(|(value, _)| mention.has_phrase(&value_key(value))));
    if fixed || values.len() < 2 {
        return None;
    }
    let named = |name: &String| name.chars().any(char::is_alphabetic) && !name.contains(['(', '（']);
    let slot = Some(table.columns[dimension].clone()).filter(named);
    Some(Open { is_period: false, slot, values })
}

fn amount_only(cell: &str) -> bool {
    !cell.chars().any(char::is_alphabetic)
}

fn says_all(mention: &Mention, label: &str) -> bool {
    let key = value_key(label);
    let words: Vec<String> = crate::text::words::words(&key).into_iter().map(|word| word.text.to_owned()).collect();
    !words.is_empty()
        && words.iter().filter(|word| !crate::text::words::is_stop(word)).all(|word| mention.has_phrase(word))
}

/// One row, several dated columns, and no date said.
fn open_columns(
    table: &Table,
    row: &[String],
    question: &Question,
    weighted: &[Weighted],
    given: &[Mention],
) -> Option<Open> {
    let dated: Vec<usize> = (1..table.columns.len())
        .filter(|column| {
            row.get(*column).is_some_and(|cell| amount(cell) && !cell.is_empty()) && table.dates[*column].is_some()
        })
        .collect();
    let answers: BTreeSet<String> = dated.iter().map(|column| value_key(&row[*column])).collect();
    if dated.len() < 2 || answers.len() < 2 {
        return None;
    }
    // "The year ended 31 December" says no year.
    let by_year = dated.iter().all(|column| Mention::read(&table.columns[*column]).says_year());
    let says_date = if by_year {
        given.iter().any(Mention::says_year)
    } else {
        question.quantities.iter().any(|quantity| quantity.kind == Kind::Date) || given.iter().any(Mention::says_date)
    };
    let names_column = weighted.iter().any(|weighted| {
        let named =
            |column: &&usize| fold(&table.columns[**column]).split_whitespace().any(|word| word == weighted.word.text);
        let count = dated.iter().filter(named).count();
        count > 0 && count < dated.len()
    });
    if says_date || names_column {
        return None;
    }
    let mut values: Vec<(String, u32)> = Vec::new();
    for column in dated {
        let Some(label) = table.dates[column].clone() else { continue };
        if !values.iter().any(|(known, _)| *known == label) {
            values.push((label, 1));
        }
    }
    (values.len() >= 2).then_some(Open { is_period: true, slot: None, values })
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::passage, *};
    use crate::{domain::index::TermStats, services::retrieval::grade::lexicon::weigh};

    const PLANS: &str = "Care plans of the shop.\n\n| Care plan | Price per month | Price per year |\n| --- | --- | --- |\n| Basic | 4.90 EUR | 49 EUR |\n| Plus | 8.90 EUR | 89 EUR |\n| Premium | 14.90 EUR | 149 EUR |";
    const PARTS: &str = "| Part | Fits | Article number | Price |\n|---|---|---|---|\n| HEPA filter | Aurora X1 | NL-1101 | 14.90 EUR |\n| HEPA filter | Borealis Z9 | NL-1901 | 19.90 EUR |\n| Side brushes | Aurora X1 | NL-1120 | 9.90 EUR |";
    const SALES: &str = "The table presents total net sales.\n\n|  |  | Years ended |\n| --- | --- | --- |\n|  | 2019 | 2018 |\n| Fixed price | $ 1,452.4 | $ 1,146.2 |\n| Total sales | $ 1,496.5 | $ 1,202.9 |";

    fn ask(question: &str, text: &str, given: &[&str]) -> Option<Open> {
        let question = Question::read(question);
        let weighted = weigh(&question, &TermStats::default());
        let leaf = passage("prices.xlsx", text);
        let table = tables(&[&leaf]).remove(0);
        let given = Given { question: given.iter().map(|text| Mention::read(text)).collect(), ..Given::default() };
        open(&table, &question, (&weighted, &Kin::new()), &given, &Vocabulary::read("prices"), 0.6)
    }

    fn labels(open: Option<Open>) -> Vec<String> {
        open.map(|open| open.values.into_iter().map(|(value, _)| value).collect()).unwrap_or_default()
    }

    #[test]
    fn the_kind_of_row_is_open() {
        let open = ask("How much is the care plan?", PLANS, &[]).unwrap();
        assert_eq!((open.is_period, open.slot.as_deref()), (false, Some("Care plan")));
        assert_eq!(labels(Some(open)), ["Basic", "Plus", "Premium"]);
        assert_eq!(labels(ask("How much is the HEPA filter?", PARTS, &[])), ["Aurora X1", "Borealis Z9"]);
    }

    #[test]
    fn a_named_row_is_not_open() {
        assert_eq!(ask("How much is the Plus care plan?", PLANS, &[]), None);
        assert_eq!(ask("How much is the HEPA filter for the Borealis Z9?", PARTS, &[]), None);
        assert_eq!(ask("How much are the side brushes?", PARTS, &[]), None);
        assert_eq!(ask("How much is the care plan?", PLANS, &["I have the Plus plan"]), None);
    }

    #[test]
    fn the_period_of_a_column_is_open_until_a_date_is_said() {
        let open = ask("What were the total sales?", SALES, &[]).unwrap();
        assert!(open.is_period);
        assert_eq!(labels(Some(open)), ["2019", "2018"]);
        assert_eq!(ask("What were the total sales in 2019?", SALES, &[]), None);
        // Two rows that are named leave no row open, but the period.
        let open = ask("Which share of the total sales has the fixed price?", SALES, &[]).unwrap();
        assert!(open.is_period);
        assert_eq!(ask("What were the total sales?", SALES, &["And in 2018?"]), None);
    }

    #[test]
    fn a_label_inside_a_longer_one_that_is_said_is_not_meant() {
        const ZH: &str =
            "| 等级 | 2023年 | 2024年 |\n|---|---|---|\n| 金卡 | 39 元 | 39 元 |\n| 铂金卡 | 69 元 | 79 元 |";
        const EN: &str =
            "| Plan | 2023 | 2024 |\n|---|---|---|\n| Plus | 9 EUR | 9 EUR |\n| Premium Plus | 14 EUR | 19 EUR |";
        for (longer, shorter, text) in [
            ("铂金卡多少钱？", "金卡多少钱？", ZH),
            ("How much is the Premium Plus plan?", "How much is the Plus plan?", EN),
        ] {
            assert!(ask(longer, text, &[]).is_some_and(|open| open.is_period), "{longer}");
            assert_eq!(ask(shorter, text, &[]), None, "{shorter}");
        }
    }

    #[test]
    fn a_table_about_something_else_asks_nothing() {
        assert_eq!(ask("How much is the delivery?", PLANS, &[]), None);
    }
}
