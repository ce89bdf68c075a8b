//! The values of templates: Python's, as far as a template can make or meet them.

use super::ast::MacroBody;
use super::budget::{VALUE_DEPTH_MAX, VALUE_WEIGHT_MAX};
use super::error::{fail, Error, Result};
use super::run::{Frame, LoopState};
use super::text::{code, Text};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone)]
pub enum Value {
    /// With what to say if something needs the value.
    Undefined(Rc<str>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text),
    List(Rc<Items>),
    Tuple(Rc<Items>),
    /// The value that `groupby` yields: a pair whose parts have names.
    Group(Rc<Items>),
    Dict(Rc<Dict>),
    View(View, Rc<Items>),
    Range(Range),
    Slice(Rc<Items>),
    Iterator(Rc<Iterator>),
    Namespace(Rc<Namespace>),
    Cycler(Rc<Cycler>),
    Joiner(Rc<(Text, Cell<bool>)>),
    Macro(Rc<Macro>),
    Loop(Rc<LoopState>),
    Method(Rc<(Value, String)>),
    Function(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub enum View {
    Keys,
    Values,
    Items,
}

/// The items of a list or tuple, how deep they nest, and their weight.
pub struct Items {
    pub values: Vec<Value>,
    pub depth: u16,
    pub weight: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
}

/// A Python iterator: what it yields is computed already, and can be taken once.
pub struct Iterator {
    pub items: RefCell<VecDeque<Value>>,
    /// The error that stopped the computation; it shows when the iteration gets there.
    pub error: RefCell<Option<Error>>,
    pub type_name: &'static str,
    pub depth: u16,
}

pub struct Namespace {
    pub entries: RefCell<Dict>,
}

pub struct Cycler {
    pub items: Rc<Items>,
    pub at: Cell<usize>,
}

pub struct Macro {
    pub body: Arc<MacroBody>,
    pub frame: Rc<Frame>,
}

impl Items {
    pub fn new(values: Vec<Value>) -> Result<Rc<Items>> {
        let depth = 1 + values.iter().map(Value::depth).max().unwrap_or(0);
        let weight = values.iter().fold(1, |sum: u64, value| sum.saturating_add(value.weight()));
        check_extent(depth, weight)?;
        Ok(Rc::new(Items { values, depth, weight }))
    }
}

fn check_extent(depth: u16, weight: u64) -> Result<()> {
    if depth > VALUE_DEPTH_MAX {
        return fail!("a value nests deeper than {VALUE_DEPTH_MAX} levels");
    }
    if weight > VALUE_WEIGHT_MAX {
        return fail!("a value holds more than {VALUE_WEIGHT_MAX} others");
    }
    Ok(())
}

impl Range {
    pub fn len(&self) -> usize {
        let span = if self.step > 0 { self.stop - self.start } else { self.start - self.stop };
        let step = self.step.abs();
        if span <= 0 {
            0
        } else {
            ((span + step - 1) / step) as usize
        }
    }
    pub fn at(&self, index: usize) -> Value {
        Value::Int(self.start + self.step * index as i128)
    }
}

impl Value {
    pub fn undefined(why: impl Into<Rc<str>>) -> Value {
        Value::Undefined(why.into())
    }
    pub fn text(text: &str) -> Value {
        Value::Text(Text::plain(text))
    }
    pub fn list(values: Vec<Value>) -> Result<Value> {
        Ok(Value::List(Items::new(values)?))
    }
    pub fn tuple(values: Vec<Value>) -> Result<Value> {
        Ok(Value::Tuple(Items::new(values)?))
    }
    pub fn iterator(type_name: &'static str, items: Vec<Value>, error: Option<Error>) -> Value {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        Value::Iterator(Rc::new(Iterator {
            items: RefCell::new(items.into()),
            error: RefCell::new(error),
            type_name,
            depth,
        }))
    }

    pub fn depth(&self) -> u16 {
        match self {
            Value::List(items)
            | Value::Tuple(items)
            | Value::Group(items)
            | Value::Slice(items)
            | Value::View(_, items) => items.depth,
            Value::Dict(dict) => dict.depth,
            Value::Iterator(iterator) => iterator.depth,
            Value::Method(method) => 1 + method.0.depth(),
            Value::Cycler(cycler) => 1 + cycler.items.depth,
            _ => 0,
        }
    }

    /// How many values a walk over this one meets; 32 characters of a text count as one more.
    pub fn weight(&self) -> u64 {
        match self {
            Value::Text(text) => 1 + text.len() as u64 / 32,
            Value::List(items)
            | Value::Tuple(items)
            | Value::Group(items)
            | Value::Slice(items)
            | Value::View(_, items) => items.weight,
            Value::Dict(dict) => dict.weight,
            Value::Method(method) => 1 + method.0.weight(),
            _ => 1,
        }
    }

    /// The name of the value's type in Python.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(text) => {
                if text.markup {
                    "Markup"
                } else {
                    "str"
                }
            }
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Group(_) => "_GroupTuple",
            Value::Dict(_) => "dict",
            Value::View(View::Keys, _) => "dict_keys",
            Value::View(View::Values, _) => "dict_values",
            Value::View(View::Items, _) => "dict_items",
            Value::Range(_) => "range",
            Value::Slice(_) => "slice",
            Value::Iterator(iterator) => iterator.type_name,
            Value::Namespace(_) => "Namespace",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
            Value::Macro(_) => "Macro",
            Value::Loop(_) => "LoopContext",
            Value::Method(_) => "builtin_function_or_method",
            Value::Function(_) => "function",
        }
    }

    /// The items of a list, tuple or view.
    pub fn items(&self) -> Option<&Rc<Items>> {
        match self {
            Value::List(items)
            | Value::Tuple(items)
            | Value::Group(items)
            | Value::View(_, items) => Some(items),
            _ => None,
        }
    }

    /// Numbers, with `bool` among the integers.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            _ => self.as_int().map(|value| value as f64),
        }
    }
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Bool(_) | Value::Float(_))
    }
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    /// Python's truth.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(items)
            | Value::Tuple(items)
            | Value::Group(items)
            | Value::View(_, items) => !items.values.is_empty(),
            Value::Dict(dict) => dict.len() > 0,
            Value::Range(range) => range.len() > 0,
            _ => true,
        }
    }

    fn address(&self) -> Option<usize> {
        Some(match self {
            Value::Iterator(rc) => Rc::as_ptr(rc) as usize,
            Value::Namespace(rc) => Rc::as_ptr(rc) as usize,
            Value::Cycler(rc) => Rc::as_ptr(rc) as usize,
            Value::Joiner(rc) => Rc::as_ptr(rc) as usize,
            Value::Macro(rc) => Rc::as_ptr(rc) as usize,
            Value::Loop(rc) => Rc::as_ptr(rc) as usize,
            Value::Function(name) => name.as_ptr() as usize,
            _ => return None,
        })
    }

    /// Python's `==`.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
            (Value::Text(a), Value::Text(b)) => a.same(b),
            (Value::List(a), Value::List(b)) => same_items(a, b),
            (Value::Tuple(a) | Value::Group(a), Value::Tuple(b) | Value::Group(b)) => {
                same_items(a, b)
            }
            (Value::Dict(a), Value::Dict(b)) => a.equals(b),
            (Value::View(View::Keys, a), Value::View(View::Keys, b))
            | (Value::View(View::Items, a), Value::View(View::Items, b)) => {
                a.values.len() == b.values.len()
                    && a.values.iter().all(|x| b.values.iter().any(|y| x.equals(y)))
            }
            (Value::View(View::Values, a), Value::View(View::Values, b)) => Rc::ptr_eq(a, b),
            (Value::Range(a), Value::Range(b)) => {
                a.len() == b.len()
                    && (a.len() == 0 || a.start == b.start)
                    && (a.len() <= 1 || a.step == b.step)
            }
            (Value::Method(a), Value::Method(b)) => a.1 == b.1 && a.0.is_same(&b.0),
            _ if self.is_number() && other.is_number() => match (self.as_int(), other.as_int()) {
                (Some(a), Some(b)) => a == b,
                (Some(a), None) => other.as_float().is_some_and(|b| int_is_float(a, b)),
                (None, Some(b)) => self.as_float().is_some_and(|a| int_is_float(b, a)),
                _ => self.as_float() == other.as_float(),
            },
            _ => self.address().is_some() && self.address() == other.address(),
        }
    }

    /// Python's `is`, as far as it does not depend on how CPython keeps its objects.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b && (-5..=256).contains(a),
            (Value::Text(a), Value::Text(b)) => {
                std::ptr::eq(a.chars().as_ptr(), b.chars().as_ptr()) || (a.len() < 2 && a.same(b))
            }
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                Rc::ptr_eq(a, b)
            }
            (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
            _ => self.address().is_some() && self.address() == other.address(),
        }
    }

    /// A number that equal values share; lists and dicts have none.
    pub fn hash(&self) -> Result<u64> {
        let mix = |tag: u64, value: u64| (tag ^ value).wrapping_mul(0x100_0000_01b3);
        Ok(match self {
            Value::Undefined(_) => 11,
            Value::None => 13,
            Value::Bool(_) | Value::Int(_) => {
                let value = self.as_int().unwrap_or(0);
                mix(value as u64, (value >> 64) as u64)
            }
            Value::Float(value) if int_is_float(*value as i128, *value) => {
                return Value::Int(*value as i128).hash()
            }
            Value::Float(value) => mix(17, value.to_bits()),
            Value::Text(text) => text_hash(text),
            Value::Tuple(items) | Value::Group(items) => {
                let mut hash = 19;
                for item in &items.values {
                    hash = mix(hash, item.hash()?).rotate_left(5);
                }
                hash
            }
            Value::List(_) | Value::Dict(_) | Value::View(..) | Value::Slice(_) => {
                return fail!("unhashable type: '{}'", self.type_name())
            }
            Value::Range(range) => mix(range.start as u64, range.len() as u64),
            Value::Method(method) => text_hash(&Text::plain(&method.1)),
            _ => self.address().unwrap_or(0) as u64,
        })
    }
}

