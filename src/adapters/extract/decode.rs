//! Bytes of a text file to characters.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::build::Builder;
use crate::domain::error::ExtractError;

/// The text of `bytes`. Order of trust: byte order mark, valid UTF-8, zero bytes as UTF-16 and UTF-32 have them, what
/// the file `declares`, statistics. Damaged UTF-8 is kept and flagged.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>, builder: &mut Builder) -> Result<String, ExtractError> {
    if let Some((text, broken)) = by_mark(bytes).or_else(|| by_zeros(bytes)) {
        if broken {
            flag(builder);
        }
        return Ok(text);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return plausible(text).then(|| text.to_owned()).ok_or(ExtractError::Malformed);
    }
    if let Some(text) = wide_utf16(bytes) {
        return Ok(text);
    }
    if let Some(text) = damaged_utf8(bytes) {
        flag(builder);
        return plausible(&text).then_some(text).ok_or(ExtractError::Malformed);
    }
    let named = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes())).filter(|e| *e != UTF_8);
    let guessed = || {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        detector.feed(bytes, true);
        detector.guess(None, Utf8Detection::Allow)
    };
    for encoding in named.into_iter().chain([guessed()]) {
        let (text, broken) = encoding.decode_without_bom_handling(bytes);
        if !broken && plausible(&text) {
            return Ok(text.into_owned());
        }
    }
    let (text, _) = guessed().decode_without_bom_handling(bytes);
    if !plausible(&text) {
        return Err(ExtractError::Malformed);
    }
    flag(builder);
    Ok(text.into_owned())
}

fn flag(builder: &mut Builder) {
    builder.warn("damaged_text", "Some characters of the file are damaged and could not be read.");
}

/// By byte order mark; UTF-32 first, as UTF-16's mark is the beginning of its own.
fn by_mark(bytes: &[u8]) -> Option<(String, bool)> {
    match bytes {
        [0xFF, 0xFE, 0, 0, rest @ ..] => Some(utf32(rest, u32::from_le_bytes)),
        [0, 0, 0xFE, 0xFF, rest @ ..] => Some(utf32(rest, u32::from_be_bytes)),
        [0xFF, 0xFE, rest @ ..] => Some(by(UTF_16LE, rest)),
        [0xFE, 0xFF, rest @ ..] => Some(by(UTF_16BE, rest)),
        [0xEF, 0xBB, 0xBF, rest @ ..] => Some(by(UTF_8, rest)),
        _ => None,
    }
}

/// UTF-16 or UTF-32 without a mark: zeros stand in one place of every two or four bytes.
fn by_zeros(bytes: &[u8]) -> Option<(String, bool)> {
    let sample = &bytes[..bytes.len().min(4_096) & !3];
    if sample.len() < 4 {
        return None;
    }
    let mut zeros = [0_usize; 4];
    for (at, byte) in sample.iter().enumerate() {
        zeros[at % 4] += usize::from(*byte == 0);
    }
    let each = sample.len() / 4;
    let (most, few) = (|n: usize| n * 10 >= each * 7, |n: usize| n * 10 <= each);
    let [a, b, c, d] = zeros;
    match () {
        () if most(c) && most(d) && few(a) => Some(utf32(bytes, u32::from_le_bytes)),
        () if most(a) && most(b) && few(d) => Some(utf32(bytes, u32::from_be_bytes)),
        () if most(b) && most(d) && few(a) && few(c) => Some(by(UTF_16LE, bytes)),
        () if most(a) && most(c) && few(b) && few(d) => Some(by(UTF_16BE, bytes)),
        () => None,
    }
}

/// UTF-16 without a mark in a script whose letters have no zero bytes: nearly all are Chinese, Japanese or ASCII, and one
/// in fifty is a mark or a space of that script, whose bytes (0, 1, 2, 12) stand in no text of another encoding.
fn wide_utf16(bytes: &[u8]) -> Option<String> {
    let sample = &bytes[..bytes.len().min(4_096) & !1];
    for (encoding, order) in [(UTF_16LE, u16::from_le_bytes as fn([u8; 2]) -> u16), (UTF_16BE, u16::from_be_bytes)] {
        let (mut all, mut usual, mut marks) = (0_usize, 0_usize, 0_usize);
        for unit in sample.as_chunks::<2>().0 {
            let unit = order(*unit);
            let is_mark = matches!(unit, 0x000A | 0x000D | 0x0020 | 0x3000..=0x3002 | 0xFF0C);
            all += 1;
            marks += usize::from(is_mark);
            usual += usize::from(
                is_mark || matches!(unit, 0x20..=0x7E | 0x3003..=0x30FF | 0x4E00..=0x9FFF | 0xFF01..=0xFF5E),
            );
        }
        if all >= 4 && usual * 20 >= all * 19 && marks * 50 >= all {
            let (text, broken) = by(encoding, bytes);
            return (!broken && bytes.len().is_multiple_of(2)).then_some(text);
        }
    }
    None
}

