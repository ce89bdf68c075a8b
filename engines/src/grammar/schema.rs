//! JSON schemas as programs write them, turned into the part that the library handles rightly.
//!
//! The library ignores some keywords that restrict an instance, and has its own idea of `$ref`. Here
//! every schema is walked first, keyword by keyword. What restricts an instance and cannot be
//! enforced is refused by name, `$ref` becomes a name that needs no resolving, and what only
//! describes is left out. So a text that the grammar ends is an instance of the schema.

use super::ecma::{is_writable, to_rust_pattern};
use super::formats::{DATE, NAMES, TIME};
use crate::boundary::{Failure, Outcome, Status};
use serde_json::{json, Map, Number, Value};
use std::collections::HashMap;

/// JSON without white space, as `JSON.stringify` writes it. Each character of a string has one
/// spelling, so that two names of an object are equal exactly if their texts are. So control
/// characters without a short escape ("\n") cannot be written, which `is_writable` knows.
fn output_options() -> Value {
    json!({"whitespace_flexible": false, "json_allowed_escapes": "nrbtf\\\""})
}

/// Keywords that restrict an instance, and that a grammar cannot enforce. `drops` knows when one of
/// them restricts nothing.
const REFUSED: [&str; 11] = [
    "not",
    "if",
    "contains",
    "uniqueItems",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "$dynamicRef",
    "$recursiveRef",
    "x-guidance", // The library's own; it could switch checks off.
];

const DIALECTS: [&str; 5] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
];

/// Up to here every integer is a number of its own in the library.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// A place in a schema: "#/properties/name".
#[derive(Clone)]
struct Place(String);

impl Place {
    fn under(&self, part: impl std::fmt::Display) -> Place {
        let part = part.to_string().replace('~', "~0").replace('/', "~1");
        Place(format!("{}/{part}", self.0))
    }

    fn invalid(&self, why: impl std::fmt::Display) -> Failure {
        Failure::invalid(format!("JSON schema: {why} (at {})", self.0))
    }

    fn limit(&self, what: impl std::fmt::Display) -> Failure {
        Failure::new(Status::Limit, format!("JSON schema: {what} (at {})", self.0))
    }

    fn not_supported(&self, what: impl std::fmt::Display) -> Failure {
        let text = format!("JSON schema: {what} is not supported (at {})", self.0);
        Failure::new(Status::NotSupported, text)
    }
}

/// Patterns that apply to one string: the library computes what matches all of them in time that grows
/// with the product of their lengths.
const JOINED_PATTERN_COUNT_MAX: usize = 3;
const JOINED_PATTERN_BYTES_MAX: usize = 1_024;

/// The library compares each with each: patterns of names, to see that no name matches two; schemas of
/// a `oneOf`, to see that no instance does. What schemas of an `allOf` say it copies for each.
const NAME_PATTERN_COUNT_MAX: usize = 64;
const NAME_PATTERN_BYTES_MAX: usize = 512;
const ONE_OF_COUNT_MAX: usize = 500;
const ALL_OF_COUNT_MAX: usize = 2_000;

struct Walk<'a> {
    root: &'a Value,
    root_id: Option<&'a str>,
    /// The targets of each `$ref`, by address, and their numbers.
    numbers: HashMap<*const Value, usize>,
    targets: Vec<(&'a Value, Place)>,
    name_pattern_count: usize,
    all_of_count: usize,
    /// The digits of every `multipleOf`, and how many of them are decimals.
    multiples: Vec<(u32, u32)>,
    /// Schemas are joined, so that one `multipleOf` can meet another, or itself.
    joins: bool,
}

