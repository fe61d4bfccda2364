//! Where a text stands: pages, rows under their header, offsets after characters were cleaned away.

use askback::{
    adapters::extract::Limits,
    domain::{
        id::ChunkId,
        knowledge::{DocumentStore, Placed},
    },
};

use super::desk::{Desk, Setup};
use crate::support::pdf::pdf;

/// Every chunk of a level, in order.
async fn chunks(desk: &Desk, filename: &str, level: u8) -> Vec<Placed> {
    let version = desk.current(filename).await;
    let access = desk.storage.readable(desk.user, None).await.unwrap();
    let ids: Vec<ChunkId> =
        (0..version.chunk_count).map(|no| ChunkId::derived(version.id, &format!("{level}/{no}"))).collect();
    desk.storage.hydrate(&access, &ids).await.unwrap()
}

/// The page on which character `at` of the text stands, as the chunk tells it.
async fn page_at(desk: &Desk, placed: &Placed, at: usize) -> Option<String> {
    let pages = desk.storage.pages_inside(&[placed.chunk.id]).await.unwrap();
    let begun = pages.into_iter().rfind(|(_, page)| page.start <= at).map(|(_, page)| page.label);
    begun.or(placed.chunk.page.clone())
}

/// Asserts that each chunk's body stands in the text where it says.
async fn assert_true_offsets(desk: &Desk, filename: &str) {
    let text: Vec<char> = desk.text(filename).await.chars().collect();
    for level in 1..=3 {
        let chunks = chunks(desk, filename, level).await;
        assert!(!chunks.is_empty());
        for Placed { chunk, .. } in chunks {
            let stretch: String = text[chunk.start as usize..chunk.end as usize].iter().collect();
            assert_eq!(stretch, chunk.body, "{filename}");
        }
    }
}

/// What page `no` says; nothing else says the same.
fn said_on(no: usize) -> String {
    format!("Room {no} is kept at {} degrees.", 1_000 + no)
}