fn by(encoding: &'static Encoding, bytes: &[u8]) -> (String, bool) {
    let (text, broken) = encoding.decode_without_bom_handling(bytes);
    (text.into_owned(), broken)
}

fn utf32(bytes: &[u8], order: fn([u8; 4]) -> u32) -> (String, bool) {
    let mut broken = !bytes.len().is_multiple_of(4);
    let text = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|unit| {
            char::from_u32(order(*unit)).unwrap_or_else(|| {
                broken = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, broken)
}

/// UTF-8 with a few broken places: far more whole multi-byte characters than breaks.
fn damaged_utf8(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let broken = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    let whole = text.chars().filter(|c| !c.is_ascii() && *c != char::REPLACEMENT_CHARACTER).count();
    (whole > 0 && whole >= broken * 4).then(|| text.into_owned())
}

/// Whether it reads like text: of a binary file one character in twenty or more is a control character.
fn plausible(text: &str) -> bool {
    let (mut all, mut odd) = (0_usize, 0_usize);
    for c in text.chars().take(100_000) {
        all += 1;
        odd += usize::from(c.is_control() && !c.is_whitespace() && c != '\u{1B}' && c != '\u{8}');
    }
    odd * 20 <= all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Result<String, ExtractError>, bool) {
        let mut builder = Builder::default();
        let text = decode(bytes, None, &mut builder);
        (text, !builder.finish().warnings.is_empty())
    }

    #[test]
    fn every_unicode_form() {
        let text = "Warranty 保修期 two years";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let wide: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
            [b"\xFF\xFE", le.as_slice()].concat(),
            [b"\xFE\xFF", be.as_slice()].concat(),
            [b"\xFF\xFE\0\0", wide.as_slice()].concat(),
        ] {
            assert_eq!(read(&bytes), (Ok(text.into()), false));
        }
        let high: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        assert_eq!(read(&[b"\0\0\xFE\xFF", high.as_slice()].concat()), (Ok(text.into()), false));
        let (low, latin) = ("Zwei Jahre. ".repeat(4), "Zwei Jahre Garantie für Bärbel. ".repeat(4));
        for text in [low.as_str(), latin.as_str()] {
            let each = |order: fn(u32) -> [u8; 4]| text.chars().flat_map(|c| order(c.into())).collect::<Vec<u8>>();
            assert_eq!(read(&each(u32::to_le_bytes)), (Ok(text.into()), false), "UTF-32 without a mark");
            assert_eq!(read(&each(u32::to_be_bytes)), (Ok(text.into()), false));
            let each = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
            assert_eq!(read(&each(u16::to_le_bytes)), (Ok(text.into()), false), "UTF-16 without a mark");
            assert_eq!(read(&each(u16::to_be_bytes)), (Ok(text.into()), false));
        }
        let ascii: Vec<u8> = "This is a test.".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&ascii), (Ok("This is a test.".into()), false));
    }

    #[test]
    fn legacy_encodings() {
        for (encoding, text) in [
            (encoding_rs::GB18030, "简体中文的说明书，保修期为两年。"),
            (encoding_rs::BIG5, "繁體中文的說明書，保固期為兩年，電池除外。請妥善保存購買憑證。"),
            (encoding_rs::SHIFT_JIS, "日本語の取扱説明書です。保証期間は二年間です。電池は対象外です。"),
            (encoding_rs::EUC_JP, "日本語の取扱説明書です。保証期間は二年間です。電池は対象外です。"),
            (encoding_rs::EUC_KR, "한국어 사용 설명서입니다. 보증 기간은 이 년입니다. 배터리는 제외됩니다."),
            (encoding_rs::WINDOWS_1252, "Die Garantie für das Gerät beträgt zwei Jahre; Größe und Gewähr geprüft."),
            (encoding_rs::WINDOWS_1251, "Гарантия на устройство составляет два года, кроме батареи."),
        ] {
            let (bytes, _, lost) = encoding.encode(text);
            assert!(!lost);
            assert_eq!(read(&bytes), (Ok(text.into()), false), "{}", encoding.name());
        }
    }

    #[test]
    fn unicode_without_a_mark_in_chinese() {
        let text = "保修期为两年，电池除外。请妥善保存购买凭证，并在三十天内登记。The warranty lasts two years.";
        for bytes in [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
            text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
        ] {
            assert_eq!(read(&bytes), (Ok(text.into()), false));
        }
    }

    #[test]
    fn damage_is_flagged_and_noise_refused() {
        let mut bytes = "保修期为两年，电池除外。".as_bytes().to_vec();
        bytes[1] = b'x';
        let (text, flagged) = read(&bytes);
        assert!(text.unwrap().ends_with("电池除外。") && flagged);
        let noise: Vec<u8> = (0..2_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(read(&noise).0, Err(ExtractError::Malformed));
    }
}
