//! Numbers as their digits, so that comparing and dividing them is exact, however long they are.

use std::cmp::Ordering;

/// 0.DIGITS times ten to the power of `exponent`; neither the first nor the last digit is 0.
#[derive(Debug, PartialEq)]
pub struct Decimal {
    is_negative: bool,
    /// From 0 to 9; none: the number is 0.
    digits: Vec<u8>,
    exponent: i64,
}

/// No exponent that can be written in a text of 1 MiB as digits comes near.
const EXPONENT_MAX: i64 = i64::MAX / 4;

impl Decimal {
    /// `text` is a number as JSON has it.
    pub fn parse(text: &str) -> Decimal {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent = exponent_of(exponent);
        let is_negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            return Decimal { is_negative: false, digits, exponent: 0 };
        }
        let exponent = exponent + whole.len() as i64 - zeros as i64;
        Decimal { is_negative, digits, exponent }
    }

    pub fn is_whole(&self) -> bool {
        self.exponent >= self.digits.len() as i64
    }

    /// Whether it is a multiple of `digits` times ten to the power of minus `decimals`. `digits` is not 0.
    pub fn is_multiple(&self, digits: u32, decimals: u32) -> bool {
        let modulus = u64::from(digits);
        let Ok(shift) =
            u64::try_from(self.exponent - self.digits.len() as i64 + i64::from(decimals))
        else {
            return self.digits.is_empty(); // The last digit, which is not 0, is after the point.
        };
        let rest =
            self.digits.iter().fold(0, |rest, digit| (rest * 10 + u64::from(*digit)) % modulus);
        rest * power_of_ten(shift, modulus) % modulus == 0
    }

    fn magnitude(&self, other: &Decimal) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

/// "+05" is 5; what is beyond `EXPONENT_MAX` is that.
fn exponent_of(text: &str) -> i64 {
    let digits = text.trim_start_matches(['+', '-']);
    let size = digits.bytes().fold(0, |size: i64, digit| {
        size.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(EXPONENT_MAX)
    });
    match text.starts_with('-') {
        true => -size,
        false => size,
    }
}

fn power_of_ten(mut exponent: u64, modulus: u64) -> u64 {
    let (mut power, mut square) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_number_are_one_number() {
        for spellings in [
            &["0", "-0", "0.000", "0e99", "-0.0e-5"][..],
            &["1", "1.0", "10e-1", "0.1e1", "1E0", "1e+00"],
            &["-1500", "-1.5e3", "-15.00e2", "-0.00015e7"],
            &["0.001", "1e-3", "1.000e-03"],
            &["123456789012345678901234567890", "1.23456789012345678901234567890e29"],
        ] {
            for text in spellings {
                assert_eq!(Decimal::parse(text), Decimal::parse(spellings[0]), "{text}");
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_numbers_whatever_their_length() {
        let sorted = [
            "-1e999999999999999999999",
            "-1e400",
            "-100.1",
            "-100",
            "-1.5",
            "-1",
            "-0.5",
            "-1e-400",
            "0",
            "1e-99999999999999999999",
            "1e-400",
            "0.1",
            "0.10000000000000000000000001",
            "1",
            "1.5",
            "9007199254740992",
            "9007199254740992.0001",
            "9007199254740993",
            "1e400",
        ];
        for (i, low) in sorted.iter().enumerate() {
            for (j, high) in sorted.iter().enumerate() {
                let order = Decimal::parse(low).partial_cmp(&Decimal::parse(high));
                assert_eq!(order, Some(i.cmp(&j)), "{low}, {high}");
            }
        }
    }

    #[test]
    fn multiples_are_those_of_exact_arithmetic() {
        for (text, digits, decimals, wanted) in [
            ("0", 7, 0, true),
            ("21", 7, 0, true),
            ("22", 7, 0, false),
            ("-2.1e1", 7, 0, true),
            ("0.3", 1, 1, true),
            ("0.35", 1, 1, false),
            ("1e400", 3, 0, false),
            ("3e400", 3, 0, true),
            ("123456789123456789123456789", 9, 0, true),
            ("123456789123456789123456790", 9, 0, false),
            ("1e-400", 1, 2, false),
            ("0.0075", 1, 4, true),
            ("1e308", 123_456_789, 0, false),
            ("4294967295e50", u32::MAX, 0, true),
            ("1e18446744073709551616", 1, 0, true),
        ] {
            assert_eq!(Decimal::parse(text).is_multiple(digits, decimals), wanted, "{text}");
        }
    }

    #[test]
    fn a_number_is_whole_by_its_value() {
        for (text, wanted) in [
            ("0", true),
            ("1.0", true),
            ("1.5", false),
            ("1.5e1", true),
            ("1e-1", false),
            ("10e-1", true),
            ("-0.0", true),
            ("1e400", true),
            ("1.0000000000000000000000001", false),
        ] {
            assert_eq!(Decimal::parse(text).is_whole(), wanted, "{text}");
        }
    }
}
