//! `get_current_weather`: the weather now, or of the days to come.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{
    error::{FaultCode, ToolError, ToolFault},
    model::ToolSpec,
    tool::{Bounds, Tool, ToolContext, ToolOutcome},
    weather::{Extensions, Half, Report, WeatherError, WeatherService, Wind},
};

/// Longest name of a place, in characters.
const MAX_LOCATION: usize = 100;

/// Asks a weather service.
pub struct CurrentWeather {
    service: Arc<dyn WeatherService>,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A city or district: its Chinese name ("北京") or its adcode.
    location: String,
    /// `base`: now; `all`: the days to come.
    #[serde(default)]
    extensions: Extensions,
}

impl CurrentWeather {
    /// The name that models call it by.
    pub const NAME: &'static str = "get_current_weather";

    /// A tool over `service`.
    #[must_use]
    pub fn new(service: Arc<dyn WeatherService>) -> Self {
        let about = "Tells the weather of a city or district now, or its forecast for the days to come. Not for what the \
                     documents say.";
        Self { service, spec: ToolSpec::of::<Arguments>(Self::NAME, about) }
    }
}

#[async_trait]
impl Tool for CurrentWeather {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn bounds(&self) -> Bounds {
        Bounds { time: Duration::from_secs(12), chars: 4_000, ..Bounds::default() }
    }

    async fn call(&self, _: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let Arguments { location, extensions } = self.spec.read(arguments)?;
        let location = location.trim();
        if !(1..=MAX_LOCATION).contains(&location.chars().count()) {
            return Err(self.spec.unfit(&format!("`location` must have 1 to {MAX_LOCATION} characters")));
        }
        let report = self.service.report(location, extensions).await.map_err(|error| {
            let code = match error {
                WeatherError::NotConfigured => FaultCode::NotConfigured,
                WeatherError::UnknownPlace | WeatherError::Refused(_) => FaultCode::Refused,
                WeatherError::Unavailable(_) => FaultCode::Unavailable,
            };
            ToolError::from(ToolFault::new(code, error.to_string()))
        })?;
        let text = told(&report);
        let summary = text.lines().next().unwrap_or_default().to_owned();
        Ok(ToolOutcome { text, status: "ok".into(), summary, ..ToolOutcome::default() })
    }
}

/// A report as text. What the service did not say is left out.
fn told(report: &Report) -> String {
    match report {
        Report::Live(live) => {
            let said = [
                live.weather.clone(),
                with(&live.temperature, "", " °C"),
                with(&live.humidity, "humidity ", " %"),
                wind(&live.wind),
            ];
            format!("{} now: {}{}", live.place, joined(&said), with(&live.reported, " (reported ", ")"))
        }
        Report::Forecast(forecast) => {
            let mut text = format!("{}, forecast{}:", forecast.place, with(&forecast.reported, " (reported ", ")"));
            for day in &forecast.days {
                text.push_str(&format!("\n- {}: day {}; night {}", day.date, half(&day.day), half(&day.night)));
            }
            text
        }
    }
}

fn half(half: &Half) -> String {
    joined(&[half.weather.clone(), with(&half.temperature, "", " °C"), wind(&half.wind)])
}

fn wind(wind: &Wind) -> String {
    let said = [wind.direction.as_str(), wind.force.as_str()];
    with(&said.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "), "wind ", "")
}

fn with(text: &str, before: &str, behind: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{before}{text}{behind}") }
}

fn joined(said: &[String]) -> String {
    let said: Vec<&str> = said.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    if said.is_empty() { "(nothing)".to_owned() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::weather::{Day, Forecast, Live};

    fn blows(direction: &str, force: &str) -> Wind {
        Wind { direction: direction.into(), force: force.into() }
    }

    #[test]
    fn reports_are_told_and_what_is_not_known_left_out() {
        let mut live = Live {
            place: "北京 东城区".into(),
            weather: "晴".into(),
            temperature: "20".into(),
            humidity: "30".into(),
            wind: blows("南", "≤3"),
            reported: "2026-05-01 10:00:00".into(),
        };
        assert_eq!(
            told(&Report::Live(live.clone())),
            "北京 东城区 now: 晴, 20 °C, humidity 30 %, wind 南 ≤3 (reported 2026-05-01 10:00:00)"
        );
        (live.humidity, live.wind, live.reported) = (String::new(), blows("", ""), String::new());
        assert_eq!(told(&Report::Live(live)), "北京 东城区 now: 晴, 20 °C");
        let half = |weather: &str, temperature: &str| Half {
            weather: weather.into(),
            temperature: temperature.into(),
            wind: blows("北", "1-3"),
        };
        let day = Day { date: "2026-05-02".into(), day: half("晴", "22"), night: half("多云", "10") };
        let forecast = Forecast { place: "北京市".into(), reported: String::new(), days: vec![day] };
        assert_eq!(
            told(&Report::Forecast(forecast)),
            "北京市, forecast:\n- 2026-05-02: day 晴, 22 °C, wind 北 1-3; night 多云, 10 °C, wind 北 1-3"
        );
    }

    #[test]
    fn the_schema_names_both_extensions_and_wants_the_place_alone() {
        let schema = ToolSpec::of::<Arguments>("w", "").parameters;
        assert_eq!(schema["required"], serde_json::json!(["location"]));
        let text = schema.to_string();
        assert!(text.contains(r#""base""#) && text.contains(r#""all""#) && !text.contains("$ref"), "{text}");
    }
}
