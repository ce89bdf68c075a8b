//! A pattern as a list of steps for `matcher.rs`.

use crate::boundary::{Failure, Outcome, Status};
use crate::classes::{word_outside_class, CharacterSet};
use crate::pattern::{Kind, Node, Place};
use regex_syntax::hir::ClassUnicode;

/// Repeated groups are written out, so `(?:a{1,9}b){1,9}` counts many times.
const STEPS_MAX: usize = 20_000;
const SETS_MAX: usize = 512; // Of 8 KiB each.

/// A place in the list of steps.
pub type At = u32;

#[derive(Debug)]
pub enum Step {
    /// One character of a set.
    One(u32),
    /// As many characters of a set as there are (`least` to `most`); fewer if what follows fails.
    /// `fixed`: fewer would never help, as what follows begins with none of the set.
    Run {
        set: u32,
        least: u32,
        most: u32,
        kind: Kind,
        run: u32,
        fixed: bool,
    },
    /// Goes on at the first; if that fails, at the second.
    Split(At, At),
    Jump(At),
    Place(Place),
    /// Whether the steps at `body` match here; `next` follows.
    Ahead {
        body: At,
        negative: bool,
        next: At,
    },
    /// Whether one of the bodies matches the characters before this place, whose count it has.
    Behind {
        bodies: Vec<(u32, At)>,
        negative: bool,
        next: At,
    },
    /// The first match of the body, which is then never tried otherwise.
    Atomic {
        body: At,
        next: At,
    },
    /// Around the body of a loop that can match nothing: ends the loop when it did.
    LoopBegin(u32),
    LoopEnd {
        slot: u32,
        exit: At,
    },
    /// The end of the pattern, or of a body.
    Done,
}

/// One of the alternatives of the whole pattern.
pub struct Alternative {
    pub begin: At,
    /// The set that its first character is in; nothing if it can match without one.
    pub first: Option<u32>,
}

pub struct Program {
    pub steps: Vec<Step>,
    /// Whether the steps from each one on match whatever follows.
    pub sure: Vec<bool>,
    pub sets: Vec<CharacterSet>,
    pub alternatives: Vec<Alternative>,
    /// The characters that any match begins with, if each begins with one.
    pub first: Option<u32>,
    pub slot_count: usize,
    pub run_count: usize,
    pub word: CharacterSet,
}

#[derive(Default)]
struct Writer {
    steps: Vec<Step>,
    sets: Vec<CharacterSet>,
    classes: Vec<ClassUnicode>,
    slot_count: u32,
    run_count: u32,
}

impl Program {
    pub fn new(node: &Node) -> Outcome<Self> {
        let mut writer = Writer::default();
        let choices = match node {
            Node::Choice(choices) => choices.as_slice(),
            other => std::slice::from_ref(other),
        };
        let mut alternatives = Vec::new();
        let mut any_first = Some(ClassUnicode::empty());
        for choice in choices {
            let begin = writer.at();
            writer.write(choice)?;
            writer.push(Step::Done)?;
            let first = first_characters(choice);
            any_first = any_first.zip(first.as_ref()).map(|(mut any, first)| {
                any.union(first);
                any
            });
            let first = first.map(|class| writer.set_of(&class)).transpose()?;
            alternatives.push(Alternative { begin, first });
        }
        let first = any_first.map(|class| writer.set_of(&class)).transpose()?;
        Ok(Program {
            sure: sure_steps(&writer.steps),
            steps: writer.steps,
            sets: writer.sets,
            alternatives,
            first,
            slot_count: writer.slot_count as usize,
            run_count: writer.run_count as usize,
            word: CharacterSet::new(&word_outside_class()?),
        })
    }
}

impl Writer {
    fn at(&self) -> At {
        self.steps.len() as At
    }

    fn push(&mut self, step: Step) -> Outcome<At> {
        if self.steps.len() >= STEPS_MAX {
            let message = format!("a pattern of more than {STEPS_MAX} steps");
            return Err(Failure::new(Status::NotSupported, message));
        }
        self.steps.push(step);
        Ok(self.at() - 1)
    }