pub fn prepare(schema: &Value) -> Outcome<Value> {
    let place = Place("#".to_owned());
    let root = match schema {
        Value::Object(root) => root,
        Value::Bool(true) => return prepare(&json!({})),
        Value::Bool(false) => return Err(Failure::invalid("JSON schema: no text matches it")),
        _ => {
            return Err(Failure::invalid("JSON schema: it is neither an object nor true or false"))
        }
    };
    check_dialect(root, &place)?;
    let root_id = root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let mut walk = Walk {
        root: schema,
        root_id,
        numbers: HashMap::new(),
        targets: Vec::new(),
        name_pattern_count: 0,
        all_of_count: 0,
        multiples: Vec::new(),
        joins: false,
    };
    let mut made = walk.object(root, &place)?;
    let mut definitions = Map::new();
    while let Some((target, place)) = walk.targets.get(definitions.len()).cloned() {
        let value = walk.schema(target, &place)?;
        definitions.insert(format!("r{}", definitions.len()), value);
    }
    walk.check_multiples(&place)?;
    Joined::check(&made, &definitions, &place)?;
    made.insert("$defs".to_owned(), definitions.into());
    made.insert("x-guidance".to_owned(), output_options());
    Ok(made.into())
}

fn check_dialect(root: &Map<String, Value>, place: &Place) -> Outcome<()> {
    let Some(dialect) = root.get("$schema") else { return Ok(()) };
    let name = dialect.as_str().unwrap_or_default().trim_end_matches('#');
    let name = name.strip_prefix("https://").or(name.strip_prefix("http://")).unwrap_or(name);
    if DIALECTS.contains(&name) {
        return Ok(());
    }
    Err(place.not_supported(format!("\"$schema\": {dialect}")))
}

