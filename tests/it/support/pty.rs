//! A command at a pseudo-terminal, as a person has it.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, Command, Stdio},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The person's side.
pub struct Terminal {
    keyboard: File,
    child: Child,
    /// Everything that came, control sequences included.
    pub screen: String,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts `command` with a terminal as its three streams.
    pub fn run(command: &mut Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).expect("it is ours");
        unlockpt(&ours).expect("it is ours");
        let name = ptsname(&ours, Vec::new()).expect("it has a name").into_string().expect("UTF-8");
        let theirs = || Stdio::from(File::options().read(true).write(true).open(&name).expect("it opens"));
        let child = command.stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().expect("it starts");
        // The command keeps its side's files until it is dropped, and the end would not be seen.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { keyboard: ours.into(), child, screen: String::new(), bytes: Vec::new() }
    }

    /// Reads until `text` has come.
    pub fn wait_for(&mut self, text: &str) {
        while !self.screen.contains(text) {
            assert!(self.read(), "{text:?} did not come:\n{}", self.screen);
        }
    }

    /// Types a line.
    pub fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("it listens");
    }

    /// Reads to the end; gives the exit code.
    pub fn end(mut self) -> (i32, String) {
        while self.read() {}
        (self.child.wait().expect("it ends").code().expect("it exits"), visible(&self.screen))
    }

    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        // When the last one has left the other side, reading fails.
        let Ok(count @ 1..) = self.keyboard.read(&mut piece) else { return false };
        self.bytes.extend_from_slice(&piece[..count]);
        self.screen = String::from_utf8_lossy(&self.bytes).into_owned();
        true
    }
}

/// What is left on the screen: control sequences carried out as far as a line goes.
fn visible(screen: &str) -> String {
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    let mut chars = screen.chars().peekable();
    while let Some(char) = chars.next() {
        let line: &mut Vec<char> = lines.last_mut().expect("there is always one");
        match char {
            '\n' => {
                lines.push(Vec::new());
                column = 0;
            }
            '\r' => column = 0,
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                let order = chars.find(|char| char.is_ascii_alphabetic());
                if order == Some('K') {
                    line.clear();
                }
            }
            char => {
                line.resize(line.len().max(column + 1), ' ');
                line[column] = char;
                column += 1;
            }
        }
    }
    lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
}
