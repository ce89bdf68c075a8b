//! The expressions of a template, by Jinja's precedence.

use super::ast::*;
use super::error::Result;
use super::lexer::Token;
use super::parser::{Parser, CHAIN_MAX};
use super::text::Text;

fn at(line: usize, kind: Kind) -> Expression {
    Expression { line, kind }
}

/// Jinja writes a negative literal before `**` into Python code, where the power binds closer.
fn sign_last(power: Expression) -> Expression {
    let Kind::Binary(Operator::Power, left, right) = power.kind else { return power };
    match left.kind {
        Kind::Unary(Sign::Minus, base) if base.is_constant() && !right.is_constant() => {
            let power = at(power.line, Kind::Binary(Operator::Power, base, right));
            at(left.line, Kind::Unary(Sign::Minus, Box::new(power)))
        }
        kind => {
            let left = Box::new(at(left.line, kind));
            at(power.line, Kind::Binary(Operator::Power, left, right))
        }
    }
}

impl Parser {
    pub fn expression(&mut self) -> Result<Expression> {
        self.nested(Self::conditional_expression)
    }

    fn conditional_expression(&mut self) -> Result<Expression> {
        let line = self.line();
        let unknown_before = self.unknown.len();
        let mut value = self.or()?;
        let mut count = 0;
        while self.skip_name("if") {
            self.limit_chain(&mut count)?;
            self.unknown.truncate(unknown_before);
            let test = self.conditional(true, Self::or)?;
            let otherwise = if self.skip_name("else") {
                let value = self.nested(|p| p.conditional(true, Self::conditional_expression))?;
                Some(Box::new(value))
            } else {
                None
            };
            let kind = Kind::If { test: Box::new(test), then: Box::new(value), otherwise };
            value = at(line, kind);
        }
        Ok(value)
    }

    fn limit_chain(&self, count: &mut usize) -> Result<()> {
        *count += 1;
        if *count > CHAIN_MAX {
            return self.fail(format!("a chain of more than {CHAIN_MAX} operators"));
        }
        Ok(())
    }

    fn or(&mut self) -> Result<Expression> {
        self.joined("or", Self::and, Kind::Or)
    }

    fn and(&mut self) -> Result<Expression> {
        self.joined("and", Self::not, Kind::And)
    }

