//! Checks whether a text is an instance of a schema, also if no model wrote it.
//!
//! A grammar knows one spelling of an instance: without blanks, in the order of the schema, whole
//! numbers without a point. This asks the schema itself. It reads the output of `schema::prepare`
//! for the library, so both answer for the same keywords. It matches patterns with the engine that
//! masks are made with. If a name comes twice in an object, each of its values must fit: readers of
//! JSON keep the first or the last.
//!
//! Schemas and texts come from programs that may mean harm: steps, nesting, work of patterns and time
//! have limits.

use super::decimal::Decimal;
use super::formats;
use super::json::{read, Fault, Json};
use super::schema::decimal_of;
use crate::boundary::{Failure, Outcome, Status};
use llguidance::derivre::{Regex, RegexAst, RegexBuilder};
use llguidance::{regex_to_lark, CancellationHandle};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Schemas that were asked about values, and values that were compared.
const STEP_COUNT_MAX: usize = 2_000_000;
/// The count of a kept answer: it takes 40 bytes.
const ANSWER_STEP_COUNT: usize = 2;
/// Schemas inside one another, with what they refer to: 1 KiB of stack each.
const DEPTH_MAX: usize = 1_000;
/// Nodes of expressions, and states of one: as in masks, see compile.rs.
const PATTERN_COST_MAX: u64 = 1_000_000;
const PATTERN_STATE_COUNT_MAX: usize = 20_000;
/// Between two looks at the clock.
const STEPS_PER_LOOK: usize = 256;

/// `schema` comes from `schema::prepare`. Text that is not JSON is not an instance. `stop` ends the
/// work with a timeout.
pub fn fits(schema: &Value, text: &[u8], stop: &CancellationHandle) -> Outcome<bool> {
    let Ok(text) = std::str::from_utf8(text) else { return Ok(false) };
    let value = match read(text) {
        Ok(value) => value,
        Err(Fault::NotJson) => return Ok(false),
        Err(Fault::TooDeep) => {
            let most = super::json::NESTING_MAX;
            return Err(Failure::new(
                Status::Limit,
                format!("the text is nested deeper than {most}"),
            ));
        }
    };
    Instance::new(schema, stop).schema(schema, &value)
}

type Keywords = Map<String, Value>;