    fn set_of(&mut self, class: &ClassUnicode) -> Outcome<u32> {
        if let Some(known) = self.classes.iter().position(|other| other == class) {
            return Ok(known as u32);
        }
        if self.sets.len() >= SETS_MAX {
            let message = format!("a pattern of more than {SETS_MAX} different classes");
            return Err(Failure::new(Status::NotSupported, message));
        }
        self.classes.push(class.clone());
        self.sets.push(CharacterSet::new(class));
        Ok(self.sets.len() as u32 - 1)
    }

    fn write(&mut self, node: &Node) -> Outcome<()> {
        match node {
            Node::Class(class) => {
                let set = self.set_of(class)?;
                self.push(Step::One(set))?;
            }
            Node::Place(place) => {
                self.push(Step::Place(*place))?;
            }
            Node::Sequence(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    match node {
                        Node::Repeat { node, least, most, kind: Kind::Greedy } => {
                            let fixed = never_begins(&nodes[index + 1..], node);
                            self.write_repeat(node, *least, *most, Kind::Greedy, fixed)?;
                        }
                        other => self.write(other)?,
                    }
                }
            }
            Node::Choice(choices) => self.write_choice(choices)?,
            Node::Repeat { node, least, most, kind } => {
                self.write_repeat(node, *least, *most, *kind, false)?;
            }
            Node::Look { node, behind: false, negative } => {
                let at = self.push(Step::Done)?;
                self.write_body(node)?;
                let next = self.at();
                self.steps[at as usize] = Step::Ahead { body: at + 1, negative: *negative, next };
            }
            Node::Look { node, behind: true, negative } => self.write_behind(node, *negative)?,
            Node::Atomic(node) => self.write_atomic(node)?,
        }
        Ok(())
    }

    fn write_body(&mut self, node: &Node) -> Outcome<()> {
        self.write(node)?;
        self.push(Step::Done)?;
        Ok(())
    }

    fn write_atomic(&mut self, node: &Node) -> Outcome<()> {
        let at = self.push(Step::Done)?;
        self.write_body(node)?;
        let next = self.at();
        self.steps[at as usize] = Step::Atomic { body: at + 1, next };
        Ok(())
    }

    fn write_behind(&mut self, node: &Node, negative: bool) -> Outcome<()> {
        let choices = match node {
            Node::Choice(choices) => choices.as_slice(),
            other => std::slice::from_ref(other),
        };
        let at = self.push(Step::Done)?;
        let mut bodies = Vec::new();
        for choice in choices {
            let count = character_count(choice).ok_or_else(|| {
                let message = "a look-behind of more than one length is not supported";
                Failure::new(Status::NotSupported, message)
            })?;
            bodies.push((count, self.at()));
            self.write_body(choice)?;
        }
        let next = self.at();
        self.steps[at as usize] = Step::Behind { bodies, negative, next };
        Ok(())
    }

    fn write_choice(&mut self, choices: &[Node]) -> Outcome<()> {
        let mut jumps = Vec::new();
        for (index, choice) in choices.iter().enumerate() {
            if index + 1 == choices.len() {
                self.write(choice)?;
                break;
            }
            let split = self.push(Step::Done)?;
            self.write(choice)?;
            jumps.push(self.push(Step::Done)?);
            self.steps[split as usize] = Step::Split(split + 1, self.at());
        }
        let end = self.at();
        for jump in jumps {
            self.steps[jump as usize] = Step::Jump(end);
        }
        Ok(())
    }

    fn write_repeat(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        kind: Kind,
        fixed: bool,
    ) -> Outcome<()> {
        if let Node::Class(class) = node {
            let set = self.set_of(class)?;
            let (run, most) = (self.run_count, most.unwrap_or(u32::MAX));
            self.run_count += 1;
            self.push(Step::Run { set, least, most, kind, run, fixed })?;
            return Ok(());
        }
        if kind == Kind::Possessive {
            let node = Box::new(node.clone());
            let greedy = Node::Repeat { node, least, most, kind: Kind::Greedy };
            return self.write_atomic(&greedy);
        }
        for _ in 0..least {
            self.write(node)?;
        }
        match most {
            None => self.write_loop(node, kind),
            Some(most) => self.write_optional(node, most - least, kind),
        }
    }

    fn write_loop(&mut self, node: &Node, kind: Kind) -> Outcome<()> {
        let split = self.push(Step::Done)?;
        let slot = can_be_empty(node).then(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        if let Some(slot) = slot {
            self.push(Step::LoopBegin(slot))?;
        }
        self.write(node)?;
        let end = match slot {
            Some(_) => Some(self.push(Step::Done)?),
            None => None,
        };
        self.push(Step::Jump(split))?;
        let exit = self.at();
        if let (Some(slot), Some(end)) = (slot, end) {
            self.steps[end as usize] = Step::LoopEnd { slot, exit };
        }
        self.steps[split as usize] = split_of(kind, split + 1, exit);
        Ok(())
    }

    fn write_optional(&mut self, node: &Node, count: u32, kind: Kind) -> Outcome<()> {
        let mut splits = Vec::new();
        for _ in 0..count {
            splits.push(self.push(Step::Done)?);
            self.write(node)?;
        }
        let exit = self.at();
        for split in splits {
            self.steps[split as usize] = split_of(kind, split + 1, exit);
        }
        Ok(())
    }
}

