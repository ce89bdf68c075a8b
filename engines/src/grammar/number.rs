//! Limits the length of numbers that are drawn.
//!
//! JSON has no longest number, so a model that repeats a digit would write one until its tokens are
//! spent. A mask therefore leaves out the tokens that would make a number longer than any reader
//! keeps apart. It limits drawing and not fitting: `Matcher::accept` takes longer numbers. If the
//! schema allows nothing but more digits, the mask stays as the grammar has it.

/// Digits of a whole number: those of 64 bits, signed or not.
const WHOLE_DIGITS_MAX: u32 = 20;
/// Significant digits of a number with a fraction: those that tell two doubles apart.
const SIGNIFICANT_DIGITS_MAX: u32 = 17;
/// Zeros between the point and the first other digit. Small numbers have an exponent.
const FIRST_ZEROS_MAX: u32 = 20;
/// The largest exponent of a double whose mantissa has one digit before the point.
const EXPONENT_MAX: u32 = 307;
const EXPONENT_DIGITS_MAX: u32 = 3;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    Whole,
    Fraction,
    Exponent,
}

/// A number that has begun.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Begun {
    part: Part,
    whole_digits: u32,
    /// Since the first digit that is not zero.
    significant_digits: u32,
    fraction_digits: u32,
    exponent_digits: u32,
    exponent: u32,
    is_small: bool,
}

pub fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')
}

impl Begun {
    fn at_start() -> Begun {
        Begun {
            part: Part::Whole,
            whole_digits: 0,
            significant_digits: 0,
            fraction_digits: 0,
            exponent_digits: 0,
            exponent: 0,
            is_small: false,
        }
    }

    /// The number that the JSON so far ends within; none if it ends in a string or after a value.
    pub fn at_end_of<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Begun> {
        let (mut is_string, mut is_escaped) = (false, false);
        let mut begun = None;
        for byte in words.flatten().copied() {
            if is_string {
                is_string = is_escaped || byte != b'"';
                is_escaped = !is_escaped && byte == b'\\';
                continue;
            }
            is_string = byte == b'"';
            begun = match begun {
                None if byte == b'-' || byte.is_ascii_digit() => Begun::at_start().after(byte),
                None => None,
                Some(number) => Begun::after(number, byte),
            };
        }
        begun
    }

    /// With one more byte; none if the number ends before it.
    fn after(mut self, byte: u8) -> Option<Begun> {
        match (byte, self.part) {
            (b'.', _) => self.part = Part::Fraction,
            (b'e' | b'E', _) => self.part = Part::Exponent,
            (b'-', Part::Exponent) => self.is_small = true,
            (b'+' | b'-', _) => {}
            (b'0'..=b'9', Part::Exponent) => {
                self.exponent_digits += 1;
                self.exponent = self.exponent.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            }
            (b'0'..=b'9', part) => {
                self.whole_digits += u32::from(part == Part::Whole);
                self.fraction_digits += u32::from(part == Part::Fraction);
                if self.significant_digits > 0 || byte != b'0' {
                    self.significant_digits += 1;
                }
            }
            _ => return None,
        }
        Some(self)
    }

    /// Whether a number that is drawn may be this one.
    fn is_short(&self) -> bool {
        match self.part {
            Part::Whole => self.whole_digits <= WHOLE_DIGITS_MAX,
            // A point needs a digit after it.
            Part::Fraction if self.fraction_digits == 0 => {
                self.significant_digits < SIGNIFICANT_DIGITS_MAX
            }
            Part::Fraction if self.significant_digits == 0 => {
                self.fraction_digits <= FIRST_ZEROS_MAX
            }
            Part::Fraction => {
                self.significant_digits <= SIGNIFICANT_DIGITS_MAX
                    && self.fraction_digits <= FIRST_ZEROS_MAX + SIGNIFICANT_DIGITS_MAX
            }
            Part::Exponent => {
                let before_point = if self.is_small { 1 } else { self.whole_digits.max(1) };
                self.exponent_digits <= EXPONENT_DIGITS_MAX
                    && self.exponent + (before_point - 1) <= EXPONENT_MAX
            }
        }
    }

    /// Whether a token may follow: the number does not become too long by its bytes.
    pub fn allows(self, token: &[u8]) -> bool {
        let mut number = self;
        for byte in token {
            match number.after(*byte) {
                Some(longer) if longer.is_short() => number = longer,
                Some(_) => return false,
                None => return true,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, token: &str) -> bool {
        let begun = Begun::at_end_of(text.split_inclusive(' ').map(str::as_bytes));
        begun.expect("a number must have begun").allows(token.as_bytes())
    }

    #[test]
    fn a_number_has_begun_only_outside_of_strings() {
        let begun = |text: &str| Begun::at_end_of(std::iter::once(text.as_bytes())).is_some();
        assert!(begun("[1, -"));
        assert!(begun("{\"a\\\\\":1.5e"));
        assert!(!begun("{\"a1"));
        assert!(!begun("{\"a\\\"1"));
        assert!(!begun("[1,"));
        assert!(!begun("[tru"));
        assert!(!begun("[true"));
        assert!(!begun(""));
    }

    #[test]
    fn whole_numbers_end_after_twenty_digits() {
        let digits = "1".repeat(19);
        assert!(allows(&digits, "1"));
        assert!(allows(&digits, "1,2"));
        assert!(!allows(&digits, "12"));
        assert!(!allows(&format!("-{digits}1"), "0"));
        assert!(allows(&format!("[{digits}1"), "]"));
    }

    #[test]
    fn fractions_end_after_seventeen_significant_digits() {
        assert!(allows("1.111111111111111", "1"));
        assert!(!allows("1.1111111111111111", "1"));
        assert!(allows("0.0001111111111111111", "1"));
        assert!(!allows("0.00011111111111111111", "1"));
        assert!(!allows(&format!("0.{}", "0".repeat(20)), "0"));
        assert!(allows("1.1111111111111111", "e5"));
        assert!(!allows("11111111111111111", "."));
    }

    #[test]
    fn exponents_stay_within_a_double() {
        assert!(allows("1e30", "7"));
        assert!(!allows("1e30", "8"));
        assert!(!allows("123e30", "7"));
        assert!(allows("123e30", "5"));
        assert!(allows("1e-30", "7"));
        assert!(!allows("1e-30", "9"));
        assert!(!allows("1e000", "1"));
    }
}
