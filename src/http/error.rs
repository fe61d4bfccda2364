//! The one table from errors to what clients are told: status, `code`, a sentence, and headers.

use std::{sync::Arc, time::Duration};

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    domain::{
        chat::Refused,
        error::{ExtractError, StoreError, TurnError},
        problem::{FieldError, Problem},
    },
    services::{
        auth::{AuthError, MAX_KEYS},
        chat::{EventsError, ReplayError, StartError},
        ingest::{
            IngestError,
            folders::{FolderError, MAX_FOLDERS},
        },
        memory::{
            MAX_NOTE,
            events::EventError,
            notebook::NoteError,
            settings::{MAX_SETTINGS, SettingError},
        },
    },
};

/// What a handler fails with.
#[derive(Debug)]
pub(crate) struct ApiError {
    problem: Box<Problem>,
    retry_after: Option<Duration>,
    /// For the log alone.
    cause: Option<String>,
}

/// A problem that waits for its request id. [`super::trace::requests`] writes it, and logs it once.
#[derive(Debug, Clone)]
pub(super) struct Unwritten {
    pub(super) problem: Arc<Problem>,
    pub(super) cause: Option<Arc<str>>,
}

pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

impl ApiError {
    pub(crate) fn new(status: u16, code: &str, detail: impl Into<String>) -> Self {
        Problem::new(status, code, detail).into()
    }

    /// 422 `invalid_field`.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Problem::field(field, message).into()
    }

    /// 422 `unknown_field`.
    pub(super) fn unknown_field(field: String, valid: Vec<String>) -> Self {
        let mut problem = Problem::new(422, "unknown_field", format!("{field}: this field is not known"));
        problem.errors.push(FieldError { field, message: "this field is not known".into(), valid });
        problem.into()
    }

    /// What is not there, and what is not the caller's: not told apart.
    pub(crate) fn not_found() -> Self {
        Self::new(404, "not_found", "There is no such thing here.")
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(405, "method_not_allowed", "This address does not take this method.")
    }

    pub(super) fn missing_token() -> Self {
        Self::new(401, "missing_token", "Log in first: this address needs a bearer token.")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(403, "forbidden", "Only admins may do this.")
    }

    pub(super) fn overloaded() -> Self {
        Self::new(503, "overloaded", "The server is busy. Try again in a moment.").retry_after(Duration::from_secs(1))
    }

    pub(super) fn shutting_down() -> Self {
        Self::new(503, "shutting_down", "The server is shutting down.").retry_after(Duration::from_secs(5))
    }

    pub(super) fn too_slow() -> Self {
        Self::new(408, "request_timeout", "The request's body did not arrive in time.")
    }

    pub(crate) fn too_large(limit: u64) -> Self {
        Self::new(413, "payload_too_large", format!("The body is larger than {limit} bytes."))
    }

    pub(super) fn headers_too_large(limit: usize) -> Self {
        Self::new(431, "headers_too_large", format!("The headers are larger than {limit} bytes, or too many."))
    }

    pub(crate) fn unsupported_media_type(expected: &str) -> Self {
        Self::new(415, "unsupported_media_type", format!("The body must be {expected}."))
    }

    pub(super) fn malformed_json(detail: impl Into<String>) -> Self {
        Self::new(400, "malformed_json", detail)
    }

    /// A defect; `cause` goes to the log.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self::new(500, "internal", "Something went wrong inside the server.").because(cause)
    }

    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    #[cfg(test)]
    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), retry_after: None, cause: None }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::not_found(),
            StoreError::Conflict(what) => {
                Self::new(409, "conflict", "Something else changed it at the same time. Read it again.").because(what)
            }
            StoreError::Unavailable(cause) => {
                Self::new(503, "store_unavailable", "The server cannot reach its storage right now.")
                    .retry_after(Duration::from_secs(1))
                    .because(cause)
            }
        }
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::InvalidField { field, message } => Self::field(field, message),
            AuthError::WeakPassword(why) => {
                let mut problem = Problem::new(422, "weak_password", why);
                problem.errors.push(FieldError { field: "password".into(), message: why.into(), valid: Vec::new() });
                problem.into()
            }
            AuthError::InvalidAdminCode => {
                Self::new(403, "invalid_admin_code", "The invite code for admins is missing or wrong.")
            }
            AuthError::UsernameTaken => Self::new(409, "username_taken", "Someone else has this user name."),
            AuthError::LastAdmin => Self::new(
                409,
                "last_admin",
                "Nobody would be left to manage the others. Make another account an admin first.",
            ),
            AuthError::LocalAccount => {
                Self::new(409, "local_account", "This is the account of the command line; it stays as it is.")
            }
            AuthError::TooManyKeys => Self::new(
                409,
                "too_many_keys",
                format!("An account has at most {MAX_KEYS} keys. Revoke one of them first."),
            ),
            AuthError::GroupTaken => Self::new(409, "name_taken", "There is a group of this name."),
            AuthError::InvalidCredentials => {
                Self::new(401, "invalid_credentials", "The user name or the password is wrong.")
            }
            AuthError::TooManyAttempts { retry_after } => {
                Self::new(429, "rate_limited", "Too many attempts. Wait a moment before the next one.")
                    .retry_after(retry_after)
            }
            AuthError::RefreshReused => Self::new(
                401,
                "refresh_reused",
                "This refresh token was used before. All tokens of that login are revoked now: log in again.",
            ),
            AuthError::InvalidToken => Self::new(401, "invalid_token", "The token is not valid."),
            AuthError::TokenExpired => Self::new(401, "token_expired", "The token has expired."),
            AuthError::Overloaded => Self::overloaded(),
            AuthError::Store(error) => error.into(),
            AuthError::Internal(cause) => Self::internal(cause),
        }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Invalid(field) => invalid(422, "invalid_field", field),
            StartError::Refused(refused) => refused.into(),
            StartError::Overloaded { retry_after } => Self::overloaded().retry_after(retry_after),
            StartError::Internal => Self::internal("accepting a turn panicked"),
        }
    }
}

