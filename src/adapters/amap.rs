//! Amap's weather service, <https://lbs.amap.com/api/webservice/guide/api/weatherinfo>.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use futures::StreamExt;
use reqwest::{Url, redirect::Policy};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::domain::weather::{Day, Extensions, Forecast, Half, Live, Report, WeatherError, WeatherService, Wind};

/// How long one request may take, its answer included.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const LIMIT: usize = 256 << 10;

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AmapError {
    /// The address is none.
    #[error("the address of the weather service cannot be read")]
    Url,
    /// TLS or the pool could not be set up.
    #[error("the HTTP client cannot start: {0}")]
    Http(String),
}

/// See the module. Without a key it says so.
pub struct Amap {
    http: reqwest::Client,
    url: Url,
    key: Option<SecretString>,
}

impl Amap {
    /// The service at `base_url`.
    ///
    /// # Errors
    /// See [`AmapError`].
    pub fn new(base_url: &str, key: Option<SecretString>) -> Result<Self, AmapError> {
        let url = Url::parse(&format!("{}/v3/weather/weatherInfo", base_url.trim_end_matches('/')))
            .map_err(|_| AmapError::Url)?;
        // A redirect would send the key to a place that nobody configured.
        let mut builder = reqwest::Client::builder().timeout(PATIENCE).redirect(Policy::none());
        if is_loopback(&url) {
            // The system's proxy has no business with a server on this machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| AmapError::Http(error.to_string()))?;
        Ok(Self { http, url, key })
    }

    async fn ask(&self, location: &str, extensions: Extensions) -> Result<Value, WeatherError> {
        let key = self.key.as_ref().ok_or(WeatherError::NotConfigured)?;
        let mut url = self.url.clone();
        url.query_pairs_mut()
            .append_pair("key", key.expose_secret())
            .append_pair("city", location)
            .append_pair("extensions", extensions.as_str())
            .append_pair("output", "JSON");
        let response = self.http.get(url).send().await.map_err(|error| unreached(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(WeatherError::Unavailable(format!("HTTP {}", status.as_u16())));
        }
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece.map_err(|error| unreached(&error))?);
            if body.len() > LIMIT {
                return Err(WeatherError::Unavailable("its answer is too long".into()));
            }
        }
        serde_json::from_slice(&body).map_err(|_| WeatherError::Unavailable("its answer is not JSON".into()))
    }
}

#[async_trait]
impl WeatherService for Amap {
    async fn report(&self, location: &str, extensions: Extensions) -> Result<Report, WeatherError> {
        let answer = self.ask(location, extensions).await?;
        if text(&answer, "status") != "1" {
            let (info, code) = (text(&answer, "info"), text(&answer, "infocode"));
            let words = [info, if code.is_empty() { code } else { format!("({code})") }].join(" ");
            let words = if words.trim().is_empty() { "an error without words".into() } else { words };
            return Err(WeatherError::Refused(words.trim().to_owned()));
        }
        match extensions {
            Extensions::Base => first(&answer, "lives").map(|live| Report::Live(read_live(live))),
            Extensions::All => first(&answer, "forecasts").map(|forecast| Report::Forecast(read_forecast(forecast))),
        }
        .ok_or(WeatherError::UnknownPlace)
    }
}

/// The first object of a list. Of a place that it does not know the service gives an empty list, or one in another.
fn first<'a>(answer: &'a Value, list: &str) -> Option<&'a Value> {
    answer.get(list)?.as_array()?.iter().find(|item| item.as_object().is_some_and(|fields| !fields.is_empty()))
}

fn read_live(live: &Value) -> Live {
    Live {
        place: place(live),
        weather: text(live, "weather"),
        temperature: text(live, "temperature"),
        humidity: text(live, "humidity"),
        wind: Wind { direction: text(live, "winddirection"), force: text(live, "windpower") },
        reported: text(live, "reporttime"),
    }
}

fn read_forecast(forecast: &Value) -> Forecast {
    let half = |cast: &Value, half: &str| Half {
        weather: text(cast, &format!("{half}weather")),
        temperature: text(cast, &format!("{half}temp")),
        wind: Wind { direction: text(cast, &format!("{half}wind")), force: text(cast, &format!("{half}power")) },
    };
    let days = forecast.get("casts").and_then(Value::as_array).into_iter().flatten();
    Forecast {
        place: place(forecast),
        reported: text(forecast, "reporttime"),
        days: days
            .map(|cast| Day { date: text(cast, "date"), day: half(cast, "day"), night: half(cast, "night") })
            .collect(),
    }
}

fn place(of: &Value) -> String {
    let (province, city) = (text(of, "province"), text(of, "city"));
    if province == city || province.is_empty() { city } else { format!("{province} {city}").trim().to_owned() }
}

/// A field's text; fields that the service knows nothing of are empty lists.
fn text(of: &Value, field: &str) -> String {
    match of.get(field) {
        Some(Value::String(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A failure below HTTP, by its innermost cause: the outer ones hold the address, and with it the key.
fn unreached(error: &reqwest::Error) -> WeatherError {
    if error.is_timeout() {
        return WeatherError::Unavailable(format!("no answer within {} seconds", PATIENCE.as_secs()));
    }
    let step = if error.is_connect() { "it cannot be reached" } else { "the connection broke" };
    WeatherError::Unavailable(step.into())
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}
