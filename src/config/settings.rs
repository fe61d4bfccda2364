//! Every setting that exists: its key in the file, its environment variable, its flag, its default and what it does.

use super::kind::Kind::{
    self, Address, Bytes, Choice, Count, DatabaseUrl, Flag, Folders, List, Path, Secret, Share, Text, Url,
};

/// One row of the reference.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// `section.name` in the file.
    pub key: &'static str,
    /// Environment variable.
    pub env: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// As one would type it; none: unset.
    pub default: Option<&'static str>,
    /// One or two sentences for people.
    pub about: &'static str,
}

impl Setting {
    /// The command line's name of it, without dashes: the variable's name in the flag's spelling. Secrets have none:
    /// a command line can be read by every user of the machine.
    #[must_use]
    pub fn flag(&self) -> Option<String> {
        if matches!(self.kind, Secret) {
            return None;
        }
        let name = self.env.strip_prefix("ASKBACK_").unwrap_or(self.env);
        Some(name.to_ascii_lowercase().replace('_', "-"))
    }

    /// Whether it is true or false, so that its flag needs no value.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        matches!(self.kind, Flag)
    }

    /// The row of this key.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

const fn row(
    key: &'static str,
    env: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    about: &'static str,
) -> Setting {
    Setting { key, env, kind, default, about }
}

const SECONDS: Kind = Count { min: 1, max: 86_400 };