fn book(pages: usize) -> Vec<u8> {
    let page = |no: usize| {
        vec![format!("Chapter about the rooms of house {}", no / 10), said_on(no), "The keeper looks every day.".into()]
    };
    pdf(&(1..=pages).map(page).collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_a_pdf_is_there_under_its_number() {
    let desk = Desk::open().await;
    for pages in [1, 13, 400] {
        let name = format!("rooms-{pages}.pdf");
        assert_eq!(desk.upload(&name, &book(pages)).await, None);
        assert_true_offsets(&desk, &name).await;
        let text = desk.text(&name).await;
        for level in 1..=3 {
            let chunks = chunks(&desk, &name, level).await;
            for no in 1..=pages {
                let said = said_on(no);
                let byte = text.find(&said).unwrap_or_else(|| panic!("{name} lacks page {no}"));
                let at = text[..byte].chars().count();
                let holding: Vec<&Placed> = chunks
                    .iter()
                    .filter(|placed| (placed.chunk.start..placed.chunk.end).contains(&(at as i64)))
                    .collect();
                assert!(!holding.is_empty(), "{name}: page {no} is in no chunk of level {level}");
                for placed in holding {
                    assert_eq!(page_at(&desk, placed, at).await, Some(no.to_string()), "{name}, level {level}");
                }
            }
        }
    }
    let found = desk.search("room 277 kept degrees").await;
    assert!(found[0].chunk.body.contains(&said_on(277)), "{}", found[0].chunk.body);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_chunk_of_a_long_table_knows_its_header() {
    const ROWS: usize = 300;
    let desk = Desk::open().await;
    let rows = || (1..=ROWS).map(|no| [format!("Fruit {no}"), format!("{no}.50 €"), format!("产地{no}")]);
    let header = "Fruit | Price | Origin";
    let csv: String = rows().map(|row| row.join(",") + "\n").collect();
    let markdown: String = rows().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    let html: String = rows().map(|row| format!("<tr><td>{}</td></tr>", row.join("</td><td>"))).collect();
    let files = [
        ("table.csv", format!("Fruit,Price,Origin\n{csv}")),
        ("table.md", format!("# Prices\n\nAll of them.\n\n| {header} |\n|---|---|---|\n{markdown}")),
        ("table.html", format!("<table><tr><th>{}</th></tr>{html}</table>", header.replace(" | ", "</th><th>"))),
    ];
    for (name, source) in files {
        assert_eq!(desk.upload(name, source.as_bytes()).await, None);
        assert_true_offsets(&desk, name).await;
        for level in 1..=3 {
            let chunks = chunks(&desk, name, level).await;
            assert!(chunks.len() > 1, "{name} is split");
            let mut seen = Vec::new();
            for Placed { chunk, .. } in &chunks {
                let rows: Vec<&str> = chunk.body.lines().filter(|line| line.starts_with("Fruit ")).collect();
                let rows: Vec<&str> = rows.into_iter().filter(|line| *line != header).collect();
                assert!(rows.iter().all(|row| row.split(" | ").count() == 3), "{name}: rows are whole");
                if !rows.is_empty() {
                    assert_eq!(chunk.header.as_deref(), Some(header), "{name}, level {level}: {}", chunk.body);
                }
                seen.extend(rows.into_iter().map(str::to_owned));
            }
            let expected: Vec<String> = rows().map(|row| row.join(" | ")).collect();
            assert_eq!(seen, expected, "{name}, level {level}: each row once");
        }
    }
    let found = desk.search("产地288").await;
    assert!(found[0].chunk.body.contains("Fruit 288 | 288.50 €"), "{}", found[0].chunk.body);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cleaned_away_leaves_true_offsets() {
    let desk = Desk::open().await;
    let source = "The war\u{0}ranty\u{0} of the lan\u{200B}tern lasts nine years. 保\u{0}修\u{FEFF}期为九年。\r\n\r\n\
                  The bat\u{0}tery \u{1F50B} is cov\u{202E}ered for e\u{301}ver. 电\u{0}池另计。\r\n";
    for name in ["a.txt", "a.md", "a.html", "a.csv"] {
        assert_eq!(desk.upload(name, source.as_bytes()).await, None, "{name}");
        assert_true_offsets(&desk, name).await;
        let text = desk.text(name).await;
        assert!(text.contains("The warranty of the lantern lasts nine years. 保修期为九年。"), "{name}: {text:?}");
        assert!(text.contains("The battery \u{1F50B} is covered for \u{e9}ver. 电池另计。"), "{name}: {text:?}");
    }
    let found = desk.search("warranty of the lantern").await;
    assert_eq!(found.len(), 4, "found by the words as people read them");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_read_part_by_part_as_if_at_once() {
    let limits = Limits { part: 2_000, ..Limits::default() };
    let desk = Desk::closed(Setup { limits, ..Setup::default() }).await;
    desk.start().await;
    let paragraph =
        |no: usize| format!("Valve {no} is opened after {} minutes. 第 {no} 号阀门由当班人员检修。", no * 3);
    let source: Vec<String> = (0..200).map(paragraph).collect();
    for (name, blank) in [("valves.txt", "\n\n"), ("valves.md", "\n\n# Unit\n\n")] {
        assert_eq!(desk.upload(name, source.join(blank).as_bytes()).await, None);
        assert!(desk.faults.count("extract") > 5, "in parts");
        assert_true_offsets(&desk, name).await;
        let (text, version) = (desk.text(name).await, desk.current(name).await);
        assert_eq!(text, source.join(&blank.replace("# ", "")), "{name}");
        assert_eq!(version.chars as usize, text.chars().count());
        let leaves = chunks(&desk, name, 3).await;
        assert_eq!(leaves.len() as i64, version.chunk_count, "numbered through");
        let ids: Vec<ChunkId> = chunks(&desk, name, 2).await.iter().map(|block| block.chunk.id).collect();
        assert!(leaves.iter().all(|leaf| ids.contains(&leaf.chunk.parent.unwrap())), "each in its block");
    }
    let found = desk.search("valve 187").await;
    assert!(found[0].chunk.body.contains("Valve 187 is opened after 561 minutes."), "{}", found[0].chunk.body);
    assert_eq!(desk.ingest.audit().await.unwrap().unsound, []);
    // Blank stretches are no error, unless there is nothing else.
    assert_eq!(desk.upload("gap.txt", format!("One.\n{}\nTwo.", "\n".repeat(9_000)).as_bytes()).await, None);
    assert_eq!(desk.text("gap.txt").await.split_whitespace().collect::<Vec<_>>(), ["One.", "Two."]);
    assert_eq!(desk.upload("blank.txt", " \n".repeat(9_000).as_bytes()).await.as_deref(), Some("empty_file"));
    desk.close().await;
}
