//! The weather somewhere, and the port that knows it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Extensions {
    /// Now.
    #[default]
    Base,
    /// The days to come.
    All,
}

impl Extensions {
    /// The word of the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::All => "all",
        }
    }
}

/// What is known of a place, in the service's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Now.
    Live(Live),
    /// The days to come.
    Forecast(Forecast),
}

/// The weather now. What the service does not say is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Live {
    pub place: String,
    pub weather: String,
    /// °C.
    pub temperature: String,
    /// %.
    pub humidity: String,
    pub wind: Wind,
    pub reported: String,
}

/// The weather of the days to come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Forecast {
    pub place: String,
    pub reported: String,
    pub days: Vec<Day>,
}

/// A day of a forecast.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Day {
    /// `2026-05-01`.
    pub date: String,
    pub day: Half,
    pub night: Half,
}

/// A day's day or night.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Half {
    pub weather: String,
    /// °C.
    pub temperature: String,
    pub wind: Wind,
}

/// Direction and force.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Wind {
    pub direction: String,
    pub force: String,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeatherError {
    /// The operator has given no key.
    #[error("no weather service is set up here; its operator has to set weather.api_key")]
    NotConfigured,
    /// The service answers, but knows nothing of the place.
    #[error(
        "the weather service knows no place of this name; it wants the Chinese name of a city or district, or its adcode"
    )]
    UnknownPlace,
    /// The service refuses, with its own words.
    #[error("the weather service answered: {0}")]
    Refused(String),
    /// No answer, in time or at all.
    #[error("the weather service did not answer: {0}")]
    Unavailable(String),
}

/// Knows the weather.
#[async_trait]
pub trait WeatherService: Send + Sync {
    /// The weather at `location`. Bounded in time.
    async fn report(&self, location: &str, extensions: Extensions) -> Result<Report, WeatherError>;
}