/// All settings, in the order of the example file.
pub const SETTINGS: &[Setting] = &[
    row(
        "server.listen",
        "ASKBACK_LISTEN",
        Address,
        Some("127.0.0.1:8080"),
        "Address to listen on; port 0 lets the system choose.",
    ),
    row(
        "server.cors_origins",
        "ASKBACK_CORS_ORIGINS",
        List,
        None,
        "Origins whose pages may call the API, such as https://app.example.org; none by default.",
    ),
    row(
        "server.body_limit",
        "ASKBACK_BODY_LIMIT",
        Bytes { min: 1 << 10, max: 1 << 30 },
        Some("1 MiB"),
        "Largest JSON body.",
    ),
    row(
        "server.header_limit",
        "ASKBACK_HEADER_LIMIT",
        Bytes { min: 1 << 12, max: 1 << 20 },
        Some("16 KiB"),
        "Largest header block of a request.",
    ),
    row(
        "server.turn_limit",
        "ASKBACK_TURN_LIMIT",
        Count { min: 1, max: 100_000 },
        Some("256"),
        "Turns that run at the same time; further ones get 503 and Retry-After.",
    ),
    row(
        "server.shutdown_seconds",
        "ASKBACK_SHUTDOWN_SECONDS",
        SECONDS,
        Some("20"),
        "How long the server may take to end after SIGTERM; running turns may go on for four fifths of it.",
    ),
    row("server.ui_dir", "ASKBACK_UI_DIR", Path, None, "Folder with a web page to serve instead of the built-in one."),
    row("server.sample", "ASKBACK_SAMPLE", Flag, Some("false"), "Index the sample corpus at the first start."),
    row(
        "storage.data_dir",
        "ASKBACK_DATA_DIR",
        Path,
        Some("./data/var"),
        "Folder that askback owns: database, files, generated secrets.",
    ),
    row("storage.database_url", "DATABASE_URL", DatabaseUrl, None, "postgres://… ; unset: SQLite in the data folder."),
    row(
        "storage.connections",
        "ASKBACK_CONNECTIONS",
        Count { min: 1, max: 1_000 },
        Some("8"),
        "Database connections for reading.",
    ),
    row("qdrant.url", "ASKBACK_QDRANT_URL", Url, None, "Qdrant server; unset: the embedded index."),
    row("qdrant.api_key", "ASKBACK_QDRANT_API_KEY", Secret, None, "Key of the Qdrant server."),
    row(
        "auth.jwt_secret",
        "ASKBACK_JWT_SECRET",
        Secret,
        None,
        "Signs access tokens, at least 32 characters; unset: one is made in the data folder.",
    ),
    row(
        "auth.admin_invite_code",
        "ASKBACK_ADMIN_INVITE_CODE",
        Secret,
        None,
        "Whoever registers with it becomes an admin; unset: one is made and shown at the first start.",
    ),
    row(
        "auth.access_token_minutes",
        "ASKBACK_ACCESS_TOKEN_MINUTES",
        Count { min: 1, max: 1_440 },
        Some("60"),
        "Life of an access token.",
    ),
    row(
        "auth.refresh_token_days",
        "ASKBACK_REFRESH_TOKEN_DAYS",
        Count { min: 1, max: 365 },
        Some("30"),
        "Life of an unused refresh token.",
    ),
    row(
        "auth.argon2_memory_kib",
        "ASKBACK_ARGON2_MEMORY_KIB",
        Count { min: 8_192, max: 1_048_576 },
        Some("19456"),
        "Memory of one password hash.",
    ),
    row(
        "auth.argon2_passes",
        "ASKBACK_ARGON2_PASSES",
        Count { min: 1, max: 32 },
        Some("2"),
        "Passes of one password hash.",
    ),
    row(
        "auth.argon2_concurrency",
        "ASKBACK_ARGON2_CONCURRENCY",
        Count { min: 1, max: 64 },
        Some("2"),
        "Password hashes that are computed at the same time.",
    ),
    row(
        "llm.base_url",
        "ASKBACK_LLM_BASE_URL",
        Url,
        None,
        "OpenAI-compatible server, such as http://127.0.0.1:11434/v1; unset: the built-in model.",
    ),
    row("llm.api_key", "ASKBACK_LLM_API_KEY", Secret, None, "Its key."),
    row("llm.model", "ASKBACK_MODEL", Text, None, "Model that answers; needs llm.base_url."),
    row(
        "llm.fast_model",
        "ASKBACK_FAST_MODEL",
        Text,
        None,
        "Model for planning, rewriting and understanding replies; unset: built-in rules.",
    ),
    row("llm.fast_base_url", "ASKBACK_FAST_BASE_URL", Url, None, "Its server; unset: llm.base_url."),
    row(
        "llm.fast_api_key",
        "ASKBACK_FAST_API_KEY",
        Secret,
        None,
        "Its key; unset: llm.api_key when the server is the same.",
    ),
    row(
        "llm.grade_model",
        "ASKBACK_GRADE_MODEL",
        Text,
        None,
        "Model that judges evidence; unset: the built-in grader.",
    ),
    row("llm.grade_base_url", "ASKBACK_GRADE_BASE_URL", Url, None, "Its server; unset: llm.base_url."),
    row(
        "llm.grade_api_key",
        "ASKBACK_GRADE_API_KEY",
        Secret,
        None,
        "Its key; unset: llm.api_key when the server is the same.",
    ),
    row("llm.connect_seconds", "ASKBACK_LLM_CONNECT_SECONDS", SECONDS, Some("5"), "How long connecting may take."),
    row(
        "llm.first_token_seconds",
        "ASKBACK_LLM_FIRST_TOKEN_SECONDS",
        SECONDS,
        Some("60"),
        "How long a model may think before its first event.",
    ),
    row(
        "llm.between_tokens_seconds",
        "ASKBACK_LLM_BETWEEN_TOKENS_SECONDS",
        SECONDS,
        Some("30"),
        "How long a model may pause while it answers.",
    ),
    row("llm.total_seconds", "ASKBACK_LLM_TOTAL_SECONDS", SECONDS, Some("180"), "How long one call may take in all."),
    row(
        "llm.retries",
        "ASKBACK_LLM_RETRIES",
        Count { min: 0, max: 5 },
        Some("2"),
        "Further tries when a call fails before its first event.",
    ),
    row(
        "llm.window_tokens",
        "ASKBACK_LLM_WINDOW_TOKENS",
        Count { min: 1_000, max: 2_000_000 },
        Some("16000"),
        "Tokens of system prompt, history and question that the chat model is given at most.",
    ),
    row("embedding.model", "ASKBACK_EMBEDDING", Text, Some("builtin"), "What embeds texts: builtin."),
    row("embedding.api_key", "ASKBACK_EMBEDDING_API_KEY", Secret, None, "Key of the embedding server."),
    row("embedding.ort_dylib_path", "ORT_DYLIB_PATH", Path, None, "ONNX runtime library for fastembed models."),
    row("rerank.url", "ASKBACK_RERANK_URL", Url, None, "Reranking server."),
    row("rerank.model", "ASKBACK_RERANK_MODEL", Text, None, "Its model."),
    row("rerank.api_key", "ASKBACK_RERANK_API_KEY", Secret, None, "Its key."),
    row(
        "weather.url",
        "ASKBACK_AMAP_URL",
        Url,
        Some("https://restapi.amap.com"),
        "Amap's web API, which the weather tool asks.",
    ),
    row("weather.api_key", "ASKBACK_AMAP_API_KEY", Secret, None, "Its key; unset: the tool says that it has none."),
    row(
        "retrieval.top_k",
        "ASKBACK_TOP_K",
        Count { min: 1, max: 50 },
        Some("8"),
        "Passages that an answer may rest on.",
    ),
    row(
        "retrieval.candidate_k",
        "ASKBACK_CANDIDATE_K",
        Count { min: 1, max: 1_000 },
        Some("30"),
        "Passages that are fused and merged before the best are kept; at least top_k.",
    ),
    row(
        "retrieval.min_score",
        "ASKBACK_MIN_SCORE",
        Share,
        Some("0"),
        "Fused score below which a passage is left out, 0 … 1.",
    ),
    row(
        "turn.message_limit",
        "ASKBACK_MESSAGE_LIMIT",
        Count { min: 1, max: 1_000_000 },
        Some("32000"),
        "Characters of a message.",
    ),
    row(
        "turn.deadline_seconds",
        "ASKBACK_TURN_DEADLINE_SECONDS",
        SECONDS,
        Some("300"),
        "How long a turn may take in all.",
    ),
    row(
        "turn.recursion_limit",
        "ASKBACK_RECURSION_LIMIT",
        Count { min: 1, max: 100 },
        Some("8"),
        "Agent steps of a turn; a model call is one, a batch of tool calls is one.",
    ),
    row(
        "turn.knowledge_quota",
        "ASKBACK_KNOWLEDGE_QUOTA",
        Count { min: 1, max: 20 },
        Some("1"),
        "Searches that the agent may make in one turn.",
    ),
    row(
        "turn.on_busy",
        "ASKBACK_ON_BUSY",
        Choice(&["reject", "enqueue", "interrupt"]),
        Some("reject"),
        "What a turn does when its session is busy, if the request does not say.",
    ),
    row(
        "turn.on_disconnect",
        "ASKBACK_ON_DISCONNECT",
        Choice(&["continue", "cancel"]),
        Some("continue"),
        "What becomes of a turn when its last watcher leaves, if the request does not say.",
    ),
    row(
        "hitl.expiry_hours",
        "ASKBACK_HITL_EXPIRY_HOURS",
        Count { min: 1, max: 8_760 },
        Some("24"),
        "How long a question to the user stays open.",
    ),
    row(
        "hitl.max_rounds",
        "ASKBACK_HITL_MAX_ROUNDS",
        Count { min: 1, max: 10 },
        Some("2"),
        "How often one question may be asked back.",
    ),
    row(
        "hitl.ask_cost",
        "ASKBACK_ASK_COST",
        Share,
        Some("0.3"),
        "What asking costs beside a wrong silent choice, 0 … 1: a higher number asks back less often.",
    ),
    row(
        "record.runs",
        "ASKBACK_RECORD",
        Choice(&["off", "on"]),
        Some("off"),
        "Whether what models, tools and documents answered in a turn is kept, for askback replay. Off, because it keeps what \
         users and documents say a second time; deleting a session deletes it.",
    ),
    row(
        "record.retention_days",
        "ASKBACK_RECORD_DAYS",
        Count { min: 1, max: 365 },
        Some("7"),
        "How long a recording is kept.",
    ),
    row(
        "record.size_limit",
        "ASKBACK_RECORD_LIMIT",
        Bytes { min: 1 << 16, max: 1 << 28 },
        Some("4 MiB"),
        "Largest recording of one turn; a turn that comes to more cannot be replayed.",
    ),
    row(
        "ingest.upload_limit",
        "ASKBACK_UPLOAD_LIMIT",
        Bytes { min: 1 << 10, max: 1 << 34 },
        Some("100 MiB"),
        "Largest upload.",
    ),
    row(
        "ingest.workers",
        "ASKBACK_INGEST_WORKERS",
        Count { min: 1, max: 64 },
        Some("2"),
        "Documents that are read at the same time.",
    ),
    row(
        "ingest.extract_seconds",
        "ASKBACK_EXTRACT_SECONDS",
        SECONDS,
        Some("120"),
        "How long reading one file may take.",
    ),
    row(
        "ingest.extract_memory",
        "ASKBACK_EXTRACT_MEMORY",
        Bytes { min: 1 << 26, max: 1 << 36 },
        Some("1 GiB"),
        "Memory that reading one file may take.",
    ),
    row(
        "ingest.folders",
        "ASKBACK_INGEST_FOLDERS",
        Folders,
        None,
        "Folders whose files are documents as long as they lie there, such as \"/srv/handbooks=handbooks\": the path and \
         the collection; in this file also { path = \"…\", collection = \"…\" }. Admins add others by /ingest/folders.",
    ),
    row(
        "ingest.scan_seconds",
        "ASKBACK_SCAN_SECONDS",
        SECONDS,
        Some("5"),
        "Time between two looks at a watched folder. A file is read when two looks in a row saw the same of it.",
    ),
    row(
        "ingest.ocr_command",
        "ASKBACK_OCR_COMMAND",
        Text,
        None,
        "Reads PDFs without text: a program of /usr/local/bin, /usr/bin or /bin, or a path, and its words. It gets the \
         path of the PDF as its last word and prints the text in UTF-8, a form feed after each page.",
    ),
    row(
        "ingest.ocr_seconds",
        "ASKBACK_OCR_SECONDS",
        SECONDS,
        Some("600"),
        "How long reading one PDF by ingest.ocr_command may take.",
    ),
    row("log.format", "ASKBACK_LOG_FORMAT", Choice(&["text", "json"]), Some("text"), "How log lines look."),
    row(
        "log.filter",
        "ASKBACK_LOG",
        Text,
        Some("info"),
        "Which lines are logged: a level, or target=level pairs with commas.",
    ),
];

