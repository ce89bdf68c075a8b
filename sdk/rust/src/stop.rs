//! When a text ends, and which of it may be shown: never half a character, nor what may be the beginning of
//! a text that ends the generation. What `stop.h` of the C++ SDK shows, this shows.
use std::mem;

pub(crate) struct ShownText {
    stops: Vec<String>,
    held: Vec<u8>,   // Of a character that is not complete.
    pending: String, // May begin a stop text.
    is_stopped: bool,
}

impl ShownText {
    pub(crate) fn new(stops: &[String]) -> ShownText {
        let stops = stops.iter().filter(|each| !each.is_empty()).cloned().collect();
        ShownText { stops, held: Vec::new(), pending: String::new(), is_stopped: false }
    }

    /// A stop text appeared.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// The text that may be shown now that these bytes are known.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        self.take_characters(false);
        self.release()
    }

    /// Nothing more will come: the text held back.
    pub(crate) fn finish(&mut self) -> String {
        if self.is_stopped {
            return String::new();
        }
        self.take_characters(true);
        let mut shown = self.release();
        if !self.is_stopped {
            shown += &mem::take(&mut self.pending);
        }
        shown
    }

    /// Whole characters become pending; each part that can be none becomes one U+FFFD.
    fn take_characters(&mut self, is_end: bool) {
        let held = mem::take(&mut self.held);
        let mut rest = held.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.pending.push_str(text),
                Err(error) => {
                    let (valid, wrong) = rest.split_at(error.valid_up_to());
                    self.pending.push_str(std::str::from_utf8(valid).expect("it was found valid"));
                    match error.error_len() {
                        None if !is_end => {
                            self.held = wrong.to_vec();
                            return;
                        }
                        bytes => {
                            self.pending.push(char::REPLACEMENT_CHARACTER);
                            rest = &wrong[bytes.unwrap_or(wrong.len())..];
                        }
                    }
                }
            }
        }
    }

    fn release(&mut self) -> String {
        if let Some(found) =
            self.stops.iter().filter_map(|each| self.pending.find(each.as_str())).min()
        {
            self.is_stopped = true;
            self.pending.truncate(found);
            return mem::take(&mut self.pending);
        }
        let held =
            self.stops.iter().map(|each| prefix_at_end(&self.pending, each)).max().unwrap_or(0);
        let rest = self.pending.split_off(self.pending.len() - held);
        mem::replace(&mut self.pending, rest)
    }
}

/// The bytes at the end of `pending` that begin `stop` without being all of it.
fn prefix_at_end(pending: &str, stop: &str) -> usize {
    let most = (stop.len() - 1).min(pending.len());
    (1..=most)
        .rev()
        .find(|&bytes| stop.is_char_boundary(bytes) && pending.ends_with(&stop[..bytes]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stops: &[&str], parts: &[&[u8]]) -> (Vec<String>, String) {
        let stops: Vec<String> = stops.iter().map(|each| each.to_string()).collect();
        let mut text = ShownText::new(&stops);
        let shown = parts.iter().map(|each| text.push(each)).collect();
        (shown, text.finish())
    }

    #[test]
    fn a_stop_text_is_found_wherever_tokens_end() {
        let (parts, end) = shown(&["\nUser:", "END"], &[b"a\nU", b"s", b"er", b":b"]);
        assert_eq!(parts, ["a", "", "", ""]);
        assert_eq!(end, "");
        let (parts, end) = shown(&["\nUser:"], &[b"a\nU", b"x", b"\nUse"]);
        assert_eq!(parts, ["a", "\nUx", ""]);
        assert_eq!(end, "\nUse");
    }

    #[test]
    fn half_a_character_is_held_back() {
        let (parts, end) = shown(&[], &[b"\xe2\x82", b"\xac\xff", b"\xf0\x9f"]);
        assert_eq!(parts, ["", "€\u{fffd}", ""]);
        assert_eq!(end, "\u{fffd}");
    }
}
