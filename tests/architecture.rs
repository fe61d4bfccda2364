//! The arrows between the layers, read from the source. One crate cannot enforce them by the compiler, so this test
//! parses every file and fails on an import that points the wrong way.
//!
//! Tests inside the files obey the same arrows: a unit test that needs another layer belongs to `tests/it`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{
    UseTree,
    visit::{self, Visit},
};

/// Crates and std modules that reach the network, the disk or another process.
const IO: &[&str] =
    &["axum", "sqlx", "reqwest", "qdrant_client", "tokio", "object_store", "std::fs", "std::net", "std::process"];

/// Modules of `src/services` and the siblings that each may import.
const SERVICES: &[(&str, &[&str])] = &[
    ("eval", &["chat", "agent", "memory", "record", "retrieval"]),
    ("chat", &["agent", "memory", "record", "retrieval"]),
    ("agent", &[]),
    ("memory", &[]),
    ("record", &[]),
    ("retrieval", &[]),
    ("ingest", &[]),
    ("auth", &[]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// `lib.rs`: declares the modules, imports nothing.
    Root,
    Domain,
    Text,
    Services,
    Adapters,
    Http,
    /// `config` and `telemetry`: leaves that only `boot` and `main` know.
    Leaf,
    /// `boot` and `main`; `cli` is part of main's layer.
    Top,
}

impl Layer {
    fn of(module: &str) -> Option<Self> {
        Some(match module {
            "domain" => Self::Domain,
            "text" => Self::Text,
            "services" => Self::Services,
            "adapters" => Self::Adapters,
            "http" => Self::Http,
            "config" | "telemetry" => Self::Leaf,
            "boot" | "main" | "cli" => Self::Top,
            _ => return None,
        })
    }

    const fn never_sees(self) -> &'static [&'static str] {
        match self {
            Self::Domain | Self::Text => IO,
            Self::Services => &["axum", "sqlx", "reqwest", "qdrant_client"],
            Self::Adapters => &["axum"],
            Self::Http => &["sqlx", "reqwest", "qdrant_client"],
            Self::Root | Self::Leaf | Self::Top => &[],
        }
    }
}

/// Whether `from` (a module path within the crate) may name `to` (what follows `crate::`).
fn may_name(from: &[String], to: &[String]) -> bool {
    let Some(target) = to.first() else { return from.first().is_none_or(|top| Layer::of(top) == Some(Layer::Top)) };
    let Some(module) = from.first() else { return false };
    if module == target {
        return within(module, from, to);
    }
    let (Some(here), Some(there)) = (Layer::of(module), Layer::of(target)) else { return false };
    match here {
        Layer::Root | Layer::Leaf | Layer::Domain | Layer::Text => false,
        Layer::Services | Layer::Adapters => matches!(there, Layer::Domain | Layer::Text),
        Layer::Http => matches!(there, Layer::Domain | Layer::Services),
        Layer::Top => true,
    }
}

/// Arrows inside one layer: services in their order, adapters only in their own folder.
fn within(layer: &str, from: &[String], to: &[String]) -> bool {
    let (Some(module), target) = (from.get(1), to.get(1)) else { return true };
    match layer {
        "services" => {
            let Some((_, siblings)) = SERVICES.iter().find(|(name, _)| name == module) else { return false };
            target.is_some_and(|target| target == module || siblings.contains(&target.as_str()))
        }
        "adapters" => target == Some(module),
        _ => true,
    }
}

/// Every wrong arrow in `source`, the text of the module `module` (`domain::chat`; empty for the crate's root).
fn wrong_arrows(module: &str, source: &str) -> Vec<String> {
    let file = syn::parse_file(source).expect("the source parses");
    let module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut reader = Reader { module, depth: 0, wrong: Vec::new() };
    reader.visit_file(&file);
    reader.wrong.sort();
    reader.wrong.dedup();
    reader.wrong
}

struct Reader {
    /// Where we are, inline modules included.
    module: Vec<String>,
    /// How many of those are inline.
    depth: usize,
    wrong: Vec<String>,
}

impl Reader {
    fn check(&mut self, path: &[String]) {
        let home = &self.module[..self.module.len() - self.depth];
        let Some(first) = path.first() else { return };
        let target = match first.as_str() {
            "crate" | "askback" => path[1..].to_vec(),
            "super" | "self" => {
                let ups = path.iter().filter(|part| *part == "super").count();
                let rest = path.iter().skip_while(|part| *part == "super" || *part == "self");
                let keep = self.module.len().saturating_sub(ups);
                self.module[..keep].iter().chain(rest).cloned().collect()
            }
            _ => {
                let spelled = path.join("::");
                let layer = home.first().map_or(Some(Layer::Root), |top| Layer::of(top));
                for name in layer.map_or(&[][..], Layer::never_sees) {
                    if spelled == *name || spelled.starts_with(&format!("{name}::")) {
                        self.wrong.push(format!("{} must never see {name}", home.join("::")));
                    }
                }
                return;
            }
        };
        if !may_name(home, &target) {
            self.wrong.push(format!("{} must not import crate::{}", home.join("::"), target.join("::")));
        }
    }