/// The known name that is nearest to `unknown`; the part behind the last dot counts by itself too, so that a key
/// written outside its section is found, and so does the name of a variable without its prefix.
#[must_use]
pub(super) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    fn last(name: &str) -> &str {
        let name = name.rsplit('.').next().unwrap_or(name);
        name.strip_prefix("ASKBACK_").unwrap_or(name)
    }
    known
        .map(|name| {
            let whole = strsim::normalized_damerau_levenshtein(unknown, name);
            let part = strsim::normalized_damerau_levenshtein(last(unknown), last(name));
            (whole.max(part * 0.99), name)
        })
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let keys: HashSet<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        let variables: HashSet<_> = SETTINGS.iter().map(|setting| setting.env).collect();
        assert_eq!((keys.len(), variables.len()), (SETTINGS.len(), SETTINGS.len()));
    }

    #[test]
    fn every_default_is_a_value_of_its_kind() {
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                assert_eq!(setting.kind.parse(default).err(), None, "{}", setting.key);
            }
        }
    }

    #[test]
    fn the_nearest_key_is_named() {
        let keys = || SETTINGS.iter().map(|setting| setting.key);
        assert_eq!(nearest("server.lsten", keys()), Some("server.listen"));
        assert_eq!(nearest("top_k", keys()), Some("retrieval.top_k"));
        let variables = || SETTINGS.iter().map(|setting| setting.env);
        assert_eq!(nearest("ASKBACK_LLM_BASEURL", variables()), Some("ASKBACK_LLM_BASE_URL"));
        assert_eq!(nearest("ASKBACK_DATABASE_URL", variables()), Some("DATABASE_URL"));
    }
}
