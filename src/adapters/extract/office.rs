//! Word and PowerPoint.

use undoc::{
    Block as Part, Document, ErrorKind, FormatType, Paragraph,
    model::{ListType, RevisionType},
};

use super::{
    build::Builder,
    grid::{Cell, Grid},
    sheet::is_encrypted_ooxml,
};
use crate::domain::{error::ExtractError, extract::BlockKind};

/// Reads a `.docx` or `.pptx`. A slide is a page.
pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    if is_encrypted_ooxml(bytes) {
        return Err(ExtractError::Encrypted);
    }
    let document = undoc::parse_bytes(bytes).map_err(|error| match error.kind() {
        ErrorKind::Encrypted => ExtractError::Encrypted,
        _ => ExtractError::Malformed,
    })?;
    let slides = document.format == FormatType::Pptx;
    if let Some(title) = own_title(&document) {
        builder.title(title);
    }
    for (no, section) in document.sections.iter().enumerate() {
        if slides {
            builder.page((no + 1).to_string());
        }
        for part in &section.content {
            read_part(part, slides, builder);
        }
        for note in section.notes.iter().flatten() {
            paragraph(note, builder);
        }
    }
    Ok(())
}

/// The title of the file's properties, unless it is a program's placeholder.
fn own_title(document: &Document) -> Option<&str> {
    let title = document.metadata.title.as_deref()?.trim();
    let placeholder = ["powerpoint presentation", "document", "untitled", "word document", "title", "演示文稿"]
        .iter()
        .any(|word| title.to_lowercase().starts_with(word));
    (!title.is_empty() && !placeholder && !title.ends_with(".doc") && !title.ends_with(".docx")).then_some(title)
}

fn read_part(part: &Part, slides: bool, builder: &mut Builder) {
    match part {
        Part::Paragraph(text) => {
            if slides && text.heading.is_heading() {
                // Each slide is a section: its title must not become a child of the last one's.
                return builder.prose(BlockKind::Heading(text.heading.level().max(1)), &plain(text));
            }
            paragraph(text, builder);
        }
        Part::Table(table) => {
            if let Some(caption) = &table.caption {
                builder.prose(BlockKind::Paragraph, caption);
            }
            let mut grid = Grid::default();
            for row in &table.rows {
                let cells = row.cells.iter().map(cell).collect();
                grid.row(cells, row.is_header);
            }
            grid.emit(builder);
        }
        Part::Note { label, content } => {
            let text: Vec<String> = content.iter().map(plain).collect();
            builder.prose(BlockKind::Paragraph, &format!("[{label}] {}", text.join(" ")));
        }
        Part::PageBreak | Part::SectionBreak | Part::Image { .. } => {}
    }
}

fn cell(cell: &undoc::Cell) -> Cell {
    let mut text: Vec<String> = cell.content.iter().map(plain).collect();
    for nested in &cell.nested_tables {
        text.push(nested.plain_text().replace('\t', "; "));
    }
    Cell {
        text: text.join("\n"),
        rows: usize::try_from(cell.row_span).unwrap_or(1),
        columns: usize::try_from(cell.col_span).unwrap_or(1),
    }
}

fn paragraph(paragraph: &Paragraph, builder: &mut Builder) {
    let text = plain(paragraph);
    let kind = match (&paragraph.list_info, paragraph.heading.is_heading()) {
        (_, true) => BlockKind::Heading(paragraph.heading.level()),
        (Some(list), false) if list.list_type != ListType::None => {
            if text.trim().is_empty() {
                return;
            }
            let mark = match (list.list_type, list.number) {
                (ListType::Numbered, Some(no)) => format!("{no}. "),
                _ => "- ".into(),
            };
            return builder.push(BlockKind::ListItem, &format!("{mark}{}", text.trim()));
        }
        _ if is_title_style(paragraph) => BlockKind::Heading(1),
        _ if is_list_style(paragraph) && !text.trim().is_empty() => {
            return builder.push(BlockKind::ListItem, &format!("- {}", text.trim()));
        }
        _ if is_code(paragraph) => BlockKind::Code,
        _ => BlockKind::Paragraph,
    };
    builder.push(kind, &text);
}

fn is_title_style(paragraph: &Paragraph) -> bool {
    paragraph.style_name.as_deref().is_some_and(|style| matches!(style.to_lowercase().as_str(), "title" | "标题"))
}

/// Whether the style makes a list, whose marks stand in no paragraph. Word writes the names of its own styles in English,
/// whatever language it speaks.
fn is_list_style(paragraph: &Paragraph) -> bool {
    let style = paragraph.style_name.as_deref().unwrap_or_default().to_lowercase();
    ["list bullet", "list number"].iter().any(|name| style.starts_with(name))
}

fn is_code(paragraph: &Paragraph) -> bool {
    !paragraph.runs.is_empty() && paragraph.runs.iter().all(|run| run.style.code)
}

/// A paragraph's text as it reads today: without what a tracked change deleted.
fn plain(paragraph: &Paragraph) -> String {
    let mut text = String::new();
    for run in &paragraph.runs {
        if run.revision != RevisionType::Deleted {
            text.push_str(&run.text);
        }
        if let Some(note) = &run.note {
            text.push_str(&format!(" [{note}]"));
        }
        if run.line_break || run.page_break {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_makes_a_list() {
        let mut builder = Builder::default();
        for (style, text) in
            [("List Bullet", "wind"), ("List Number 2", "rain"), ("List Bullet", " "), ("List Paragraph", "no mark")]
        {
            paragraph(&Paragraph { style_name: Some(style.into()), ..Paragraph::with_text(text) }, &mut builder);
        }
        let out = builder.finish();
        assert_eq!(out.text, "- wind\n- rain\n\nno mark");
        assert_eq!(
            out.blocks.iter().map(|block| block.kind).collect::<Vec<_>>(),
            [BlockKind::ListItem, BlockKind::ListItem, BlockKind::Paragraph]
        );
    }
}
