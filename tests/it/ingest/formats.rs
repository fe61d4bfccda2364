//! Every format becomes text that is found, and that stands where its chunks say.

use std::io::{Cursor, Write};

use super::desk::Desk;

/// A file of the sample corpus.
fn sample(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/corpus").join(name)).unwrap()
}

/// A presentation of one slide.
fn slides(title: &str, text: &str) -> Vec<u8> {
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id=\"2\" name=\"n\"/><p:cNvSpPr/><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:spPr/>\
             <p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    const SPACES: &str = "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
                          xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\" \
                          xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\"";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    let relation = |id: &str, kind: &str, target: &str| {
        format!(
            "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" \
             Target=\"{target}\"/></Relationships>"
        )
    };
    let parts = [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"xml\" ContentType=\"application/xml\"/>\
                 <Default Extension=\"rels\" \
                 ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/></Types>"
            ),
        ),
        ("_rels/.rels", relation("rId1", "officeDocument", "ppt/presentation.xml")),
        (
            "ppt/presentation.xml",
            format!(
                "<p:presentation {SPACES}><p:sldIdLst><p:sldId id=\"256\" r:id=\"rId2\"/></p:sldIdLst></p:presentation>"
            ),
        ),
        ("ppt/_rels/presentation.xml.rels", relation("rId2", "slide", "slides/slide1.xml")),
        (
            "ppt/slides/slide1.xml",
            format!(
                "<p:sld {SPACES}><p:cSld><p:spTree>{}{}</p:spTree></p:cSld></p:sld>",
                shape("<p:ph type=\"title\"/>", title),
                shape("", text)
            ),
        ),
    ];
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, body) in parts {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(body.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_is_read_and_found() {
    let desk = Desk::open().await;
    let files: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("aurora-x1-user-manual.md", sample("aurora-x1-user-manual.md"), "Aurora X1 warranty period", "warranty"),
        ("borealis-z9-user-manual.pdf", sample("borealis-z9-user-manual.pdf"), "Borealis Z9 warranty", "warranty"),
        ("returns.html", sample("returns-and-refunds.html"), "refund of returned goods", "refund"),
        ("travel-policy-2025.docx", sample("travel-policy-2025.docx"), "travel policy 2025 hotels", "otel"),
        ("care-plan-prices.xlsx", sample("care-plan-prices.xlsx"), "care plan price", "|"),
        ("员工休假制度.pdf", sample("员工休假制度.pdf"), "年休假 天数", "年休假"),
        ("晨星B7-用户手册.docx", sample("晨星B7-用户手册.docx"), "晨星 B7 滤芯更换", "滤芯"),
        ("note.txt", "The gate code of the north garage is 4711.".into(), "gate code north garage", "4711"),
        ("prices.csv", "Fruit,Price\nQuince,12\nMedlar,15\n".into(), "price of a medlar", "Medlar | 15"),
        ("模型.json", r#"{"名称":"河马","体重":"1500 千克"}"#.into(), "河马体重", "1500 千克"),
        (
            "mail.eml",
            "From: a@a.example\r\nSubject: Kiln schedule\r\n\r\nThe kiln is fired on Thursdays.\r\n".into(),
            "when is the kiln fired",
            "Thursdays",
        ),
        ("sluice.py", "def open_sluice(level):\n    return level > 7\n".into(), "open_sluice level", "level > 7"),
        ("deck.pptx", slides("Beehive plan", "Hives are checked every nine days."), "hives checked", "nine days"),
    ];
    for (name, bytes, _, _) in &files {
        assert_eq!(desk.upload(name, bytes).await, None, "{name}");
    }
    for (name, _, question, expected) in &files {
        let text: Vec<char> = desk.text(name).await.chars().collect();
        let found = desk.search(question).await;
        let (first, rest) = found.split_first().unwrap();
        assert_eq!((&first.filename, rest.len() < 5), (&(*name).to_owned(), true), "{question}");
        assert!(first.chunk.body.contains(expected), "{question}: {}", first.chunk.body);
        let (start, end) = (first.chunk.start as usize, first.chunk.end as usize);
        assert_eq!(text[start..end].iter().collect::<String>(), first.chunk.body, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_told_where_the_format_has_them() {
    let desk = Desk::open().await;
    desk.upload("价目表.xlsx", &sample("会员服务价目表.xlsx")).await;
    desk.upload("guide.pdf", &sample("incident-response-guide.pdf")).await;
    desk.upload("policy.md", &sample("travel-policy-2023.md")).await;
    let found = desk.search("会员 价格").await;
    let sheet = found.iter().find(|placed| placed.filename == "价目表.xlsx").unwrap();
    assert!(sheet.chunk.page.is_some());
    assert_eq!(sheet.chunk.header.is_some(), sheet.chunk.body.contains(" | "));
    let found = desk.search("incident severity").await;
    assert_eq!(found.first().and_then(|placed| placed.chunk.page.as_deref()), Some("1"));
    let found = desk.search("daily meal allowance").await;
    let meals = found.first().unwrap();
    assert_eq!((meals.chunk.page.as_deref(), meals.chunk.section.as_deref()), (None, Some("Meals")));
    assert_eq!(meals.title.as_deref(), Some("Northlight Travel Policy 2023"));
    assert_eq!(meals.facets.edition.as_deref(), Some("2023"));
    assert_eq!(meals.facets.effective_from.as_deref(), Some("2023-01-01"));
}