    /// Operands with a word between them, from left to right.
    fn joined(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> Result<Expression>,
        kind: fn(Box<Expression>, Box<Expression>) -> Kind,
    ) -> Result<Expression> {
        let line = self.line();
        let mut left = operand(self)?;
        let mut count = 0;
        while self.skip_name(word) {
            self.limit_chain(&mut count)?;
            let right = operand(self)?;
            left = at(line, kind(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression> {
        let line = self.line();
        if self.skip_name("not") {
            let value = self.nested(Self::not)?;
            return Ok(at(line, Kind::Not(Box::new(value))));
        }
        self.compare()
    }

    fn compare(&mut self) -> Result<Expression> {
        let line = self.line();
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let comparison = match self.token() {
                Token::Operator("==") => Comparison::Equal,
                Token::Operator("!=") => Comparison::NotEqual,
                Token::Operator("<") => Comparison::Less,
                Token::Operator("<=") => Comparison::LessOrEqual,
                Token::Operator(">") => Comparison::Greater,
                Token::Operator(">=") => Comparison::GreaterOrEqual,
                Token::Name(name) if name == "in" => Comparison::In,
                Token::Name(name) if name == "not" => match self.token_after() {
                    Token::Name(after) if after == "in" => {
                        self.advance();
                        Comparison::NotIn
                    }
                    _ => break,
                },
                _ => break,
            };
            self.advance();
            rest.push((comparison, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(at(line, Kind::Compare(Box::new(first), rest)))
    }

    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let line = self.line();
        let mut left = operand(self)?;
        let mut count = 0;
        'next: loop {
            for (text, operator) in operators {
                if self.skip_operator(text) {
                    self.limit_chain(&mut count)?;
                    let right = operand(self)?;
                    left = at(line, Kind::Binary(*operator, Box::new(left), Box::new(right)));
                    continue 'next;
                }
            }
            return Ok(left);
        }
    }

    fn sum(&mut self) -> Result<Expression> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::concat)
    }

    fn concat(&mut self) -> Result<Expression> {
        let line = self.line();
        let mut parts = vec![self.product()?];
        while self.skip_operator("~") {
            parts.push(self.product()?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Ok(at(line, Kind::Concat(parts)))
    }

    fn product(&mut self) -> Result<Expression> {
        let operators = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::FloorDivide),
            ("%", Operator::Modulo),
        ];
        self.chain(&operators, Self::power)
    }

    fn power(&mut self) -> Result<Expression> {
        let power = self.chain(&[("**", Operator::Power)], |parser| parser.unary(true))?;
        Ok(sign_last(power))
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expression> {
        let line = self.line();
        let sign = match self.token() {
            Token::Operator("-") => Some(Sign::Minus),
            Token::Operator("+") => Some(Sign::Plus),
            _ => None,
        };
        let mut value = match sign {
            Some(sign) => {
                self.advance();
                let value = self.nested(|parser| parser.unary(false))?;
                at(line, Kind::Unary(sign, Box::new(value)))
            }
            None => self.primary()?,
        };
        value = self.postfix(value)?;
        if with_filter {
            value = self.filter_expression(value)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Expression> {
        let line = self.line();
        let kind = match self.token().clone() {
            Token::Name(name) => {
                self.advance();
                match name.as_str() {
                    "true" | "True" => Kind::Constant(Constant::Bool(true)),
                    "false" | "False" => Kind::Constant(Constant::Bool(false)),
                    "none" | "None" => Kind::Constant(Constant::None),
                    _ => {
                        let symbol = self.symbol(&name);
                        self.uses.push(symbol);
                        Kind::Name(symbol)
                    }
                }
            }
            Token::Text(mut text) => {
                self.advance();
                while let Token::Text(more) = self.token().clone() {
                    text.push_str(&more);
                    self.advance();
                }
                Kind::Constant(Constant::Text(Text::plain(&text)))
            }
            Token::Int(value) => {
                self.advance();
                Kind::Constant(Constant::Int(value))
            }
            Token::Float(value) => {
                self.advance();
                Kind::Constant(Constant::Float(value))
            }
            Token::Operator("(") => {
                self.advance();
                let value = self.nested(|parser| parser.tuple_or_empty())?;
                self.expect_operator(")")?;
                return Ok(value);
            }
            Token::Operator("[") => {
                self.advance();
                Kind::List(self.list_items()?)
            }
            Token::Operator("{") => {
                self.advance();
                Kind::Dict(self.dict_items()?)
            }
            _ => return self.unexpected("an expression"),
        };
        Ok(at(line, kind))
    }

    fn list_items(&mut self) -> Result<Vec<Expression>> {
        let mut items = Vec::new();
        while !self.is_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("]") {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        self.advance();
        Ok(items)
    }

    fn dict_items(&mut self) -> Result<Vec<(Expression, Expression)>> {
        let mut items = Vec::new();
        while !self.is_operator("}") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_operator(":")?;
            items.push((key, self.expression()?));
        }
        self.advance();
        Ok(items)
    }

    /// Expressions with commas between them are a tuple; one alone is itself.
    pub fn tuple(&mut self, with_condition: bool, ends: &[&str]) -> Result<Expression> {
        let line = self.line();
        let (mut items, is_tuple) = self.tuple_items(with_condition, ends)?;
        if is_tuple {
            return Ok(at(line, Kind::Tuple(items)));
        }
        if items.is_empty() {
            return self.unexpected("an expression");
        }
        Ok(items.remove(0))
    }

    fn tuple_or_empty(&mut self) -> Result<Expression> {
        if self.is_operator(")") {
            return Ok(at(self.line(), Kind::Tuple(Vec::new())));
        }
        self.tuple(true, &[])
    }

    fn tuple_items(
        &mut self,
        with_condition: bool,
        ends: &[&str],
    ) -> Result<(Vec<Expression>, bool)> {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            if self.is_tuple_end(ends) {
                return Ok((items, is_tuple));
            }
            items.push(if with_condition { self.expression()? } else { self.nested(Self::or)? });
            if !self.is_operator(",") {
                return Ok((items, is_tuple));
            }
            is_tuple = true;
        }
    }

    fn postfix(&mut self, mut value: Expression) -> Result<Expression> {
        let mut count = 0;
        loop {
            let line = self.line();
            if self.skip_operator(".") {
                value = self.attribute(value, line)?;
            } else if self.skip_operator("[") {
                value = self.item(value, line)?;
            } else if self.is_operator("(") {
                let arguments = self.arguments()?;
                value = at(line, Kind::Call(Box::new(value), arguments));
            } else {
                return Ok(value);
            }
            self.limit_chain(&mut count)?;
        }
    }

    fn attribute(&mut self, value: Expression, line: usize) -> Result<Expression> {
        match self.advance() {
            Token::Name(name) => Ok(at(line, Kind::Attribute(Box::new(value), name))),
            Token::Int(index) => {
                let index = at(line, Kind::Constant(Constant::Int(index)));
                Ok(at(line, Kind::Item(Box::new(value), Box::new(index))))
            }
            _ => self.fail("expected name or number"),
        }
    }

    fn item(&mut self, value: Expression, line: usize) -> Result<Expression> {
        let mut items = Vec::new();
        while !self.is_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            items.push(self.subscript()?);
        }
        self.advance();
        let index = if items.len() == 1 { items.remove(0) } else { at(line, Kind::Tuple(items)) };
        Ok(at(line, Kind::Item(Box::new(value), Box::new(index))))
    }

    fn subscript(&mut self) -> Result<Expression> {
        let line = self.line();
        let mut parts = [None, None, None];
        if !self.is_operator(":") {
            let value = self.expression()?;
            if !self.is_operator(":") {
                return Ok(value);
            }
            parts[0] = Some(value);
        }
        self.advance();
        let ends = |parser: &Self| parser.is_operator("]") || parser.is_operator(",");
        if !self.is_operator(":") && !ends(self) {
            parts[1] = Some(self.expression()?);
        }
        if self.skip_operator(":") && !ends(self) {
            parts[2] = Some(self.expression()?);
        }
        Ok(at(line, Kind::Slice(Box::new(parts))))
    }

    fn arguments(&mut self) -> Result<Arguments> {
        let mut made = Arguments::default();
        self.expect_operator("(")?;
        let mut is_first = true;
        while !self.is_operator(")") {
            if !is_first {
                self.expect_operator(",")?;
                if self.is_operator(")") {
                    break;
                }
            }
            is_first = false;
            self.one_argument(&mut made)?;
        }
        self.expect_operator(")")?;
        Ok(made)
    }

    fn one_argument(&mut self, made: &mut Arguments) -> Result<()> {
        let ensure = |parser: &Self, good: bool| {
            if good {
                return Ok(());
            }
            parser.fail("invalid syntax for function call expression")
        };
        if self.skip_operator("*") {
            ensure(self, made.star.is_none() && made.double_star.is_none())?;
            made.star = Some(Box::new(self.expression()?));
        } else if self.skip_operator("**") {
            ensure(self, made.double_star.is_none())?;
            made.double_star = Some(Box::new(self.expression()?));
        } else if matches!(self.token(), Token::Name(_))
            && *self.token_after() == Token::Operator("=")
        {
            ensure(self, made.double_star.is_none())?;
            let name = self.expect_name()?;
            self.advance();
            ensure(self, made.named.iter().all(|(each, _)| *each != name))?;
            let value = self.expression()?;
            made.named.push((name, value));
        } else {
            let is_early =
                made.star.is_none() && made.double_star.is_none() && made.named.is_empty();
            ensure(self, is_early)?;
            made.positional.push(self.expression()?);
        }
        Ok(())
    }

    fn filter_expression(&mut self, mut value: Expression) -> Result<Expression> {
        let mut count = 0;
        loop {
            let line = self.line();
            if self.is_operator("|") {
                self.advance();
                value = self.one_filter(value)?;
            } else if self.is_name("is") {
                self.advance();
                value = self.test(value, line)?;
            } else if self.is_operator("(") {
                let arguments = self.arguments()?;
                value = at(line, Kind::Call(Box::new(value), arguments));
            } else {
                return Ok(value);
            }
            self.limit_chain(&mut count)?;
        }
    }

    /// `|one|two(3)` applied to a value, or to the body of a block.
    pub fn filters(&mut self, first: Option<Expression>) -> Result<Option<Expression>> {
        let mut value = first;
        let mut count = 0;
        while self.skip_operator("|") {
            self.limit_chain(&mut count)?;
            let line = self.line();
            let argument = value.unwrap_or_else(|| at(line, Kind::Body));
            value = Some(self.one_filter(argument)?);
        }
        Ok(value)
    }

    fn dotted_name(&mut self) -> Result<String> {
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name.push('.');
            name.push_str(&self.expect_name()?);
        }
        Ok(name)
    }

    pub fn one_filter(&mut self, value: Expression) -> Result<Expression> {
        let line = self.line();
        let name = self.dotted_name()?;
        let arguments =
            if self.is_operator("(") { self.arguments()? } else { Arguments::default() };
        self.check_known(true, &name, line);
        Ok(at(line, Kind::Filter(Box::new(value), name, arguments)))
    }

    fn test(&mut self, value: Expression, line: usize) -> Result<Expression> {
        let is_negated = self.skip_name("not");
        let name = self.dotted_name()?;
        let mut arguments = Arguments::default();
        let begins_argument = match self.token() {
            Token::Name(name) => !matches!(name.as_str(), "else" | "or" | "and"),
            Token::Text(_) | Token::Int(_) | Token::Float(_) => true,
            Token::Operator(operator) => matches!(*operator, "[" | "{"),
            _ => false,
        };
        if self.is_operator("(") {
            arguments = self.arguments()?;
        } else if begins_argument {
            if self.is_name("is") {
                return self.fail("You cannot chain multiple tests with is");
            }
            let argument = self.primary()?;
            arguments.positional.push(self.postfix(argument)?);
        }
        self.check_known(false, &name, line);
        let test = at(line, Kind::Test(Box::new(value), name, arguments));
        Ok(if is_negated { at(line, Kind::Not(Box::new(test))) } else { test })
    }
}
