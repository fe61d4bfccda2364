//! Spreadsheets and delimited text: a sheet is a page, a row is a line.

use std::io::Cursor;

use calamine::{Data, Reader, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::{
    build::Builder,
    grid::{Cell, Grid},
};
use crate::domain::{error::ExtractError, extract::BlockKind};

/// Reads a workbook (xlsx, xls, ods). Each visible sheet is a page and a section of its name.
pub(super) fn read_workbook(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    if is_encrypted_ooxml(bytes) {
        return Err(ExtractError::Encrypted);
    }
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| refused(&error))?;
    let sheets: Vec<String> = book
        .sheets_metadata()
        .iter()
        .filter(|sheet| sheet.visible == SheetVisible::Visible)
        .map(|sheet| sheet.name.clone())
        .collect();
    let mut broken = 0_usize;
    for name in &sheets {
        match book.worksheet_range(name) {
            Ok(range) => read_sheet(name, &range, builder),
            Err(error) if refused(&error) == ExtractError::Encrypted => return Err(ExtractError::Encrypted),
            // A chart sheet has no cells; a damaged one must not cost the others.
            Err(_) => broken += 1,
        }
    }
    if broken > 0 && broken == sheets.len() {
        return Err(ExtractError::Malformed);
    }
    if broken > 0 {
        builder.warn("sheets_skipped", format!("{broken} of {} sheets could not be read.", sheets.len()));
    }
    if let Sheets::Xlsx(_) | Sheets::Xls(_) | Sheets::Xlsb(_) | Sheets::Ods(_) = &book
        && let Ok(properties) = book.workbook_properties()
        && let Some(title) = properties.title
    {
        builder.title(&title);
    }
    Ok(())
}

/// Blank rows part tables of one sheet.
fn read_sheet(name: &str, range: &calamine::Range<Data>, builder: &mut Builder) {
    if range.used_cells().next().is_none() {
        return;
    }
    builder.page(name);
    builder.push(BlockKind::Heading(1), name);
    let mut grid = Grid::default();
    for row in range.rows() {
        if row.iter().all(|cell| show(cell).trim().is_empty()) {
            std::mem::take(&mut grid).emit(builder);
            continue;
        }
        grid.row(row.iter().map(|cell| Cell::plain(show(cell))).collect(), false);
    }
    grid.emit(builder);
}

/// A cell as people read it.
fn show(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => float(*number),
        Data::Bool(value) => (if *value { "TRUE" } else { "FALSE" }).into(),
        Data::DateTime(time) if time.is_duration() => float(time.as_f64()),
        Data::DateTime(time) => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            match (time.as_f64() < 1.0, hour, minute, second) {
                (true, ..) => format!("{hour:02}:{minute:02}:{second:02}"),
                (false, 0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                (false, ..) => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            }
        }
    }
}

/// Twelve significant digits: what a spreadsheet shows, without the tail of binary fractions.
fn float(number: f64) -> String {
    let shown: f64 = format!("{number:.11e}").parse().unwrap_or(number);
    shown.to_string()
}

fn refused(error: &calamine::Error) -> ExtractError {
    match error {
        calamine::Error::Xlsx(calamine::XlsxError::Password)
        | calamine::Error::Xls(calamine::XlsError::Password)
        | calamine::Error::Ods(calamine::OdsError::Password) => ExtractError::Encrypted,
        _ => ExtractError::Malformed,
    }
}

/// Whether this is an OOXML file inside a password container: an OLE file with a stream of this name (UTF-16).
pub(super) fn is_encrypted_ooxml(bytes: &[u8]) -> bool {
    const OLE: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.starts_with(OLE) && bytes.windows(name.len()).any(|window| window == name)
}

/// Reads comma-, semicolon-, tab- or bar-separated text; ragged rows are fine.
pub(super) fn read_delimited(source: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let delimiter = sniff(source);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(source.as_bytes());
    let mut grid = Grid::default();
    for record in reader.records() {
        let record = record.map_err(|_| ExtractError::Malformed)?;
        grid.row(record.iter().map(Cell::plain).collect(), false);
    }
    grid.emit(builder);
    Ok(())
}

/// The delimiter that parts most of the first lines into the same number of fields.
fn sniff(source: &str) -> u8 {
    let sample: String = source.lines().take(50).flat_map(|line| [line, "\n"]).collect();
    let score = |delimiter: u8| {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(sample.as_bytes());
        let widths: Vec<usize> = reader.records().filter_map(Result::ok).map(|record| record.len()).collect();
        let Some(&first) = widths.first() else { return (0, 0) };
        let alike = widths.iter().filter(|width| **width == first).count();
        if first < 2 { (0, 0) } else { (alike, first) }
    };
    // Ties go to the first of the list.
    [b',', b';', b'\t', b'|'].into_iter().rev().max_by_key(|delimiter| score(*delimiter)).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        let mut builder = Builder::default();
        read_delimited(source, &mut builder).unwrap();
        builder.finish().text
    }

    #[test]
    fn delimiters_are_found() {
        let expected = "型号 | 价格\nX1 | 1,99\nZ9 | 2";
        assert_eq!(text("型号,价格\nX1,\"1,99\"\nZ9,2\n"), expected);
        assert_eq!(text("型号;价格\nX1;1,99\nZ9;2\n"), expected);
        assert_eq!(text("型号\t价格\nX1\t1,99\nZ9\t2\n"), expected);
    }

    #[test]
    fn ragged_rows_stay() {
        assert_eq!(text("a,b,c\n1,2\n3,4,5,6\n"), "a | b | c\n1 | 2\n3 | 4 | 5 | 6");
    }

    #[test]
    fn numbers_as_people_see_them() {
        assert_eq!([0.1 + 0.2, 1234567.0, 0.000001, -2.5].map(float), ["0.3", "1234567", "0.000001", "-2.5"]);
    }
}