pub fn int_is_float(int: i128, float: f64) -> bool {
    float.is_finite() && float.abs() < 1.7e38 && float.fract() == 0.0 && float as i128 == int
}

fn text_hash(text: &Text) -> u64 {
    text.chars().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, c| {
        (hash ^ u64::from(code(*c))).wrapping_mul(0x100_0000_01b3)
    })
}

fn same_items(a: &Rc<Items>, b: &Rc<Items>) -> bool {
    Rc::ptr_eq(a, b)
        || (a.values.len() == b.values.len()
            && a.values.iter().zip(&b.values).all(|(x, y)| x.equals(y)))
}

/// A dict: keys in the order in which they came.
#[derive(Clone, Default)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    places: HashMap<u64, Vec<u32>>,
    pub depth: u16,
    pub weight: u64,
}

impl Dict {
    pub fn from_pairs(pairs: impl IntoIterator<Item = (Value, Value)>) -> Result<Dict> {
        let mut dict = Dict { depth: 1, weight: 1, ..Dict::default() };
        for (key, value) in pairs {
            dict.insert(key, value)?;
        }
        Ok(dict)
    }

    /// A key that is there already keeps its place and gets the new value.
    pub fn insert(&mut self, key: Value, value: Value) -> Result<()> {
        let hash = key.hash()?;
        self.depth = self.depth.max(1 + key.depth().max(value.depth()));
        self.weight = self.weight.saturating_add(key.weight()).saturating_add(value.weight());
        check_extent(self.depth, self.weight)?;
        if let Some(place) = self.place(hash, &key) {
            self.entries[place].1 = value;
            return Ok(());
        }
        self.places.entry(hash).or_default().push(self.entries.len() as u32);
        self.entries.push((key, value));
        Ok(())
    }

    fn place(&self, hash: u64, key: &Value) -> Option<usize> {
        let places = self.places.get(&hash)?;
        places.iter().map(|at| *at as usize).find(|at| self.entries[*at].0.equals(key))
    }

    pub fn get(&self, key: &Value) -> Result<Option<&Value>> {
        let hash = key.hash()?;
        Ok(self.place(hash, key).map(|place| &self.entries[place].1))
    }
    pub fn get_name(&self, name: &str) -> Option<&Value> {
        self.get(&Value::text(name)).ok().flatten()
    }
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }
    pub fn keys(&self) -> Vec<Value> {
        self.entries.iter().map(|(key, _)| key.clone()).collect()
    }
    pub fn values(&self) -> Vec<Value> {
        self.entries.iter().map(|(_, value)| value.clone()).collect()
    }
    pub fn pairs(&self) -> Result<Vec<Value>> {
        self.entries
            .iter()
            .map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()]))
            .collect()
    }
    pub fn equals(&self, other: &Dict) -> bool {
        self.len() == other.len()
            && self.entries.iter().all(
                |(key, value)| matches!(other.get(key), Ok(Some(theirs)) if value.equals(theirs)),
            )
    }
}
