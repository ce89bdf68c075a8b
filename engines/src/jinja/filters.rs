//! Filters: the table of names, and those that take or give sequences and numbers.

use super::attributes::{entries_of, get_attribute_only, get_path, path_of};
use super::calls::{bind, Bound};
use super::error::{fail, Error, Result};
use super::operators::{binary, ordering, refuse_undefined};
use super::print::str_of;
use super::run::{CallArguments, Run};
use super::sequences::{iterate, length, next_of, sorted};
use super::text::{lower, Char, Text};
use super::value::{Items, Value};
use super::{ast::Operator, numbers, tests, text_filters};

const NAMES: [&str; 32] = [
    "abs",
    "attr",
    "batch",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "groupby",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "map",
    "max",
    "min",
    "random",
    "reject",
    "rejectattr",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "sum",
    "unique",
    "tojson",
    "wordwrap",
];

pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name) || text_filters::NAMES.contains(&name)
}

pub fn apply(run: &Run, name: &str, value: Value, arguments: CallArguments) -> Result<Value> {
    run.budget.step()?;
    match name {
        "tojson" => super::json::to_json(run, &value, arguments),
        "abs" | "float" | "int" | "round" => numbers::apply(run, name, &value, arguments),
        "map" | "select" | "reject" | "selectattr" | "rejectattr" => {
            lazily(run, name, &value, arguments)
        }
        "sort" | "unique" | "min" | "max" | "groupby" | "dictsort" | "sum" => {
            ordered(run, name, &value, arguments)
        }
        "default" | "d" => {
            let bound = bind(name, arguments, &["default_value", "boolean"], 0)?;
            let replaced = value.is_undefined() || (bound.is_true(1) && !value.is_true());
            Ok(if replaced { bound.get(0).cloned().unwrap_or(Value::text("")) } else { value })
        }
        "attr" => {
            let bound = bind(name, arguments, &["name"], 1)?;
            let Value::Text(attribute) = bound.must(0) else {
                return fail!("attr: attribute name must be string");
            };
            get_attribute_only(run, &value, &attribute.to_plain())
        }
        "batch" | "slice" => portions(run, name, &value, arguments),
        "join" => join(run, &value, &bind(name, arguments, &["d", "attribute"], 0)?),
        "count" | "first" | "items" | "last" | "length" | "list" | "reverse" => {
            bind(name, arguments, &[], 0)?;
            plain(run, name, value)
        }
        "random" => fail!("the filter 'random' is not supported: a prompt must not vary"),
        _ if is_known(name) => text_filters::apply(run, name, &value, arguments),
        _ => fail!("no filter named '{name}'"),
    }
}