impl<'a> Walk<'a> {
    fn schema(&mut self, schema: &'a Value, place: &Place) -> Outcome<Value> {
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::Object(object) => {
                if object.get("$id").is_some_and(Value::is_string) {
                    return Err(place.not_supported("\"$id\" below the first level"));
                }
                Ok(self.object(object, place)?.into())
            }
            _ => Err(place.invalid("a schema is an object, true or false")),
        }
    }

    fn object(
        &mut self,
        object: &'a Map<String, Value>,
        place: &Place,
    ) -> Outcome<Map<String, Value>> {
        let mut made = Map::new();
        for (key, value) in object {
            if REFUSED.contains(&key.as_str()) && !drops(object, key, value) {
                return Err(place.not_supported(format!("\"{key}\"")));
            }
            match key.as_str() {
                "items" | "additionalItems" => self.items(object, key, value, place, &mut made)?,
                "unevaluatedProperties" | "unevaluatedItems" => {
                    self.unevaluated(object, key, value, place, &mut made)?;
                }
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "prefixItems"
                | "$ref" => {
                    let value = self.applied(key, value, place)?;
                    made.insert(key.clone(), value);
                }
                _ => {
                    if let Some(value) = asserted(object, key, value, place)? {
                        made.insert(key.clone(), value);
                    }
                    if key == "multipleOf" {
                        self.multiples.push(decimal(value, &place.under(key))?);
                    }
                }
            }
        }
        // A format that is written as a pattern stands beside a pattern of the schema's own.
        if let Some(pattern) = made.get("format").and_then(pattern_of_format) {
            made.shift_remove("format");
            let all = made.entry("allOf").or_insert_with(|| json!([]));
            all.as_array_mut().expect("made by list").push(json!({"pattern": pattern}));
        }
        Ok(made)
    }

    /// Keywords that apply schemas.
    fn applied(&mut self, key: &str, value: &'a Value, place: &Place) -> Outcome<Value> {
        let at = place.under(key);
        self.joins |= matches!(key, "$ref" | "allOf" | "anyOf" | "oneOf");
        let count = value.as_array().map(Vec::len).or(value.as_object().map(Map::len));
        self.count_applied(key, count.unwrap_or_default(), &at)?;
        match key {
            "$ref" => self.reference(value, place),
            "properties" => self.named(value, &at, |name| Ok(name.to_owned())),
            "patternProperties" => self.named(value, &at, |name| {
                if name.len() > NAME_PATTERN_BYTES_MAX {
                    let text =
                        format!("a pattern of names has over {NAME_PATTERN_BYTES_MAX} bytes");
                    return Err(at.limit(text));
                }
                pattern_of(name, &at)
            }),
            "additionalProperties" => self.schema(value, &at),
            _ => self.list(value, &at),
        }
    }

    fn count_applied(&mut self, key: &str, count: usize, at: &Place) -> Outcome<()> {
        let (total, most) = match key {
            "patternProperties" => (&mut self.name_pattern_count, NAME_PATTERN_COUNT_MAX),
            "allOf" => (&mut self.all_of_count, ALL_OF_COUNT_MAX),
            "oneOf" => (&mut 0, ONE_OF_COUNT_MAX),
            _ => return Ok(()),
        };
        *total += count;
        if *total > most {
            return Err(at.limit(format!("\"{key}\" has {total} entries ({most} at most)")));
        }
        Ok(())
    }

    fn named(
        &mut self,
        value: &'a Value,
        place: &Place,
        name_of: impl Fn(&str) -> Outcome<String>,
    ) -> Outcome<Value> {
        let Value::Object(schemas) = value else {
            return Err(place.invalid("it must be an object of schemas"));
        };
        let mut made = Map::new();
        for (name, schema) in schemas {
            made.insert(name_of(name)?, self.schema(schema, &place.under(name))?);
        }
        Ok(made.into())
    }

    fn list(&mut self, value: &'a Value, place: &Place) -> Outcome<Value> {
        let Value::Array(schemas) = value else {
            return Err(place.invalid("it must be an array of schemas"));
        };
        let mut made = Vec::new();
        for (index, schema) in schemas.iter().enumerate() {
            made.push(self.schema(schema, &place.under(index))?);
        }
        Ok(made.into())
    }

    /// Older dialects have `items` as an array, which is now `prefixItems`, with `additionalItems` for
    /// the rest, which is now `items`.
    fn items(
        &mut self,
        object: &'a Map<String, Value>,
        key: &str,
        value: &'a Value,
        place: &Place,
        made: &mut Map<String, Value>,
    ) -> Outcome<()> {
        let at = place.under(key);
        let is_old = object.get("items").is_some_and(Value::is_array);
        match key {
            "items" if is_old => {
                let list = self.list(value, &at)?;
                made.insert("prefixItems".to_owned(), list);
            }
            "additionalItems" if !is_old => {}
            _ => {
                let schema = self.schema(value, &at)?;
                made.insert("items".to_owned(), schema);
            }
        }
        Ok(())
    }

    /// If no keyword beside them evaluates anything in place, these are `additionalProperties` and
    /// `items`.
    fn unevaluated(
        &mut self,
        object: &'a Map<String, Value>,
        key: &str,
        value: &'a Value,
        place: &Place,
        made: &mut Map<String, Value>,
    ) -> Outcome<()> {
        let applies = ["$ref", "allOf", "anyOf", "oneOf", "if", "contains", "dependentSchemas"];
        let (plain, is_list) = match key {
            "unevaluatedItems" => ("items", object.get("items").is_some_and(Value::is_array)),
            _ => ("additionalProperties", false),
        };
        let restricts = !matches!(value, Value::Bool(true)) && value != &json!({});
        if !restricts || object.contains_key(plain) && !is_list {
            return Ok(()); // All is evaluated already.
        }
        if is_list || applies.iter().any(|each| object.contains_key(*each)) {
            return Err(place.not_supported(format!("\"{key}\"")));
        }
        let schema = self.schema(value, &place.under(key))?;
        made.insert(plain.to_owned(), schema);
        Ok(())
    }

    /// The library multiplies with 32 bits and does not notice when they are too few.
    fn check_multiples(&self, place: &Place) -> Outcome<()> {
        let decimals = self.multiples.iter().map(|multiple| multiple.1).max().unwrap_or(0);
        let mut scaled: Vec<f64> = self
            .multiples
            .iter()
            .map(|(digits, own)| f64::from(*digits) * 10f64.powi((decimals - own) as i32))
            .collect();
        scaled.sort_by(f64::total_cmp);
        let largest = scaled.last().copied().unwrap_or(1.0);
        let is_single = scaled.len() < 2 && !self.joins;
        scaled.dedup();
        if !is_single && scaled.iter().product::<f64>() * largest > f64::from(u32::MAX) {
            return Err(place.not_supported("several large \"multipleOf\" in one schema"));
        }
        Ok(())
    }

    fn reference(&mut self, value: &Value, place: &Place) -> Outcome<Value> {
        let Value::String(reference) = value else {
            return Err(place.invalid("\"$ref\" must be a string"));
        };
        let (target, target_place) = self.resolve(reference, place)?;
        if std::ptr::eq(target, self.root) {
            return Ok("#".into());
        }
        let next = self.targets.len();
        let number = *self.numbers.entry(target).or_insert(next);
        if number == next {
            self.targets.push((target, target_place));
        }
        Ok(format!("#/$defs/r{number}").into())
    }

    fn resolve(&self, reference: &str, place: &Place) -> Outcome<(&'a Value, Place)> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !document.is_empty() && Some(document) != self.root_id {
            return Err(place.not_supported(format!(
                "\"$ref\": {reference:?}, which names another document (nothing is fetched),"
            )));
        }
        let missing = || place.invalid(format!("\"$ref\": {reference:?} names nothing"));
        let fragment = percent_decoded(fragment).ok_or_else(missing)?;
        if fragment.is_empty() {
            return Ok((self.root, Place("#".to_owned())));
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return anchored(self.root, &fragment, &Place("#".to_owned())).ok_or_else(missing);
        };
        let mut at = (self.root, Place("#".to_owned()));
        for part in pointer.split('/') {
            if !std::ptr::eq(at.0, self.root) && at.0.get("$id").is_some_and(Value::is_string) {
                return Err(at.1.not_supported("\"$id\" below the first level"));
            }
            let part = part.replace("~1", "/").replace("~0", "~");
            let next = match at.0 {
                Value::Array(list) => part.parse().ok().and_then(|index: usize| list.get(index)),
                Value::Object(object) => object.get(&part),
                _ => None,
            };
            at = (next.ok_or_else(missing)?, at.1.under(part));
        }
        Ok(at)
    }
}

