//! Counters and outputs of a context that was computed.
use crate::host::{self, Record};
use crate::low::Embeds;
use crate::{Result, TokenProbability};

/// A context after a call that computed or edited it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tokens whose keys and values were written, dropped ones included.
    pub seq_len: u32,
    /// Full pages that the context holds and that are named by their content.
    pub committed_page_count: u32,
    /// Pages that only this context writes.
    pub working_page_count: u32,
    /// Tokens written to working pages.
    pub working_page_token_count: u32,
    /// Tokens that were found in the cache, never computed.
    pub found_token_count: u32,
}

impl Counters {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Counters> {
        let mut record = Record::new(bytes, "counters");
        let counters = Counters {
            seq_len: record.u32()?,
            committed_page_count: record.u32()?,
            working_page_count: record.u32()?,
            working_page_token_count: record.u32()?,
            found_token_count: record.u32()?,
        };
        record.end(counters)
    }
}

/// The most probable next tokens, falling.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Each with its share of the full softmax.
    pub tokens: Vec<TokenProbability>,
}

impl Distribution {
    /// The probability of the token; 0 if it is not among these.
    pub fn probability_of(&self, token: u32) -> f32 {
        self.tokens.iter().find(|each| each.token == token).map_or(0.0, |each| each.probability)
    }
    pub(crate) fn decode(bytes: &[u8]) -> Result<Distribution> {
        let mut record = Record::new(bytes, "a distribution");
        let distribution = Distribution::read(&mut record)?;
        record.end(distribution)
    }
    /// Several, one after the other.
    pub(crate) fn decode_all(bytes: &[u8]) -> Result<Vec<Distribution>> {
        let mut record = Record::new(bytes, "distributions");
        let mut all = Vec::new();
        while !record.is_at_end() {
            all.push(Distribution::read(&mut record)?);
        }
        Ok(all)
    }
    fn read(record: &mut Record<'_>) -> Result<Distribution> {
        let count = record.u32()? as usize;
        let ids = host::u32s(record.bytes(count * 4)?);
        let shares = host::u32s(record.bytes(count * 4)?);
        let of = |(token, bits)| TokenProbability { token, probability: f32::from_bits(bits) };
        Ok(Distribution { tokens: ids.into_iter().zip(shares).map(of).collect() })
    }
}

/// A computed pass of a context, with its outputs.
#[derive(Debug)]
pub struct Pass {
    /// One output for each of the last `count` tokens, in order.
    pub embeds: Embeds,
    /// The counters of the context after the pass.
    pub counters: Counters,
}

/// Numbers of a result: logits, log-probabilities.
pub(crate) fn to_numbers(bytes: &[u8]) -> Result<Vec<f32>> {
    let mut record = Record::new(bytes, "numbers");
    let format = record.u32()?;
    let count = record.u32()? as usize;
    if format != 0 {
        return Err(record.broken());
    }
    let numbers = host::u32s(record.bytes(count * 4)?).into_iter().map(f32::from_bits).collect();
    record.end(numbers)
}
