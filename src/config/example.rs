//! `askback config example`: the reference of all keys as a file that can be used as it is.

use super::{kind::Kind, settings::SETTINGS};

/// A file in which every setting stands with its explanation, commented out at its default.
#[must_use]
pub fn example() -> String {
    let mut text = String::from(
        "# askback.toml: read from the working folder, or from where --config says.\n\
         # Defaults < this file < environment < flags. Changes need a restart.\n",
    );
    let mut section = "";
    for setting in SETTINGS {
        let (here, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if here != section {
            text.push_str(&format!("\n[{here}]\n"));
            section = here;
        }
        let flag = setting.flag().map(|flag| format!(", --{flag}")).unwrap_or_default();
        text.push_str(&format!("# {} ({}{flag})\n", setting.about, setting.env));
        text.push_str(&match setting.default {
            Some(default) => format!("#{name} = {}\n", literal(setting.kind, default)),
            None => format!("#{name} =\n"),
        });
    }
    text
}

fn literal(kind: Kind, default: &str) -> String {
    match kind {
        Kind::Flag | Kind::Count { .. } | Kind::Share => default.to_owned(),
        _ => format!("{default:?}"),
    }
}