fn plain(run: &Run, name: &str, value: Value) -> Result<Value> {
    match name {
        "count" | "length" => Ok(Value::Int(length(run, &value)? as i128)),
        "list" => Value::list(iterate(run, &value)?),
        "first" => {
            let first = match &value {
                Value::Iterator(_) => next_of(&value)?,
                Value::Text(text) => text.chars().first().map(|c| Value::Text(Text::new(vec![*c]))),
                _ => match value.items() {
                    Some(items) => items.values.first().cloned(),
                    None => iterate(run, &value)?.into_iter().next(),
                },
            };
            Ok(first.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
        }
        "last" => {
            if matches!(value, Value::Iterator(_)) {
                return fail!("'{}' object is not reversible", value.type_name());
            }
            let last = match value.items() {
                Some(items) => items.values.last().cloned(),
                None => iterate(run, &value)?.pop(),
            };
            Ok(last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
        }
        "items" => {
            if value.is_undefined() {
                return Ok(Value::iterator("generator", Vec::new(), None));
            }
            // A generator raises when it is asked for its first item.
            let pairs = entries_of(&value, "items").and_then(|dict| dict.pairs());
            Ok(match pairs {
                Ok(pairs) => Value::iterator("generator", pairs, None),
                Err(error) => Value::iterator("generator", Vec::new(), Some(error)),
            })
        }
        _ => {
            if let Value::Text(text) = &value {
                run.budget.characters(text.len())?;
                return Ok(Value::Text(Text::new(text.chars().iter().rev().copied().collect())));
            }
            let was_iterator = matches!(value, Value::Iterator(_));
            let mut items = iterate(run, &value)?;
            items.reverse();
            if was_iterator || value.is_undefined() {
                Value::list(items)
            } else {
                Ok(Value::iterator("list_reverseiterator", items, None))
            }
        }
    }
}

fn join(run: &Run, value: &Value, bound: &Bound) -> Result<Value> {
    let separator = match bound.get(0) {
        Some(separator) => str_of(run, separator)?,
        None => Text::plain(""),
    };
    let path = bound.get(1).filter(|path| !matches!(path, Value::None)).map(path_of);
    let mut out: Vec<Char> = Vec::new();
    for (index, item) in iterate(run, value)?.into_iter().enumerate() {
        let item = match &path {
            Some(path) => get_path(run, &item, path, None)?,
            None => item,
        };
        let text = str_of(run, &item)?;
        run.budget.characters(text.len() + separator.len())?;
        if index > 0 {
            out.extend_from_slice(separator.chars());
        }
        out.extend_from_slice(text.chars());
    }
    Ok(Value::Text(Text::new(out)))
}

fn portions(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    let names = if name == "batch" { ["linecount", "fill_with"] } else { ["slices", "fill_with"] };
    let bound = bind(name, arguments, &names, 1)?;
    let count = text_filters::int(&bound, 0, 0)?;
    let fill = bound.get(1).filter(|fill| !matches!(fill, Value::None));
    let items = iterate(run, value)?;
    let mut made = Vec::new();
    if name == "batch" {
        let size = usize::try_from(count).unwrap_or(usize::MAX).max(1);
        for part in items.chunks(if count <= 0 { usize::MAX } else { size }) {
            let mut part = part.to_vec();
            if let Some(fill) = fill.filter(|_| count > 0 && part.len() < size) {
                run.budget.items(size - part.len())?;
                part.resize(size, fill.clone());
            }
            made.push(Value::list(part)?);
        }
        return Ok(Value::iterator("generator", made, None));
    }
    let Some(slices) = usize::try_from(count).ok().filter(|count| *count > 0) else {
        let error = Error::new("slice: the number of slices must be positive");
        return Ok(Value::iterator("generator", made, Some(error)));
    };
    run.budget.items(slices)?;
    let (each, longer) = (items.len() / slices, items.len() % slices);
    let mut at = 0;
    for index in 0..slices {
        let size = each + usize::from(index < longer);
        let mut part = items[at..at + size].to_vec();
        at += size;
        if let Some(fill) = fill.filter(|_| index >= longer) {
            part.push(fill.clone());
        }
        made.push(Value::list(part)?);
    }
    Ok(Value::iterator("generator", made, None))
}

/// `map`, `select` and their kin: what they yield is computed at once, an error on the way shows
/// when the iteration gets there.
fn lazily(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    let mut made = Vec::new();
    let mut error = None;
    if value.is_true() {
        let outcome = Mapping::new(name, arguments).and_then(|mapping| {
            for item in iterate(run, value)? {
                run.budget.step()?;
                if let Some(item) = mapping.apply(run, item)? {
                    run.budget.items(1)?;
                    made.push(item);
                }
            }
            Ok(())
        });
        error = outcome.err();
    }
    Ok(Value::iterator("generator", made, error))
}

enum Mapping {
    Attribute(Vec<Value>, Option<Value>),
    Filter(String, Vec<Value>, Vec<(String, Value)>),
    Select {
        path: Option<Vec<Value>>,
        test: Option<(String, Vec<Value>)>,
        named: Vec<(String, Value)>,
        wanted: bool,
    },
}

fn name_of(value: &Value, what: &str) -> Result<String> {
    match value {
        Value::Text(name) => Ok(name.to_plain()),
        other => fail!("{what}: a name is wanted, not '{}'", other.type_name()),
    }
}

impl Mapping {
    fn new(name: &str, arguments: CallArguments) -> Result<Mapping> {
        let CallArguments { positional, mut named } = arguments;
        let mut rest = positional.into_iter();
        if name != "map" {
            let path = if name.ends_with("attr") {
                let Some(attribute) = rest.next() else {
                    return fail!("Missing parameter for attribute name");
                };
                Some(path_of(&attribute))
            } else {
                None
            };
            let test = match rest.next() {
                Some(test) => Some((name_of(&test, name)?, rest.collect())),
                None => None,
            };
            return Ok(Mapping::Select { path, test, named, wanted: name.starts_with("select") });
        }
        match rest.next() {
            Some(filter) => Ok(Mapping::Filter(name_of(&filter, name)?, rest.collect(), named)),
            None => {
                let mut take = |wanted: &str| {
                    let at = named.iter().position(|(name, _)| name == wanted)?;
                    Some(named.remove(at).1)
                };
                let Some(attribute) = take("attribute") else {
                    return fail!("map requires a filter argument");
                };
                let default = take("default").filter(|value| !matches!(value, Value::None));
                if let Some((unknown, _)) = named.first() {
                    return fail!("Unexpected keyword argument '{unknown}'");
                }
                Ok(Mapping::Attribute(path_of(&attribute), default))
            }
        }
    }

    fn apply(&self, run: &Run, item: Value) -> Result<Option<Value>> {
        match self {
            Mapping::Attribute(path, default) => {
                get_path(run, &item, path, default.as_ref()).map(Some)
            }
            Mapping::Filter(name, positional, named) => {
                let arguments =
                    CallArguments { positional: positional.clone(), named: named.clone() };
                apply(run, name, item, arguments).map(Some)
            }
            Mapping::Select { path, test, named, wanted } => {
                let value = match path {
                    Some(path) => get_path(run, &item, path, None)?,
                    None => item.clone(),
                };
                let passes = match test {
                    Some((name, positional)) => {
                        let arguments =
                            CallArguments { positional: positional.clone(), named: named.clone() };
                        tests::apply(run, name, &value, arguments)?.is_true()
                    }
                    None => value.is_true(),
                };
                Ok((passes == *wanted).then_some(item))
            }
        }
    }
}

fn without_case(value: Value, case_sensitive: bool) -> Value {
    match value {
        Value::Text(text) if !case_sensitive => Value::Text(Text::new(lower(text.chars()))),
        other => other,
    }
}

/// The keys that `sort`, `unique` and others compare, one for each item.
fn keys_of(
    run: &Run,
    items: &[Value],
    attribute: Option<&Value>,
    default: Option<&Value>,
    case_sensitive: bool,
) -> Result<Vec<Value>> {
    let path = attribute.map(path_of).unwrap_or_default();
    run.budget.items(items.len())?;
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        run.budget.characters(if let Value::Text(text) = item { text.len() } else { 0 })?;
        keys.push(without_case(get_path(run, item, &path, default)?, case_sensitive));
    }
    Ok(keys)
}

fn ordered(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    match name {
        "sum" => {
            let bound = bind(name, arguments, &["attribute", "start"], 0)?;
            let path = bound.get(0).filter(|path| !matches!(path, Value::None)).map(path_of);
            let mut total = bound.get(1).cloned().unwrap_or(Value::Int(0));
            if matches!(total, Value::Text(_)) {
                return fail!("sum() can't sum strings [use ''.join(seq) instead]");
            }
            for item in iterate(run, value)? {
                let item = get_path(run, &item, path.as_deref().unwrap_or_default(), None)?;
                total = binary(run, Operator::Add, &total, &item)?;
            }
            Ok(total)
        }
        "dictsort" => dict_sorted(run, value, arguments),
        "sort" => {
            let bound = bind(name, arguments, &["reverse", "case_sensitive", "attribute"], 0)?;
            let items = iterate(run, value)?;
            let mut keys: Vec<Vec<Value>> = vec![Vec::new(); items.len()];
            let attributes: Vec<Value> = match bound.get(2) {
                Some(Value::Text(names)) => names.to_plain().split(',').map(Value::text).collect(),
                Some(other) => vec![other.clone()],
                None => vec![Value::None],
            };
            for attribute in &attributes {
                let column = keys_of(run, &items, Some(attribute), None, bound.is_true(1))?;
                keys.iter_mut().zip(column).for_each(|(key, part)| key.push(part));
            }
            let keys = keys.into_iter().map(Value::list).collect::<Result<Vec<_>>>()?;
            let pairs: Vec<(Value, Value)> = keys.into_iter().zip(items).collect();
            let pairs = sorted(run, pairs, &|pair| pair.0.clone(), bound.is_true(0))?;
            Value::list(pairs.into_iter().map(|pair| pair.1).collect())
        }
        "unique" => {
            let bound = bind(name, arguments, &["case_sensitive", "attribute"], 0)?;
            let items = iterate(run, value)?;
            let keys = keys_of(run, &items, bound.get(1), None, bound.is_true(0))?;
            let mut seen = super::value::Dict::from_pairs([])?;
            let mut made = Vec::new();
            let mut error = None;
            for (item, key) in items.into_iter().zip(keys) {
                match seen.get(&key) {
                    Ok(Some(_)) => {}
                    Ok(None) => {
                        seen.insert(key, Value::None)?;
                        made.push(item);
                    }
                    Err(unhashable) => {
                        error = Some(unhashable);
                        break;
                    }
                }
            }
            Ok(Value::iterator("generator", made, error))
        }
        "groupby" => grouped(run, value, arguments),
        _ => extreme(run, name, value, arguments),
    }
}

fn dict_sorted(run: &Run, value: &Value, arguments: CallArguments) -> Result<Value> {
    let bound = bind("dictsort", arguments, &["case_sensitive", "by", "reverse"], 0)?;
    let by_value = match bound.get(1) {
        None => false,
        Some(Value::Text(by)) if by.is("key") => false,
        Some(Value::Text(by)) if by.is("value") => true,
        _ => return fail!("You can only sort by either \"key\" or \"value\""),
    };
    let entries = entries_of(value, "dictsort")?.entries().to_vec();
    let key = |entry: &(Value, Value)| {
        let part = if by_value { &entry.1 } else { &entry.0 };
        without_case(part.clone(), bound.is_true(0))
    };
    let sorted = sorted(run, entries, &key, bound.is_true(2))?;
    let pairs = sorted.into_iter().map(|(key, value)| Value::tuple(vec![key, value]));
    Value::list(pairs.collect::<Result<Vec<_>>>()?)
}

fn grouped(run: &Run, value: &Value, arguments: CallArguments) -> Result<Value> {
    let bound = bind("groupby", arguments, &["attribute", "default", "case_sensitive"], 1)?;
    let default = bound.get(1).filter(|value| !matches!(value, Value::None));
    let items = iterate(run, value)?;
    let keys = keys_of(run, &items, bound.get(0), default, bound.is_true(2))?;
    let pairs: Vec<(Value, Value)> = keys.into_iter().zip(items).collect();
    let pairs = sorted(run, pairs, &|pair| pair.0.clone(), false)?;
    let path = path_of(bound.must(0));
    let mut groups = Vec::new();
    for group in pairs.chunk_by(|a, b| a.0.equals(&b.0)) {
        let grouper = get_path(run, &group[0].1, &path, default)?;
        let list = Value::list(group.iter().map(|pair| pair.1.clone()).collect())?;
        groups.push(Value::Group(Items::new(vec![grouper, list])?));
    }
    Value::list(groups)
}

fn extreme(run: &Run, name: &str, value: &Value, arguments: CallArguments) -> Result<Value> {
    let bound = bind(name, arguments, &["case_sensitive", "attribute"], 0)?;
    let items = iterate(run, value)?;
    let keys = keys_of(run, &items, bound.get(1), None, bound.is_true(0))?;
    let mut best = 0;
    for at in 1..items.len() {
        run.budget.step()?;
        let (operator, wanted) = if name == "max" { (">", true) } else { ("<", false) };
        let order = ordering(run, &keys[at], &keys[best], operator)?;
        if order.is_some_and(|order| if wanted { order.is_gt() } else { order.is_lt() }) {
            best = at;
        }
    }
    match items.into_iter().nth(best) {
        Some(item) => Ok(item),
        None => Ok(Value::undefined("No aggregated item, sequence was empty.")),
    }
}

pub fn number_of(value: &Value) -> Result<f64> {
    refuse_undefined(&[value])?;
    match value.as_float() {
        Some(float) => Ok(float),
        None => fail!("must be real number, not {}", value.type_name()),
    }
}
