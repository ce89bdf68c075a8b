//! The "normalizer" and "pre_tokenizer" of a tokenizer.json, step by step. The library runs all
//! steps but those with a regular expression, whose engine here would differ from Python's.

use crate::boundary::{Failure, Outcome};
use crate::words::{WordPattern, BYTE_LEVEL_PATTERN};
use serde_json::Value;
use tokenizers::tokenizer::normalizer::NormalizedString;
use tokenizers::tokenizer::pattern::Invert;
use tokenizers::{
    Normalizer, NormalizerWrapper, PreTokenizedString, PreTokenizer, PreTokenizerWrapper,
    SplitDelimiterBehavior,
};

enum NormalizerStep {
    Replace { pattern: WordPattern, content: String },
    Library(Box<NormalizerWrapper>),
}

/// All steps of a normalizer; none where the file has none.
#[derive(Default)]
pub struct Normalizers {
    steps: Vec<NormalizerStep>,
}

enum PreTokenizerStep {
    Split {
        pattern: WordPattern,
        behavior: SplitDelimiterBehavior,
        invert: bool,
    },
    /// The steps of "ByteLevel" before it spells bytes.
    ByteLevel {
        pattern: WordPattern,
        add_prefix_space: bool,
    },
    Library(Box<PreTokenizerWrapper>),
}

#[derive(Default)]
pub struct PreTokenizers {
    steps: Vec<PreTokenizerStep>,
}

/// The steps of `value`: itself, or those of a sequence and of sequences inside it.
pub fn leaves<'a>(value: &'a Value, list: &str) -> Vec<&'a Value> {
    match value[list].as_array() {
        Some(steps) if value["type"] == "Sequence" => {
            steps.iter().flat_map(|step| leaves(step, list)).collect()
        }
        _ if value.is_null() => Vec::new(),
        _ => vec![value],
    }
}

/// The pattern of a "Split" or "Replace": a regular expression, or a text as it stands.
pub fn pattern_of(step: &Value) -> Option<String> {
    let pattern = &step["pattern"];
    let text = pattern["String"].as_str().map(regex_syntax::escape);
    text.or_else(|| pattern["Regex"].as_str().map(str::to_owned))
}

pub fn behavior_of(step: &Value) -> Outcome<SplitDelimiterBehavior> {
    serde_json::from_value(step["behavior"].clone()).map_err(|error| malformed(step, error))
}

fn malformed(step: &Value, error: serde_json::Error) -> Failure {
    let name = step["type"].as_str().unwrap_or("without a type");
    Failure::invalid(format!("tokenizer.json: the step {name}: {error}"))
}

impl Normalizers {
    pub fn from_json(value: &Value) -> Outcome<Self> {
        let mut steps = Vec::new();
        for step in leaves(value, "normalizers") {
            let pattern = pattern_of(step).filter(|_| step["type"] == "Replace");
            steps.push(match (pattern, step["content"].as_str()) {
                (Some(pattern), Some(content)) => NormalizerStep::Replace {
                    pattern: WordPattern::new(&pattern)?,
                    content: content.to_owned(),
                },
                _ => {
                    let library = serde_json::from_value(step.clone())
                        .map_err(|error| malformed(step, error))?;
                    NormalizerStep::Library(Box::new(library))
                }
            });
        }
        Ok(Normalizers { steps })
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        for step in &self.steps {
            match step {
                NormalizerStep::Replace { pattern, content } => text.replace(pattern, content)?,
                NormalizerStep::Library(library) => library.normalize(text)?,
            }
        }
        Ok(())
    }
}

impl PreTokenizers {
    pub fn from_json(value: &Value) -> Outcome<Self> {
        let mut steps = Vec::new();
        for step in leaves(value, "pretokenizers") {
            let pattern = pattern_of(step).filter(|_| step["type"] == "Split");
            if let Some(pattern) = pattern {
                steps.push(PreTokenizerStep::Split {
                    pattern: WordPattern::new(&pattern)?,
                    behavior: behavior_of(step)?,
                    invert: step["invert"] == true,
                });
                continue;
            }
            let mut library =
                serde_json::from_value(step.clone()).map_err(|error| malformed(step, error))?;
            if let PreTokenizerWrapper::ByteLevel(byte_level) = &mut library {
                if byte_level.use_regex {
                    steps.push(PreTokenizerStep::ByteLevel {
                        pattern: WordPattern::new(BYTE_LEVEL_PATTERN)?,
                        add_prefix_space: byte_level.add_prefix_space,
                    });
                    byte_level.use_regex = false;
                    byte_level.add_prefix_space = false;
                }
            }
            steps.push(PreTokenizerStep::Library(Box::new(library)));
        }
        Ok(PreTokenizers { steps })
    }

    pub fn pre_tokenize(&self, text: &mut PreTokenizedString) -> tokenizers::Result<()> {
        for step in &self.steps {
            match step {
                PreTokenizerStep::Split { pattern, behavior, invert: false } => {
                    text.split(|_, part| part.split(pattern, *behavior))?;
                }
                PreTokenizerStep::Split { pattern, behavior, invert: true } => {
                    text.split(|_, part| part.split(Invert(pattern), *behavior))?;
                }
                PreTokenizerStep::ByteLevel { pattern, add_prefix_space } => {
                    text.split(|_, mut part| {
                        if *add_prefix_space && !part.get().starts_with(' ') {
                            part.prepend(" ");
                        }
                        part.split(pattern, SplitDelimiterBehavior::Isolated)
                    })?;
                }
                PreTokenizerStep::Library(library) => library.pre_tokenize(text)?,
            }
        }
        Ok(())
    }
}
