//! Amap's weather service, against a server that answers like it.

use std::{sync::Arc, time::Duration};

use askback::{
    adapters::amap::Amap,
    domain::weather::{Day, Extensions, Forecast, Half, Live, Report, WeatherError, WeatherService, Wind},
};
use axum::{Router, extract::RawQuery, http::StatusCode, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex};

/// The key of all requests.
const KEY: &str = "k&y-secret";

/// A server that gives this answer to everything. Gives its address and the queries that it was asked.
async fn server(status: StatusCode, body: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let queries = Arc::clone(&asked);
    let answer = move |RawQuery(query): RawQuery| async move {
        queries.lock().await.push(query.unwrap_or_default());
        (status, body)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new().route("/base/v3/weather/weatherInfo", get(answer));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (format!("http://{address}/base/"), asked)
}

async fn asked(body: &Value, extensions: Extensions) -> Result<Report, WeatherError> {
    let (url, _) = server(StatusCode::OK, body.to_string()).await;
    Amap::new(&url, Some(KEY.into())).unwrap().report("北京", extensions).await
}

fn wind(direction: &str, force: &str) -> Wind {
    Wind { direction: direction.into(), force: force.into() }
}

#[tokio::test]
async fn the_weather_now_is_read_and_the_request_is_what_the_service_wants() {
    let answer = json!({ "status": "1", "count": "1", "info": "OK", "infocode": "10000", "lives": [{
        "province": "北京", "city": "东城区", "adcode": "110101", "weather": "晴", "temperature": "20",
        "winddirection": "南", "windpower": "≤3", "humidity": "30", "reporttime": "2026-05-01 10:00:00",
        "temperature_float": "20.0", "humidity_float": "30.0"
    }] });
    let (url, queries) = server(StatusCode::OK, answer.to_string()).await;
    let live = Live {
        place: "北京 东城区".into(),
        weather: "晴".into(),
        temperature: "20".into(),
        humidity: "30".into(),
        wind: wind("南", "≤3"),
        reported: "2026-05-01 10:00:00".into(),
    };
    let amap = Amap::new(&url, Some(KEY.into())).unwrap();
    assert_eq!(amap.report("东城&区", Extensions::Base).await, Ok(Report::Live(live)));
    let query = queries.lock().await.pop().unwrap();
    let fields: Vec<(String, String)> =
        reqwest::Url::parse(&format!("http://x/?{query}")).unwrap().query_pairs().into_owned().collect();
    let expected = [("key", KEY), ("city", "东城&区"), ("extensions", "base"), ("output", "JSON")];
    assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn a_forecast_is_read() {
    let answer = json!({ "status": "1", "infocode": "10000", "forecasts": [{
        "city": "北京市", "adcode": "110000", "province": "北京市", "reporttime": "2026-05-01 10:00:00", "casts": [
            { "date": "2026-05-01", "week": "5", "dayweather": "晴", "nightweather": "多云", "daytemp": "22",
              "nighttemp": "10", "daywind": "北", "nightwind": [], "daypower": "1-3", "nightpower": "1-3" },
        ]
    }] });
    let half = |weather: &str, temperature: &str, direction: &str| Half {
        weather: weather.into(),
        temperature: temperature.into(),
        wind: wind(direction, "1-3"),
    };
    let day = Day { date: "2026-05-01".into(), day: half("晴", "22", "北"), night: half("多云", "10", "") };
    let forecast = Forecast { place: "北京市".into(), reported: "2026-05-01 10:00:00".into(), days: vec![day] };
    assert_eq!(asked(&answer, Extensions::All).await, Ok(Report::Forecast(forecast)));
}

#[tokio::test]
async fn what_the_service_refuses_is_told_as_it_is() {
    let refused = json!({ "status": "0", "info": "INVALID_USER_KEY", "infocode": "10001" });
    let told = Err(WeatherError::Refused("INVALID_USER_KEY (10001)".into()));
    assert_eq!(asked(&refused, Extensions::Base).await, told);
    for unknown in [json!([]), json!([[]]), json!([{}]), Value::Null] {
        let answer = json!({ "status": "1", "info": "OK", "infocode": "10000", "lives": unknown });
        assert_eq!(asked(&answer, Extensions::Base).await, Err(WeatherError::UnknownPlace), "{answer}");
    }
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_is_told_without_the_key() {
    assert_eq!(
        Amap::new("http://127.0.0.1:1", None).unwrap().report("北京", Extensions::Base).await,
        Err(WeatherError::NotConfigured)
    );
    let (broken, _) = server(StatusCode::OK, "<html>".into()).await;
    let (down, _) = server(StatusCode::BAD_GATEWAY, "{}".into()).await;
    let (long, _) = server(StatusCode::OK, " ".repeat(300 << 10)).await;
    for url in [broken, down, long, "http://127.0.0.1:1".into()] {
        let amap = Amap::new(&url, Some(KEY.into())).unwrap();
        let failed = amap.report("北京", Extensions::Base).await.unwrap_err();
        assert!(matches!(failed, WeatherError::Unavailable(_)), "{failed}");
        let told = failed.to_string();
        assert!(!told.contains("secret") && !told.contains("127.0.0.1"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_waited_for_ten_seconds_and_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let amap = Amap::new(&url, Some(KEY.into())).unwrap();
    let began = tokio::time::Instant::now();
    let failed = amap.report("北京", Extensions::Base).await.unwrap_err();
    assert_eq!(failed, WeatherError::Unavailable("no answer within 10 seconds".into()));
    assert_eq!(began.elapsed().as_secs(), Duration::from_secs(10).as_secs());
}
