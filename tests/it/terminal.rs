//! `askback ask` at a terminal: a question back is asked at once, and a number answers it.

use serde_json::{Value, json};

use crate::{
    crash::MANUALS,
    support::{home::Home, pty::Terminal},
};

const ASKED: &str = "Which product do you mean?

  1. Aurora X1 (1 passage)
  2. Borealis Z9 (1 passage)

A number or your own words; nothing leaves the question open.
>";

/// Asks what is asked back, and waits for the prompt.
fn asked_back(home: &Home) -> Terminal {
    home.ingest(&MANUALS);
    let mut terminal = Terminal::run(home.askback(&["ask", "How long is the warranty?"]).env("TERM", "xterm"));
    terminal.wait_for("\n> ");
    terminal
}

#[test]
fn a_person_is_asked_back_and_answers_with_a_number() {
    let home = Home::sqlite();
    let mut terminal = asked_back(&home);
    terminal.types("2");
    let answered = "The warranty of the Borealis Z9 lasts 36 months. [1]

[1] borealis-z9.md: The warranty of the Borealis Z9 lasts 36 months.
";
    assert_eq!(terminal.end(), (0, format!("{ASKED} 2\n\n{answered}\n")));
}

#[test]
fn a_person_who_says_nothing_leaves_the_question_open() {
    let home = Home::sqlite();
    let mut terminal = asked_back(&home);
    terminal.types("");
    let left = "The question stays open; answer it with: askback ask \"…\"";
    assert_eq!(terminal.end(), (0, format!("{ASKED}\n\n{left}\n\n")));
}

#[test]
fn a_program_reads_the_question_and_answers_with_a_number() {
    let home = Home::sqlite();
    home.ingest(&MANUALS);
    let ask = |words: &[&str]| -> Value {
        let output = home.askback(&[&["ask", "--json"], words].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let asked = ask(&["How long is the warranty?"]);
    assert_eq!(asked["status"], "awaiting_input");
    assert_eq!(asked["hitl"]["options"], json!(["Aurora X1", "Borealis Z9"]));
    assert_eq!(asked["hitl"]["option_list"][1]["evidence_count"], 1);
    let answered = ask(&["2"]);
    assert_eq!((&answered["status"], &answered["session_id"]), (&json!("completed"), &asked["session_id"]));
    assert_eq!(answered["citations"][0]["filename"], "borealis-z9.md");
}

#[test]
fn a_number_that_is_not_there_is_asked_about_once_more() {
    let home = Home::sqlite();
    let mut terminal = asked_back(&home);
    terminal.types("9");
    terminal.wait_for("There are 2 options");
    terminal.types("2");
    let (code, shown) = terminal.end();
    assert!(code == 0 && shown.contains("The warranty of the Borealis Z9 lasts 36 months. [1]"), "{shown}");
}