    fn check_tree(&mut self, prefix: &[String], tree: &UseTree) {
        let mut path = prefix.to_vec();
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.check_tree(&path, &step.tree);
            }
            UseTree::Name(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                self.check(&path);
            }
            UseTree::Rename(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                self.check(&path);
            }
            UseTree::Glob(_) => self.check(&path),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.check_tree(&path, item)),
        }
    }

    /// Paths inside the tokens of a macro or an attribute, which syn does not parse.
    fn check_tokens(&mut self, tokens: &str) {
        let joined = tokens.replace(" :: ", "::").replace(":: ", "::").replace(" ::", "::");
        for word in joined.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let path: Vec<String> = word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            if path.len() > 1 {
                self.check(&path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.check_tree(&[], &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.check(&[item.ident.to_string()]);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        self.depth += 1;
        visit::visit_item_mod(self, item);
        self.depth -= 1;
        self.module.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.check(&names);
        }
        visit::visit_path(self, path);
    }

    /// `pub(super)` and `pub(in …)` name who may look in, not what is imported.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.check_tokens(&call.tokens.to_string());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.check_tokens(&list.tokens.to_string());
        }
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }
}

/// Every source file below `folder` with the path of its module.
fn modules(folder: &Path) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(modules(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let inner = path.strip_prefix(&root).expect("it lies in src").with_extension("");
            let names: Vec<&str> = inner.iter().map(|part| part.to_str().expect("names are UTF-8")).collect();
            let module = names.join("::");
            let module = module.strip_suffix("::mod").unwrap_or(&module);
            found.push((path.clone(), if module == "lib" { String::new() } else { module.to_owned() }));
        }
    }
    found.sort();
    found
}

#[test]
fn imports_point_one_way() {
    let mut wrong = Vec::new();
    for (file, module) in modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let source = fs::read_to_string(&file).expect("the file can be read");
        wrong.extend(wrong_arrows(&module, &source));
    }
    assert!(wrong.is_empty(), "wrong arrows (see src/lib.rs for the layers):\n  {}", wrong.join("\n  "));
}

#[test]
fn every_module_has_a_layer() {
    for (file, module) in modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let names: Vec<&str> = module.split("::").collect();
        assert!(module.is_empty() || Layer::of(names[0]).is_some(), "{} belongs to no layer", file.display());
        if let ["services", service, ..] = names[..] {
            assert!(SERVICES.iter().any(|(name, _)| *name == service), "services::{service} is not in the table");
        }
    }
}

#[test]
fn the_checker_fails_on_a_wrong_arrow() {
    let broken = [
        (
            "domain::chat",
            "use crate::services::chat::Chat;",
            "domain::chat must not import crate::services::chat::Chat",
        ),
        ("domain::chat", "fn f() { tokio::spawn(g()); }", "domain::chat must never see tokio"),
        ("domain", "#[derive(sqlx::FromRow)] struct S;", "domain must never see sqlx"),
        ("domain::x", "use std::{fmt, fs::File};", "domain::x must never see std::fs"),
        ("text::words", "use super::super::domain::id::Id;", "text::words must not import crate::domain::id::Id"),
        ("services::auth", "use ::sqlx as db;", "services::auth must never see sqlx"),
        (
            "services::agent::run",
            "use super::super::chat::Chat;",
            "services::agent::run must not import crate::services::chat::Chat",
        ),
        (
            "services::ingest",
            "use crate::services::{retrieval::merge};",
            "services::ingest must not import crate::services::retrieval::merge",
        ),
        ("services::chat", "use crate::services;", "services::chat must not import crate::services"),
        (
            "services::chat",
            "fn f() { let x: crate::http::State; }",
            "services::chat must not import crate::http::State",
        ),
        (
            "services::chat",
            "fn f() { vec![crate::config::Config::new()] }",
            "services::chat must not import crate::config::Config::new",
        ),
        (
            "adapters::llm::chat",
            "use crate::adapters::storage::Sql;",
            "adapters::llm::chat must not import crate::adapters::storage::Sql",
        ),
        (
            "adapters::llm",
            "use crate::services::auth::Auth;",
            "adapters::llm must not import crate::services::auth::Auth",
        ),
        ("adapters::llm", "use axum::Router;", "adapters::llm must never see axum"),
        (
            "http::state",
            "use crate::adapters::clock::SystemClock;",
            "http::state must not import crate::adapters::clock::SystemClock",
        ),
        ("http::api::chat", "fn f() -> reqwest::Client { todo!() }", "http::api::chat must never see reqwest"),
        ("telemetry", "use crate::config::Log;", "telemetry must not import crate::config::Log"),
        ("services::chat", "use crate::*;", "services::chat must not import crate::"),
        (
            "domain::run",
            "mod tests { use super::super::super::text::fold; }",
            "domain::run must not import crate::text::fold",
        ),
    ];
    for (module, source, expected) in broken {
        assert_eq!(wrong_arrows(module, source), [expected], "{source}");
    }
}

#[test]
fn the_checker_lets_right_arrows_pass() {
    let right = [
        ("domain::chat", "use super::id::RunId; use futures::stream::BoxStream; mod tests { use super::*; }"),
        ("services::chat::turn", "use crate::{domain::chat::Turn, services::{agent, memory::Notes}, text::fold};"),
        ("services::eval", "use crate::services::chat::Chat; use tokio::sync::mpsc;"),
        (
            "adapters::llm::client",
            "use super::wire::Request; use crate::{domain::model::ChatModel, text}; use reqwest::Client;",
        ),
        ("http::api::chat", "use crate::{domain::id, http::error::Refusal, services::chat::Chat}; use axum::Json;"),
        ("boot", "use crate::{adapters, config::Config, http, services, telemetry};"),
        ("main", "use askback::{boot, config}; mod cli;"),
        ("cli::ask", "use askback::boot; use crate::cli::output; use super::output::Line;"),
        ("text::words", "pub(super) fn f() {} pub(in crate::text) fn g() {}"),
    ];
    for (module, source) in right {
        assert_eq!(wrong_arrows(module, source), Vec::<String>::new(), "{source}");
    }
}