/// The state of one check of a text.
struct Instance<'a> {
    root: &'a Value,
    stop: &'a CancellationHandle,
    step_count: usize,
    depth: usize,
    pattern_cost: u64,
    /// By what they were made from; `true`: it may match anywhere in a text.
    patterns: HashMap<(&'a str, bool), Regex>,
    decimals: HashMap<*const Value, Decimal>,
    /// Answers of a referenced schema about a value; none while it is asked.
    answers: HashMap<(*const Value, *const Json<'a>), Option<bool>>,
    /// How often a schema was asked again of a value that it is being asked of.
    cycle_count: usize,
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items_of(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl<'a> Instance<'a> {
    fn new(root: &'a Value, stop: &'a CancellationHandle) -> Self {
        Instance {
            root,
            stop,
            step_count: 0,
            depth: 0,
            pattern_cost: 0,
            patterns: HashMap::new(),
            decimals: HashMap::new(),
            answers: HashMap::new(),
            cycle_count: 0,
        }
    }

    fn spend(&mut self, steps: usize) -> Outcome<()> {
        let looks = |count: usize| count / STEPS_PER_LOOK;
        let before = self.step_count;
        self.step_count += steps;
        if self.step_count > STEP_COUNT_MAX {
            return Err(Failure::new(
                Status::Timeout,
                format!("the schema needs over {STEP_COUNT_MAX} steps for the text"),
            ));
        }
        if looks(before) != looks(self.step_count) {
            self.look_at_clock()?;
        }
        Ok(())
    }

    fn look_at_clock(&self) -> Outcome<()> {
        match self.stop.is_cancelled() {
            true => Err(Failure::new(Status::Timeout, "the schema takes too long for the text")),
            false => Ok(()),
        }
    }

    fn schema(&mut self, schema: &'a Value, value: &Json<'a>) -> Outcome<bool> {
        let Value::Object(keywords) = schema else { return Ok(*schema != Value::Bool(false)) };
        self.spend(1)?;
        if self.depth == DEPTH_MAX {
            return Err(Failure::new(
                Status::Limit,
                format!("over {DEPTH_MAX} schemas inside one another apply to the text"),
            ));
        }
        self.depth += 1;
        let mut fits = true;
        for (key, argument) in keywords {
            fits = fits && self.keyword(keywords, key, argument, value)?;
        }
        self.depth -= 1;
        Ok(fits)
    }

    fn keyword(
        &mut self,
        beside: &'a Keywords,
        key: &str,
        argument: &'a Value,
        value: &Json<'a>,
    ) -> Outcome<bool> {
        match (key, value) {
            ("type", _) => Ok(is_of_type(argument, value)),
            ("const", _) => self.equals(argument, value),
            ("enum", _) => {
                for each in items_of(argument) {
                    if self.equals(each, value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ("allOf", _) => {
                let count = items_of(argument).len();
                Ok(self.count_fitting(argument, value, count, false)? == count)
            }
            ("anyOf", _) => Ok(self.count_fitting(argument, value, 1, true)? == 1),
            ("oneOf", _) => Ok(self.count_fitting(argument, value, 2, true)? == 1),
            ("$ref", _) => self.reference(argument, value),
            (_, Json::String(text)) => self.string(key, argument, text),
            (_, Json::Number(text)) => self.number(beside, key, argument, text),
            (_, Json::Array(items)) => self.array(beside, key, argument, items),
            (_, Json::Object(members)) => self.object(beside, key, argument, members),
            _ => Ok(true),
        }
    }

    /// How many of the schemas `value` fits. It ends when that is `most`, or at the first one that does
    /// not fit unless it `goes_on`.
    fn count_fitting(
        &mut self,
        schemas: &'a Value,
        value: &Json<'a>,
        most: usize,
        goes_on: bool,
    ) -> Outcome<usize> {
        let mut count = 0;
        for each in items_of(schemas) {
            let fits = self.schema(each, value)?;
            count += usize::from(fits);
            if count == most || !(fits || goes_on) {
                break;
            }
        }
        Ok(count)
    }

    /// Looks up a reference. An answer is kept, because the choices of a tree would double at each
    /// level. A schema that needs its own answer for one has no text, as in a grammar.
    fn reference(&mut self, argument: &'a Value, value: &Json<'a>) -> Outcome<bool> {
        let target = match text_of(argument).strip_prefix("#/$defs/") {
            Some(name) => self.root.get("$defs").and_then(|definitions| definitions.get(name)),
            None => Some(self.root),
        };
        let lost = || Failure::new(Status::Internal, format!("{argument} names no schema"));
        let target = target.ok_or_else(lost)?;
        let question = (std::ptr::from_ref(target), std::ptr::from_ref(value));
        match self.answers.get(&question) {
            Some(Some(fits)) => return Ok(*fits),
            Some(None) => {
                self.cycle_count += 1;
                return Ok(false);
            }
            None => {}
        }
        self.spend(ANSWER_STEP_COUNT)?;
        self.answers.insert(question, None);
        let cycles_before = self.cycle_count;
        let fits = self.schema(target, value)?;
        // An answer that a cycle had a part in holds inside that cycle only.
        match self.cycle_count == cycles_before {
            true => self.answers.insert(question, Some(fits)),
            false => self.answers.remove(&question),
        };
        Ok(fits)
    }

    fn string(&mut self, key: &str, argument: &'a Value, text: &str) -> Outcome<bool> {
        let length = || text.chars().count() as u64;
        match (key, argument) {
            ("minLength", Value::Number(least)) => Ok(least.as_u64().is_none_or(|n| length() >= n)),
            ("maxLength", Value::Number(most)) => Ok(most.as_u64().is_none_or(|n| length() <= n)),
            ("pattern", Value::String(pattern)) => self.matches(pattern, true, text),
            ("format", Value::String(name)) => match formats::expression(name) {
                Some(expression) => self.matches(expression, false, text),
                None => Ok(true),
            },
            _ => Ok(true),
        }
    }

    fn matches(&mut self, pattern: &'a str, is_search: bool, text: &str) -> Outcome<bool> {
        self.spend(1 + text.len() / 64)?;
        if !self.patterns.contains_key(&(pattern, is_search)) {
            self.look_at_clock()?;
            let cost_left = PATTERN_COST_MAX.saturating_sub(self.pattern_cost);
            let regex = regex_of(pattern, is_search, cost_left)?;
            self.pattern_cost += regex.cost();
            self.patterns.insert((pattern, is_search), regex);
        }
        let regex = self.patterns.get_mut(&(pattern, is_search)).expect("it was just made");
        let cost_before = regex.cost();
        let cost_max = cost_before + PATTERN_COST_MAX.saturating_sub(self.pattern_cost);
        let mut state = regex.initial_state();
        for byte in text.as_bytes() {
            state = regex.transition(state, *byte);
            if state.is_dead() {
                break;
            }
            if regex.cost() > cost_max || state.as_usize() > PATTERN_STATE_COUNT_MAX {
                return Err(too_many_steps(pattern));
            }
        }
        let is_match = regex.is_accepting(state);
        self.pattern_cost += regex.cost() - cost_before;
        Ok(is_match)
    }

    fn number(
        &mut self,
        beside: &'a Keywords,
        key: &str,
        argument: &'a Value,
        text: &str,
    ) -> Outcome<bool> {
        // In draft 04 an exclusive limit is a flag beside the limit.
        let bound = match (key, argument) {
            ("exclusiveMinimum", Value::Bool(true)) => beside.get("minimum"),
            ("exclusiveMaximum", Value::Bool(true)) => beside.get("maximum"),
            _ => Some(argument),
        };
        let Some(bound @ Value::Number(_)) = bound else { return Ok(true) };
        match key {
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {}
            "multipleOf" => {
                self.spend(1 + text.len() / 64)?;
                let (digits, decimals) = decimal_of(bound).ok_or_else(|| {
                    Failure::new(Status::Internal, format!("{bound} has too many digits"))
                })?;
                return Ok(Decimal::parse(text).is_multiple(digits, decimals));
            }
            _ => return Ok(true),
        }
        self.spend(1 + text.len() / 64)?;
        let number = Decimal::parse(text);
        let bound = self.decimal(bound);
        Ok(match key {
            "minimum" => number >= *bound,
            "maximum" => number <= *bound,
            "exclusiveMinimum" => number > *bound,
            _ => number < *bound,
        })
    }

    /// The decimal of a number in the schema, which is the shortest one that reads as it.
    fn decimal(&mut self, value: &'a Value) -> &Decimal {
        self.decimals.entry(value).or_insert_with(|| Decimal::parse(&value.to_string()))
    }

    fn array(
        &mut self,
        beside: &'a Keywords,
        key: &str,
        argument: &'a Value,
        items: &[Json<'a>],
    ) -> Outcome<bool> {
        let count = items.len() as u64;
        match key {
            "minItems" => Ok(argument.as_u64().is_none_or(|least| count >= least)),
            "maxItems" => Ok(argument.as_u64().is_none_or(|most| count <= most)),
            "prefixItems" => {
                for (schema, item) in items_of(argument).iter().zip(items) {
                    if !self.schema(schema, item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            "items" => {
                let first = beside.get("prefixItems").map_or(0, |first| items_of(first).len());
                for item in items.iter().skip(first) {
                    if !self.schema(argument, item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn object(
        &mut self,
        beside: &'a Keywords,
        key: &str,
        argument: &'a Value,
        members: &[Member<'a>],
    ) -> Outcome<bool> {
        match key {
            "properties" => {
                for (name, value) in members {
                    self.spend(1)?;
                    let schema = argument.get(name.as_ref());
                    if !schema.map_or(Ok(true), |schema| self.schema(schema, value))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            "patternProperties" => {
                for (pattern, schema) in argument.as_object().into_iter().flatten() {
                    for (name, value) in members {
                        if self.matches(pattern, true, name)? && !self.schema(schema, value)? {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            }
            "additionalProperties" => {
                for (name, value) in members {
                    let is_other = !self.is_named(beside, name)?;
                    if is_other && !self.schema(argument, value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            "required" => {
                let names = self.names_of(members)?;
                self.spend(items_of(argument).len())?;
                Ok(items_of(argument).iter().all(|name| names.contains(text_of(name))))
            }
            "minProperties" => {
                let count = self.names_of(members)?.len() as u64;
                Ok(argument.as_u64().is_none_or(|least| count >= least))
            }
            "maxProperties" => {
                let count = self.names_of(members)?.len() as u64;
                Ok(argument.as_u64().is_none_or(|most| count <= most))
            }
            _ => Ok(true),
        }
    }

    /// Whether "properties" or "patternProperties" has a schema for the name.
    fn is_named(&mut self, keywords: &'a Keywords, name: &str) -> Outcome<bool> {
        self.spend(1)?;
        if keywords.get("properties").is_some_and(|properties| properties.get(name).is_some()) {
            return Ok(true);
        }
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for pattern in patterns.into_iter().flat_map(Map::keys) {
            if self.matches(pattern, true, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn names_of<'m>(&mut self, members: &'m [Member<'a>]) -> Outcome<HashSet<&'m str>> {
        self.spend(members.len())?;
        Ok(members.iter().map(|(name, _)| name.as_ref()).collect())
    }

    fn equals(&mut self, wanted: &'a Value, value: &Json<'a>) -> Outcome<bool> {
        self.spend(1)?;
        Ok(match (wanted, value) {
            (Value::Null, Json::Null) => true,
            (Value::Bool(wanted), Json::Bool(value)) => wanted == value,
            (Value::Number(_), Json::Number(text)) => {
                self.spend(text.len() / 64)?;
                *self.decimal(wanted) == Decimal::parse(text)
            }
            (Value::String(wanted), Json::String(text)) => wanted == text,
            (Value::Array(wanted), Json::Array(items)) => {
                let mut equals = wanted.len() == items.len();
                for (wanted, item) in wanted.iter().zip(items) {
                    equals = equals && self.equals(wanted, item)?;
                }
                equals
            }
            (Value::Object(wanted), Json::Object(members)) => {
                let mut equals = self.names_of(members)?.len() == wanted.len();
                for (name, value) in members {
                    let Some(wanted) = wanted.get(name.as_ref()) else { return Ok(false) };
                    equals = equals && self.equals(wanted, value)?;
                }
                equals
            }
            _ => false,
        })
    }
}

type Member<'a> = (std::borrow::Cow<'a, str>, Json<'a>);

fn is_of_type(types: &Value, value: &Json) -> bool {
    match types {
        Value::Array(types) => types.iter().any(|each| is_of_type(each, value)),
        _ => {
            matches!(
                (text_of(types), value),
                ("null", Json::Null)
                    | ("boolean", Json::Bool(_))
                    | ("string", Json::String(_))
                    | ("number", Json::Number(_))
                    | ("array", Json::Array(_))
                    | ("object", Json::Object(_))
            ) || matches!((text_of(types), value), ("integer", Json::Number(text)) if is_whole(text))
        }
    }
}

fn is_whole(text: &str) -> bool {
    !text.contains(['.', 'e', 'E']) || Decimal::parse(text).is_whole()
}

fn too_many_steps(pattern: &str) -> Failure {
    let text = format!("the pattern {pattern:?} needs too many steps for the text");
    Failure::new(Status::Timeout, text)
}

/// As the library makes one of "pattern" and of "format".
fn regex_of(pattern: &str, is_search: bool, cost_max: u64) -> Outcome<Regex> {
    let tree = match is_search {
        true => RegexAst::SearchRegex(regex_to_lark(pattern, "dw")),
        false => RegexAst::Regex(pattern.to_owned()),
    };
    let mut builder = RegexBuilder::new();
    let expression = builder
        .mk(&tree)
        .map_err(|error| Failure::new(Status::Internal, format!("{pattern:?}: {error}")))?;
    builder.into_regex_limited(expression, cost_max).map_err(|_| too_many_steps(pattern))
}