impl From<ReplayError> for ApiError {
    fn from(error: ReplayError) -> Self {
        let told = error.to_string();
        match error {
            ReplayError::NotFound => Self::new(404, "not_found", told),
            ReplayError::NotRecorded => Self::new(409, "not_recorded", told),
            ReplayError::Incomplete => Self::new(409, "recording_incomplete", told),
            ReplayError::OtherForm(_) | ReplayError::EndedFromOutside(_) => Self::new(409, "not_replayable", told),
            ReplayError::Busy => Self::overloaded(),
            ReplayError::Start(error) => error.into(),
            ReplayError::Store(error) => error.into(),
        }
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Busy(run) => {
                let detail = "A turn is running in this session. Wait for its end or stop it.";
                let mut problem = Problem::new(409, "turn_in_progress", detail);
                problem.run_id = Some(run.to_string());
                problem.into()
            }
            Refused::QueueFull => {
                Self::new(429, "queue_full", "As many turns wait in this session as may. Wait for some of them to end.")
                    .retry_after(Duration::from_secs(5))
            }
            Refused::Overloaded => Self::overloaded(),
            // The service starts a turn of a session that is free.
            Refused::Idle => Self::internal("a free session was taken for a busy one"),
            Refused::NotFound => Self::not_found(),
            Refused::WrongMessage(why) => Self::field("message_id", why),
            Refused::NotContinuable(why) => Self::new(422, "not_continuable", format!("Nothing can be added: {why}.")),
            Refused::HitlNotOpen(status) => Self::new(
                409,
                "hitl_not_open",
                format!("This question is not open any more: it is {}.", status.as_str()),
            ),
            Refused::HitlExpired => Self::new(410, "hitl_expired", "This question has expired. Ask again."),
            Refused::UnknownOption { option, valid } => {
                let message = format!("the question does not offer {option:?}");
                invalid(422, "unknown_option", FieldError { field: "hitl.option_ids".into(), message, valid })
            }
            // The service answers a repeated request with the first one's run.
            Refused::Duplicate(run) => Self::internal(format!("a repeated request of run {run} was not replayed")),
            Refused::IdempotencyMismatch => {
                Self::new(422, "idempotency_mismatch", "This Idempotency-Key was used with another body.")
            }
            Refused::Store(error) => error.into(),
        }
    }
}

impl From<EventsError> for ApiError {
    fn from(error: EventsError) -> Self {
        match error {
            EventsError::Expired => Self::new(
                410,
                "events_expired",
                "Events are kept for 24 hours after a run's end. GET /runs/{id} still tells how it ended.",
            ),
            EventsError::Unknown => {
                Self::new(400, "invalid_event_id", "An event id is the number of an event of this run.")
            }
            EventsError::Store(error) => error.into(),
        }
    }
}

