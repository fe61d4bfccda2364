//! Zip containers: what they would unpack to is checked before anything is unpacked.

use std::io::{Cursor, Read};

use crate::domain::error::ExtractError;

/// Most entries of a document's container.
const MAX_ENTRIES: usize = 20_000;
/// An entry larger than [`RATIO_FROM`] may not unpack to more than this many times its packed size.
const MAX_RATIO: u64 = 200;
/// Small entries may be packed as tightly as they like.
const RATIO_FROM: u64 = 16 << 20;

/// Fails with `ArchiveLimit` when `bytes` is a zip that unpacks to more than `limit` bytes, is packed suspiciously
/// tight, or holds too many entries; with `Malformed` when its directory cannot be read. The sizes that the directory
/// tells are checked first; then, as they may lie, every entry is unpacked into nothing and counted.
pub(super) fn check(bytes: &[u8], limit: u64) -> Result<(), ExtractError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|_| ExtractError::Malformed)?;
    if archive.len() > MAX_ENTRIES {
        return Err(ExtractError::ArchiveLimit);
    }
    let mut told = 0_u64;
    for no in 0..archive.len() {
        let entry = archive.by_index_raw(no).map_err(|_| ExtractError::Malformed)?;
        told = told.saturating_add(entry.size());
        let tight = entry.size() > RATIO_FROM && entry.size() / entry.compressed_size().max(1) > MAX_RATIO;
        if tight || told > limit {
            return Err(ExtractError::ArchiveLimit);
        }
        if entry.encrypted() {
            return Err(ExtractError::Encrypted);
        }
    }
    let mut left = limit;
    for no in 0..archive.len() {
        // An entry that cannot be unpacked is the reader's to judge: it may be a picture that nobody needs.
        let Ok(entry) = archive.by_index(no) else { continue };
        let read = std::io::copy(&mut entry.take(left + 1), &mut std::io::sink()).unwrap_or(0);
        left = left.checked_sub(read).ok_or(ExtractError::ArchiveLimit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn sizes_are_bounded() {
        let bytes = archive(&[("a.xml", &[b'x'; 4_000]), ("b.xml", b"y")]);
        assert_eq!(check(&bytes, 4_001), Ok(()));
        assert_eq!(check(&bytes, 4_000), Err(ExtractError::ArchiveLimit));
        assert_eq!(check(b"PK nothing", 4_000), Err(ExtractError::Malformed));
        let bomb = archive(&[("a.xml", &vec![0; 20 << 20])]);
        assert_eq!(check(&bomb, 1 << 30), Err(ExtractError::ArchiveLimit));
    }
}
