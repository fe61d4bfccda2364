//! Spreadsheets and delimited text: a sheet is a page, a row is a line.

use std::{collections::HashMap, io::Cursor};

use calamine::{Data, Reader, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::{
    build::Builder,
    grid::{Cell, Grid},
};
use crate::domain::error::ExtractError;

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
    builder.part(name);
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
        Data::String(text) => text.clone(),
        Data::DateTimeIso(text) => text.replacen('T', " ", 1),
        Data::DurationIso(text) => {
            text.parse::<jiff::SignedDuration>().map_or_else(|_| text.clone(), |span| clock(span.as_secs()))
        }
        Data::Int(number) => number.to_string(),
        Data::Float(number) => float(*number),
        Data::Bool(value) => (if *value { "TRUE" } else { "FALSE" }).into(),
        Data::DateTime(time) if time.is_duration() =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a duration that is too long for it is shown as the longest"
            )]
            clock((time.as_f64() * 86_400.0).round() as i64)
        }
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

/// A duration in hours, minutes and seconds.
fn clock(seconds: i64) -> String {
    let (sign, all) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    format!("{sign}{}:{:02}:{:02}", all / 3_600, all / 60 % 60, all % 60)
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
    let (delimiter, source) = named_delimiter(source).unwrap_or_else(|| (sniff(source), source));
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

/// The delimiter that a first line names, as Excel writes and reads it (`sep=;`), and what stands below.
fn named_delimiter(source: &str) -> Option<(u8, &str)> {
    let (first, rest) = source.split_once('\n')?;
    match first.trim_end_matches('\r').strip_prefix("sep=")?.as_bytes() {
        [delimiter] if *delimiter != b'"' => Some((*delimiter, rest)),
        _ => None,
    }
}

/// The delimiter that parts most of the first lines into the same number of fields. Lines that it does not part, as
/// titles above a table, say nothing. Where several do alike it is not the comma, which stands in numbers too.
fn sniff(source: &str) -> u8 {
    let sample: String = source.lines().take(50).flat_map(|line| [line, "\n"]).collect();
    let score = |delimiter: u8| {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(sample.as_bytes());
        let mut lines: HashMap<usize, usize> = HashMap::new();
        for record in reader.records().filter_map(Result::ok).filter(|record| record.len() > 1) {
            *lines.entry(record.len()).or_default() += 1;
        }
        let most = lines.into_iter().map(|(width, lines)| (lines, width)).max();
        most.map(|(lines, width)| (lines, delimiter != b',', width))
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
    fn delimiters_are_found_below_titles_and_beside_decimal_commas() {
        let bank = "Kontoauszug Mai\n\nDatum;Betrag;Text\n1.5.;-20,00;Miete\n2.5.;-30,50;Strom\n";
        let expected = "Kontoauszug Mai\n\nDatum | Betrag | Text\n1.5. | -20,00 | Miete\n2.5. | -30,50 | Strom";
        assert_eq!(text(bank), expected);
        assert_eq!(text("1,5;2,5\n3,5;4,5\n"), "1,5 | 2,5\n3,5 | 4,5");
        assert_eq!(text("sep=;\r\nA;B, C\r\n1;2, 3\r\n"), "A | B, C\n1 | 2, 3");
        assert_eq!(text("sep=value\na\n"), "sep=value\n\na");
        assert_eq!(text("a,b\n\"x;y\",1\n\"z\",2\n"), "a | b\nx;y | 1\nz | 2");
    }

    #[test]
    fn ragged_rows_stay() {
        assert_eq!(text("a,b,c\n1,2\n3,4,5,6\n"), "a | b | c\n1 | 2\n3 | 4 | 5 | 6");
    }

    #[test]
    fn times_as_people_see_them() {
        let iso = |cell: fn(String) -> Data, text: &str| show(&cell(text.into()));
        assert_eq!([clock(129_900), clock(7), clock(-60)], ["36:05:00", "0:00:07", "-0:01:00"]);
        assert_eq!(iso(Data::DurationIso, "PT36H5M00S"), "36:05:00");
        assert_eq!(iso(Data::DurationIso, "soon"), "soon");
        assert_eq!(iso(Data::DateTimeIso, "2026-05-07T10:11:00"), "2026-05-07 10:11:00");
    }

    #[test]
    fn numbers_as_people_see_them() {
        assert_eq!([0.1 + 0.2, 1234567.0, 0.000001, -2.5].map(float), ["0.3", "1234567", "0.000001", "-2.5"]);
    }
}
