//! PDF: page by page, with the text flow that the printed lines had cut.

use unpdf::{Block as Part, Document, ErrorKind, InlineContent, Paragraph, ParseOptions, Table};

use super::{
    build::Builder,
    grid::{Cell, Grid},
    headings,
};
use crate::{
    domain::{error::ExtractError, extract::BlockKind},
    text::clean::{clean, flow},
};

/// Reads a PDF. Pages are labelled by their number.
pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    // A PDF may have some bytes before its mark; readers look at the first 1024.
    if !bytes[..bytes.len().min(1024)].windows(5).any(|window| window == b"%PDF-") {
        return Err(ExtractError::Malformed);
    }
    // One thread: the limits of time and memory count for all threads of the process.
    let options = ParseOptions::new().lenient().sequential().with_resources(false);
    let document = unpdf::parse_bytes_with_options(bytes, options).map_err(|error| match error.kind() {
        ErrorKind::Encrypted | ErrorKind::InvalidPassword => ExtractError::Encrypted,
        _ => ExtractError::Malformed,
    })?;
    if let Some(title) = own_title(&document) {
        builder.title(title);
    }
    for page in &document.pages {
        builder.page(page.number.to_string());
        for part in &page.elements {
            read_part(part, builder);
        }
    }
    warn(&document, builder);
    if is_vertical(bytes) {
        builder.warn(
            "vertical_text",
            "Some text is set in columns from top to bottom; its lines may stand in another order.",
        );
    }
    Ok(())
}

/// Whether a font is set vertically, by its encoding's name: those end in `-V`. Fonts inside packed objects are not seen.
fn is_vertical(bytes: &[u8]) -> bool {
    const KEY: &[u8] = b"/Encoding";
    bytes.windows(KEY.len()).enumerate().filter(|(_, window)| *window == KEY).any(|(at, _)| {
        let value = bytes.get(at + KEY.len()..).unwrap_or_default().trim_ascii_start();
        let Some(name) = value.strip_prefix(b"/") else { return false };
        let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-').unwrap_or(name.len());
        name.get(..end).is_some_and(|name| name.ends_with(b"-V"))
    })
}

/// The title of the file's properties, unless it is a file name or a program's placeholder.
fn own_title(document: &Document) -> Option<&str> {
    let title = document.metadata.title.as_deref()?.trim();
    let lower = title.to_lowercase();
    let junk = lower.starts_with("microsoft word")
        || lower.starts_with("untitled")
        || lower == "(anonymous)"
        || lower.starts_with("microsoft powerpoint")
        || [".txt", ".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd", ".ppt", ".pptx", ".md", ".html"]
            .iter()
            .any(|end| lower.ends_with(end));
    (!title.is_empty() && !junk).then_some(title)
}

fn read_part(part: &Part, builder: &mut Builder) {
    match part {
        Part::Paragraph(text) => paragraph(text, builder),
        Part::Table(table) => read_table(table, builder),
        Part::Code { content } => builder.push(BlockKind::Code, content),
        _ => {}
    }
}

fn paragraph(paragraph: &Paragraph, builder: &mut Builder) {
    let text = flow(&clean(&letters(&inline(paragraph))), true);
    match (paragraph.style.heading_level, &paragraph.style.list_info) {
        (Some(level), _) => builder.push(BlockKind::Heading(level), &text),
        (None, Some(_)) => {
            // The crate gives the printed mark with the paragraph's plain text only.
            let mark = paragraph.plain_text();
            let mark = mark.split(' ').next().unwrap_or("-");
            builder.push(BlockKind::ListItem, &format!("{mark} {text}"));
        }
        (None, None) => match headings::numbered(&text) {
            Some(level) => builder.push(BlockKind::Heading(level), &text),
            None => builder.push(BlockKind::Paragraph, &text),
        },
    }
}

/// Ligatures as the letters that they stand for: a font's choice, not the text's.
fn letters(text: &str) -> String {
    const LIGATURES: [(char, &str); 7] = [
        ('\u{FB00}', "ff"),
        ('\u{FB01}', "fi"),
        ('\u{FB02}', "fl"),
        ('\u{FB03}', "ffi"),
        ('\u{FB04}', "ffl"),
        ('\u{FB05}', "st"),
        ('\u{FB06}', "st"),
    ];
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match LIGATURES.iter().find(|(ligature, _)| *ligature == c) {
            Some((_, letters)) => out.push_str(letters),
            None => out.push(c),
        }
    }
    out
}

fn inline(paragraph: &Paragraph) -> String {
    let mut text = String::new();
    for part in &paragraph.content {
        match part {
            InlineContent::Text(run) => text.push_str(&run.text),
            InlineContent::LineBreak => text.push('\n'),
            InlineContent::Link { text: label, .. } => text.push_str(label),
            InlineContent::Image { .. } => {}
        }
    }
    text
}

fn read_table(table: &Table, builder: &mut Builder) {
    if let Some(caption) = &table.caption {
        builder.prose(BlockKind::Paragraph, caption);
    }
    let mut grid = Grid::default();
    for (no, row) in table.rows.iter().enumerate() {
        let cells = row
            .cells
            .iter()
            .map(|cell| Cell {
                text: cell.content.iter().map(inline).collect::<Vec<_>>().join("\n"),
                rows: cell.rowspan.into(),
                columns: cell.colspan.into(),
            })
            .collect();
        grid.row(cells, row.is_header || no < usize::from(table.header_rows));
    }
    grid.emit(builder);
}

/// What a reader of the text should know about how well it could be read.
fn warn(document: &Document, builder: &mut Builder) {
    let quality = &document.extraction_quality;
    if quality.pages_incomplete {
        builder.warn("pages_missing", "The file is damaged; some of its pages could not be read.");
    }
    if quality.xref_reconstructed {
        builder.warn("repaired", "The file is damaged; its text was read after a repair and may be incomplete.");
    }
    let unreadable =
        document.pages.iter().any(|page| !page.unreadable_fonts.is_empty() || page.undecoded_text_codes > 0);
    if quality.suppressed_text_runs > 0 || quality.undecodable_content_streams > 0 || unreadable {
        builder.warn("unreadable_text", "Some text is set in a way that cannot be read and was left out.");
    }
    if quality.suppressed_ocr_pages > 0 {
        builder.warn("low_quality_text", "The text recognised on scanned pages is unreadable and was left out.");
    }
    let blank = document.pages.iter().filter(|page| page.elements.is_empty() && page.image_op_count > 0).count();
    if blank > 0 && blank < document.pages.len() {
        builder.warn(
            "pages_without_text",
            format!("{blank} of {} pages are pictures without text; they need OCR first.", document.pages.len()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::is_vertical;

    #[test]
    fn vertical_fonts_are_told_by_their_encoding() {
        assert!(is_vertical(b"<< /Type /Font /Encoding /UniJIS-UCS2-V /Name /F1 >>"));
        assert!(is_vertical(b"/Encoding/Identity-H>> <</Encoding/Identity-V>>"));
        assert!(!is_vertical(b"/Encoding /Identity-H /Name /A-V /Encoding 5 0 R"));
    }
}