/// How many patterns can apply to one string, and their bytes: no fewer than there are.
#[derive(Clone, Copy, Default)]
struct Joined {
    count: usize,
    bytes: usize,
}

impl Joined {
    fn check(
        root: &Map<String, Value>,
        definitions: &Map<String, Value>,
        place: &Place,
    ) -> Outcome<()> {
        let joined = Joined::of(root, definitions, &mut HashMap::new());
        if joined.count > JOINED_PATTERN_COUNT_MAX
            || joined.count > 1 && joined.bytes > JOINED_PATTERN_BYTES_MAX
        {
            return Err(place.limit(format!(
                "up to {} patterns and formats of {} bytes apply to one string \
                 ({JOINED_PATTERN_COUNT_MAX} of {JOINED_PATTERN_BYTES_MAX} bytes at most)",
                joined.count, joined.bytes
            )));
        }
        Ok(())
    }

    fn and(self, other: Joined) -> Joined {
        Joined { count: self.count + other.count, bytes: self.bytes + other.bytes }
    }

    fn or(self, other: Joined) -> Joined {
        Joined { count: self.count.max(other.count), bytes: self.bytes.max(other.bytes) }
    }

    /// `known` has what a definition comes to, or nothing while it is looked at: what names itself adds
    /// nothing new.
    fn of<'a>(
        schema: &'a Map<String, Value>,
        definitions: &'a Map<String, Value>,
        known: &mut HashMap<&'a str, Joined>,
    ) -> Joined {
        let mut own = Joined::default();
        let mut below = Joined::default();
        let mut beside = Joined::default();
        for (key, value) in schema {
            let mut each = |value: &'a Value| match value {
                Value::Object(schema) => Joined::of(schema, definitions, known),
                _ => Joined::default(),
            };
            let most =
                |parts: &mut dyn Iterator<Item = Joined>| parts.fold(Joined::default(), Joined::or);
            match (key.as_str(), value) {
                ("pattern", Value::String(text)) => {
                    own = own.and(Joined { count: 1, bytes: text.len() });
                }
                ("format", _) => own = own.and(Joined { count: 1, bytes: 64 }),
                ("properties" | "patternProperties", Value::Object(named)) => {
                    below = below.and(most(&mut named.values().map(each)));
                }
                ("prefixItems", Value::Array(list)) => {
                    below = below.and(most(&mut list.iter().map(each)));
                }
                ("items" | "additionalProperties", _) => below = below.and(each(value)),
                ("allOf", Value::Array(list)) => {
                    beside = list.iter().map(each).fold(beside, Joined::and);
                }
                ("anyOf" | "oneOf", Value::Array(list)) => {
                    beside = beside.and(most(&mut list.iter().map(each)));
                }
                ("$ref", Value::String(reference)) => {
                    let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
                    if !known.contains_key(name) {
                        known.insert(name, Joined::default());
                        let found = definitions.get(name).and_then(Value::as_object);
                        let joined = found.map(|schema| Joined::of(schema, definitions, known));
                        known.insert(name, joined.unwrap_or_default());
                    }
                    beside = beside.and(known[name]);
                }
                _ => {}
            }
        }
        own.or(below).and(beside)
    }
}

