//! Small PDFs, written here.

/// A PDF of these pages, each of some lines of ASCII text.
pub fn pdf(pages: &[Vec<String>]) -> Vec<u8> {
    let mut file = Writer::default();
    let kids: Vec<String> = (0..pages.len()).map(|no| format!("{} 0 R", 4 + 2 * no)).collect();
    file.object("<< /Type /Catalog /Pages 2 0 R >>");
    file.object(&format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()));
    file.object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    for (no, lines) in pages.iter().enumerate() {
        file.object(&format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * no
        ));
        let shown: Vec<String> = lines.iter().map(|line| format!("({}) Tj T*", escaped(line))).collect();
        let content = format!("BT /F1 11 Tf 14 TL 60 780 Td {} ET", shown.join("\n"));
        file.object(&format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    file.finish()
}

fn escaped(line: &str) -> String {
    assert!(line.is_ascii());
    line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)")
}

#[derive(Default)]
struct Writer {
    out: String,
    offsets: Vec<usize>,
}

impl Writer {
    fn object(&mut self, body: &str) {
        if self.out.is_empty() {
            self.out.push_str("%PDF-1.4\n");
        }
        self.offsets.push(self.out.len());
        self.out.push_str(&format!("{} 0 obj\n{body}\nendobj\n", self.offsets.len()));
    }

    fn finish(mut self) -> Vec<u8> {
        let at = self.out.len();
        let size = self.offsets.len() + 1;
        self.out.push_str(&format!("xref\n0 {size}\n0000000000 65535 f \n"));
        for offset in &self.offsets {
            self.out.push_str(&format!("{offset:010} 00000 n \n"));
        }
        self.out.push_str(&format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"));
        self.out.into_bytes()
    }
}