impl From<TurnError> for ApiError {
    fn from(error: TurnError) -> Self {
        Self::from(error.problem()).because(error.to_string())
    }
}

impl From<IngestError> for ApiError {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Filename => Self::field("file", "its name must have 1 to 255 characters and no NUL"),
            IngestError::Collection => Self::field("collection", "must have 1 to 255 characters and no NUL"),
            IngestError::File(error) => error.into(),
            IngestError::Ambiguous(valid) => {
                let message = "the name stands in several collections: say which".into();
                invalid(409, "ambiguous_name", FieldError { field: "collection".into(), message, valid })
            }
            IngestError::NotFailed => {
                Self::new(409, "job_not_failed", "Only a job that has failed can be tried again.")
            }
            IngestError::OtherReindex(job) => Self::new(
                409,
                "other_reindex",
                format!(
                    "Another server indexes all documents anew for another embedder just now. Wait for its end, or cancel \
                     its job {job}."
                ),
            ),
            IngestError::FileGone => {
                Self::new(409, "file_gone", "The file of this job is not kept any more. Upload it again.")
            }
            IngestError::Upload(cause) => Self::internal(cause),
            IngestError::Store(error) => error.into(),
        }
    }
}

impl From<FolderError> for ApiError {
    fn from(error: FolderError) -> Self {
        let path = |message: String| FieldError { field: "path".into(), message, valid: Vec::new() };
        match error {
            FolderError::Path => Self::field("path", "must have 1 to 4096 bytes and no NUL"),
            FolderError::Collection => Self::field("collection", "must have 1 to 255 characters and no NUL"),
            FolderError::Fault(fault) => invalid(422, fault.code(), path(fault.to_string())),
            FolderError::AlreadyWatched => {
                Self::new(409, "already_watched", "This folder is watched for this collection already.")
            }
            FolderError::TooMany => Self::new(
                409,
                "too_many_folders",
                format!("At most {MAX_FOLDERS} folders are watched. Stop watching one of them first."),
            ),
            FolderError::SetByConfig => Self::new(
                409,
                "set_by_config",
                "The server's settings name this folder. Take it out of ingest.folders and start the server again.",
            ),
            FolderError::Ambiguous(valid) => {
                let message = "the folder is watched for several collections: say which".into();
                invalid(409, "ambiguous_folder", FieldError { field: "collection".into(), message, valid })
            }
            FolderError::Store(error) => error.into(),
        }
    }
}

impl From<EventError> for ApiError {
    fn from(error: EventError) -> Self {
        match error {
            EventError::InvalidField { field, message } => Self::field(field, message),
            EventError::Store(error) => error.into(),
        }
    }
}

impl From<SettingError> for ApiError {
    fn from(error: SettingError) -> Self {
        match error {
            SettingError::InvalidField { field, message } => Self::field(field, message),
            SettingError::Full => Self::new(
                409,
                "too_many_settings",
                format!("At most {MAX_SETTINGS} things are remembered of a user. Forget one of them first."),
            ),
            SettingError::Store(error) => error.into(),
        }
    }
}

impl From<NoteError> for ApiError {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Text => Self::field("note", format!("must have at most {MAX_NOTE} characters and no NUL")),
            NoteError::Changed => {
                Self::new(409, "note_changed", "The note was changed since you read it. Read it again.")
            }
            NoteError::Store(error) => error.into(),
        }
    }
}

impl From<ExtractError> for ApiError {
    fn from(error: ExtractError) -> Self {
        let status = match error {
            ExtractError::Unsupported => 415,
            ExtractError::Unavailable => 503,
            ExtractError::EmptyFile
            | ExtractError::NoText
            | ExtractError::Encrypted
            | ExtractError::Malformed
            | ExtractError::ArchiveLimit
            | ExtractError::Timeout
            | ExtractError::Memory => 422,
        };
        Self::new(status, error.code(), error.sentence())
    }
}

fn invalid(status: u16, code: &str, error: FieldError) -> ApiError {
    let mut problem = Problem::new(status, code, format!("{}: {}", error.field, error.message));
    problem.errors.push(error);
    problem.into()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            // Rounded up: who comes back on the second must find it granted.
            let seconds = wait.as_millis().div_ceil(1000).max(1);
            insert(&mut response, header::RETRY_AFTER, &seconds.to_string());
        }
        response.extensions_mut().insert(Unwritten { problem: self.problem.into(), cause: self.cause.map(Into::into) });
        response
    }
}

fn insert(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