/// The schema with this `$anchor`, wherever a schema can stand.
fn anchored<'a>(schema: &'a Value, name: &str, place: &Place) -> Option<(&'a Value, Place)> {
    let object = schema.as_object()?;
    let has = |key| object.get(key).and_then(Value::as_str) == Some(name);
    if has("$anchor") || has("$dynamicAnchor") {
        return Some((schema, place.clone()));
    }
    object.iter().find_map(|(key, value)| {
        let at = place.under(key);
        match (key.as_str(), value) {
            ("const" | "enum" | "default" | "examples", _) => None,
            (_, Value::Array(list)) => {
                let mut each = list.iter().enumerate();
                each.find_map(|(index, each)| anchored(each, name, &at.under(index)))
            }
            (
                "$defs" | "definitions" | "properties" | "patternProperties",
                Value::Object(named),
            ) => named.iter().find_map(|(key, each)| anchored(each, name, &at.under(key))),
            (_, Value::Object(below)) if !below.contains_key("$id") => anchored(value, name, &at),
            _ => None,
        }
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Translates a keyword that looks at the instance itself; none: it is left out.
fn asserted(
    object: &Map<String, Value>,
    key: &str,
    value: &Value,
    place: &Place,
) -> Outcome<Option<Value>> {
    let at = place.under(key);
    Ok(Some(match key {
        "type" | "required" => value.clone(),
        "pattern" => match value {
            Value::String(pattern) => pattern_of(pattern, &at)?.into(),
            _ => return Err(at.invalid("a pattern is a string")),
        },
        "format" => return format_of(object, value, place),
        "minProperties" => min_properties(object, value, place)?,
        "minItems" | "maxItems" | "maxProperties" | "minLength" | "maxLength" => count(value, &at)?,
        "multipleOf" if !value.as_f64().is_some_and(|number| number > 0.0) => {
            return Err(at.invalid("it must be a number greater than 0"));
        }
        "const" | "enum" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
        | "multipleOf" => exact(value, &at)?,
        _ => return Ok(None), // It describes, or is not a keyword.
    }))
}

fn pattern_of(pattern: &str, place: &Place) -> Outcome<String> {
    to_rust_pattern(pattern)
        .map_err(|why| place.not_supported(format!("the pattern {pattern:?}: {why}; it")))
}

/// Whether this keyword of `REFUSED` restricts nothing as it stands.
fn drops(object: &Map<String, Value>, key: &str, value: &Value) -> bool {
    let count = |key: &str| object.get(key).and_then(Value::as_u64);
    let is_all = |value: &Value| value == &json!(true) || value == &json!({});
    match key {
        "not" => value == &json!(false),
        "if" => !object.contains_key("then") && !object.contains_key("else"),
        "uniqueItems" => value == &json!(false) || count("maxItems").is_some_and(|most| most < 2),
        "propertyNames" => is_all(value),
        "dependentRequired" | "dependentSchemas" | "dependencies" => value == &json!({}),
        "contains" => count("minContains") == Some(0) && !object.contains_key("maxContains"),
        _ => false,
    }
}

/// Formats of numbers are not a grammar's.
fn format_of(object: &Map<String, Value>, value: &Value, place: &Place) -> Outcome<Option<Value>> {
    let may_be_string = match object.get("type") {
        None => true,
        Some(Value::Array(types)) => types.contains(&json!("string")),
        Some(other) => other == "string",
    };
    if !may_be_string {
        return Ok(None);
    }
    if value.as_str().is_some_and(|name| NAMES.contains(&name)) {
        return Ok(Some(value.clone()));
    }
    let names = NAMES.join(", ");
    Err(place.not_supported(format!("\"format\": {value} (of strings, there are {names})")))
}

fn pattern_of_format(format: &Value) -> Option<String> {
    match format.as_str()? {
        "date" => Some(format!("^{DATE}$")),
        "time" => Some(format!("^{TIME}$")),
        "date-time" => Some(format!("^{DATE}[tT]{TIME}$")),
        _ => None,
    }
}

/// A grammar can ask for one name more than those that are required, but not for several: they could
/// be the same name.
fn min_properties(object: &Map<String, Value>, value: &Value, place: &Place) -> Outcome<Value> {
    let made = count(value, &place.under("minProperties"))?;
    let mut required: Vec<&Value> =
        object.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    required.sort_by_key(|name| name.to_string());
    required.dedup();
    if made.as_u64().is_some_and(|least| least > required.len() as u64 + 1) {
        return Err(place.not_supported(format!(
            "\"minProperties\": {value} with {} required (one more is possible),",
            required.len()
        )));
    }
    Ok(made)
}

/// "0.05" is (5, 2). The library finds the decimals by multiplying with ten, which for some numbers
/// (0.07) never ends in a whole one: then there is nothing.
pub fn decimal_of(value: &Value) -> Option<(u32, u32)> {
    let mut digits = value.as_f64().unwrap_or_default();
    let mut decimals = 0;
    while digits.fract() != 0.0 && digits <= f64::from(u32::MAX) {
        digits *= 10.0;
        decimals += 1;
    }
    (digits <= f64::from(u32::MAX)).then_some((digits as u32, decimals))
}

fn decimal(value: &Value, place: &Place) -> Outcome<(u32, u32)> {
    decimal_of(value)
        .ok_or_else(|| place.not_supported(format!("{value}, which has too many digits,")))
}

/// "2.0" is a count too.
fn count(value: &Value, place: &Place) -> Outcome<Value> {
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    match whole {
        Some(number) if number < EXACT_INTEGER_MAX => Ok(Number::from(number as u64).into()),
        _ => Err(place.invalid(format!("{value} is not a count"))),
    }
}

/// The library computes with numbers of 64 bits, in which large integers fall together.
fn exact(value: &Value, place: &Place) -> Outcome<Value> {
    match value {
        Value::Number(number) => {
            if number.as_f64().is_none_or(|real| real.abs() >= EXACT_INTEGER_MAX) {
                return Err(place.not_supported(format!("the number {number}, beyond 2^53,")));
            }
        }
        Value::String(text) => {
            if let Some(letter) = text.chars().find(|letter| !is_writable(*letter)) {
                return Err(place.not_supported(format!("the control character {letter:?}")));
            }
        }
        Value::Array(list) => {
            for (index, each) in list.iter().enumerate() {
                exact(each, &place.under(index))?;
            }
        }
        Value::Object(object) => {
            for (key, each) in object {
                exact(each, &place.under(key))?;
            }
        }
        _ => {}
    }
    Ok(value.clone())
}