fn split_of(kind: Kind, body: At, exit: At) -> Step {
    match kind {
        Kind::Lazy => Step::Split(exit, body),
        _ => Step::Split(body, exit),
    }
}

/// Finds the steps that match whatever follows: those that only lead to the end.
fn sure_steps(steps: &[Step]) -> Vec<bool> {
    let mut sure = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        sure[at] = match step {
            Step::Done => true,
            Step::Run { least: 0, .. } => sure[at + 1],
            Step::Jump(next) => *next as usize > at && sure[*next as usize],
            _ => false,
        };
    }
    sure
}

/// Whether each match of `nodes` begins with a character, and with none of the class `node`.
fn never_begins(nodes: &[Node], node: &Node) -> bool {
    let Node::Class(class) = node else { return false };
    let mut all = ClassUnicode::empty();
    for node in nodes {
        let (first, empty) = first_or_empty(node);
        all.union(&first);
        if !empty {
            all.intersect(class);
            return all.ranges().is_empty();
        }
    }
    false
}

fn can_be_empty(node: &Node) -> bool {
    match node {
        Node::Class(_) => false,
        Node::Place(_) | Node::Look { .. } => true,
        Node::Sequence(nodes) => nodes.iter().all(can_be_empty),
        Node::Choice(choices) => choices.iter().any(can_be_empty),
        Node::Repeat { node, least, .. } => *least == 0 || can_be_empty(node),
        Node::Atomic(node) => can_be_empty(node),
    }
}

/// The characters that a match can begin with; nothing if it can be empty.
fn first_characters(node: &Node) -> Option<ClassUnicode> {
    let (class, empty) = first_or_empty(node);
    (!empty).then_some(class)
}

fn first_or_empty(node: &Node) -> (ClassUnicode, bool) {
    match node {
        Node::Class(class) => (class.clone(), false),
        Node::Place(_) | Node::Look { .. } => (ClassUnicode::empty(), true),
        Node::Sequence(nodes) => {
            let mut all = ClassUnicode::empty();
            for node in nodes {
                let (class, empty) = first_or_empty(node);
                all.union(&class);
                if !empty {
                    return (all, false);
                }
            }
            (all, true)
        }
        Node::Choice(choices) => {
            let mut all = (ClassUnicode::empty(), false);
            for choice in choices {
                let (class, empty) = first_or_empty(choice);
                all.0.union(&class);
                all.1 |= empty;
            }
            all
        }
        Node::Repeat { node, least, .. } => {
            let (class, empty) = first_or_empty(node);
            (class, empty || *least == 0)
        }
        Node::Atomic(node) => first_or_empty(node),
    }
}

/// How many characters every match has, if all have the same number.
fn character_count(node: &Node) -> Option<u32> {
    match node {
        Node::Class(_) => Some(1),
        Node::Place(_) | Node::Look { .. } => Some(0),
        Node::Sequence(nodes) => {
            nodes.iter().try_fold(0u32, |sum, node| sum.checked_add(character_count(node)?))
        }
        Node::Choice(choices) => {
            let mut counts = choices.iter().map(character_count);
            let first = counts.next()??;
            counts.all(|count| count == Some(first)).then_some(first)
        }
        Node::Repeat { node, least, most, .. } if *most == Some(*least) => {
            character_count(node)?.checked_mul(*least)
        }
        Node::Repeat { .. } => None,
        Node::Atomic(node) => character_count(node),
    }
}
