//! From tokens to a `Program`: the statements. Expressions are in `parse_expression.rs`. Both
//! follow Jinja's own parser function by function, because templates rely on its corners.

use super::ast::*;
use super::error::{Error, Result};
use super::lexer::{tokenize, Placed, Token};
use super::text::Text;
use super::{filters, scopes, tests};
use std::collections::HashMap;
use std::sync::Arc;

/// Nesting of statements and expressions, and the length of a chain of operators.
const NESTING_MAX: usize = 100;
pub const CHAIN_MAX: usize = 200;

pub fn parse(source: &str) -> Result<Program> {
    let mut parser = Parser {
        tokens: tokenize(source)?,
        at: 0,
        depth: 0,
        names: Vec::new(),
        symbols: HashMap::new(),
        uses: Vec::new(),
        is_conditional: false,
        unknown: Vec::new(),
        loop_depth: 0,
    };
    let scope = Scope::new(parser.statements(&[])?);
    if let Some(error) = parser.unknown.into_iter().next() {
        return Err(error);
    }
    let program = Program { scope, names: parser.names };
    scopes::mark(&program);
    Ok(program)
}

pub struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    names: Vec<String>,
    symbols: HashMap<String, Symbol>,
    /// Every name that is read, in the order of the source.
    pub uses: Vec<Symbol>,
    /// Within `if`: an unknown filter or test fails only if it is reached.
    pub is_conditional: bool,
    /// Unknown filters and tests that are not within a conditional expression.
    pub unknown: Vec<Error>,
    loop_depth: usize,
}

impl Parser {
    pub fn token(&self) -> &Token {
        &self.tokens[self.at].token
    }
    pub fn token_after(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].token
    }
    pub fn line(&self) -> usize {
        self.tokens[self.at].line
    }
    pub fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::at(self.line(), message))
    }
    pub fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        let got = match self.token() {
            Token::End => "the end of the template".to_owned(),
            Token::Data(_) => "text".to_owned(),
            Token::VariableBegin => "'{{'".to_owned(),
            Token::VariableEnd => "'}}'".to_owned(),
            Token::BlockBegin => "'{%'".to_owned(),
            Token::BlockEnd => "'%}'".to_owned(),
            Token::Name(name) => format!("'{name}'"),
            Token::Text(text) => format!("{text:?}"),
            Token::Int(value) => value.to_string(),
            Token::Float(value) => value.to_string(),
            Token::Operator(operator) => format!("'{operator}'"),
        };
        self.fail(format!("expected {wanted}, got {got}"))
    }

    pub fn is_operator(&self, operator: &str) -> bool {
        matches!(self.token(), Token::Operator(each) if *each == operator)
    }
    pub fn is_name(&self, name: &str) -> bool {
        matches!(self.token(), Token::Name(each) if each == name)
    }
    pub fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        if found {
            self.advance();
        }
        found
    }
    pub fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.advance();
        }
        found
    }
    pub fn expect_operator(&mut self, operator: &str) -> Result<()> {
        if self.skip_operator(operator) {
            return Ok(());
        }
        self.unexpected(&format!("'{operator}'"))
    }
    pub fn expect_name(&mut self) -> Result<String> {
        match self.token().clone() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => self.unexpected("a name"),
        }
    }
    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.skip_name(word) {
            return Ok(());
        }
        self.unexpected(&format!("'{word}'"))
    }
    fn expect_block_end(&mut self) -> Result<()> {
        if *self.token() != Token::BlockEnd {
            return self.unexpected("'%}'");
        }
        self.advance();
        Ok(())
    }

    pub fn symbol(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = self.names.len() as Symbol;
        self.names.push(name.to_owned());
        self.symbols.insert(name.to_owned(), symbol);
        symbol
    }

    pub fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return self.fail(format!("nested deeper than {NESTING_MAX} levels"));
        }
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// Runs `body` with `is_conditional` as given, and restores it after that.
    pub fn conditional<T>(
        &mut self,
        value: bool,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.is_conditional, value);
        let result = body(self);
        self.is_conditional = before;
        result
    }

    /// Up to one of the tags `ends`, which stays the current token; without any, to the end.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        self.nested(|parser| parser.statements_here(ends))
    }

    fn statements_here(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            match self.token().clone() {
                Token::Data(text) => {
                    self.advance();
                    body.push(Statement { line, kind: StatementKind::Data(Text::plain(&text)) });
                }
                Token::VariableBegin => {
                    self.advance();
                    let value = self.tuple(true, &[])?;
                    if *self.token() != Token::VariableEnd {
                        return self.unexpected("'}}'");
                    }
                    self.advance();
                    body.push(Statement { line, kind: StatementKind::Print(vec![value]) });
                }
                Token::BlockBegin => {
                    self.advance();
                    if ends.iter().any(|end| self.is_name(end)) {
                        return Ok(body);
                    }
                    let kind = self.statement(ends)?;
                    body.push(Statement { line, kind });
                    self.expect_block_end()?;
                }
                Token::End if ends.is_empty() => return Ok(body),
                _ => return self.unexpected(&format!("{{% {} %}}", ends.join(" or "))),
            }
        }
    }

    /// The rest of an opening tag, and its body with the closing word.
    fn body(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        self.skip_operator(":");
        self.expect_block_end()?;
        self.statements(ends)
    }

    fn whole_body(&mut self, end: &str) -> Result<Vec<Statement>> {
        let body = self.body(&[end])?;
        self.advance();
        Ok(body)
    }

    fn scope(&mut self, end: &str) -> Result<Scope> {
        Ok(Scope::new(self.whole_body(end)?))
    }

    fn statement(&mut self, ends: &[&str]) -> Result<StatementKind> {
        let Token::Name(tag) = self.token().clone() else { return self.unexpected("a tag") };
        let line = self.line();
        self.advance();
        match tag.as_str() {
            "if" => self.conditional(true, Self::if_tag),
            "for" => self.conditional(false, Self::for_tag),
            "set" => self.set_tag(),
            "with" => self.conditional(false, Self::with_tag),
            "macro" => self.conditional(false, Self::macro_tag),
            "call" => self.conditional(false, |parser| parser.call_tag(line)),
            "filter" => self.conditional(false, Self::filter_tag),
            "generation" => {
                let body = self.conditional(false, |parser| {
                    parser.macro_body(String::new(), Vec::new(), "endgeneration")
                })?;
                Ok(StatementKind::Generation(Arc::new(body)))
            }
            "block" => self.conditional(false, Self::block_tag),
            "print" => self.print_tag(),
            "break" | "continue" => {
                if self.loop_depth == 0 {
                    return Err(Error::at(line, format!("'{tag}' outside loop")));
                }
                let is_break = tag == "break";
                Ok(if is_break { StatementKind::Break } else { StatementKind::Continue })
            }
            "include" | "import" | "extends" | "from" => {
                while *self.token() != Token::BlockEnd && *self.token() != Token::End {
                    self.advance();
                }
                Ok(StatementKind::Refused(format!(
                    "{{% {tag} %}} needs other templates, and a chat template has none"
                )))
            }
            "autoescape" => self.conditional(false, Self::autoescape_tag),
            _ => {
                let wanted = if ends.is_empty() {
                    String::new()
                } else {
                    format!("; the innermost block wants {}", ends.join(" or "))
                };
                Err(Error::at(line, format!("unknown tag '{tag}'{wanted}")))
            }
        }
    }

    fn if_tag(&mut self) -> Result<StatementKind> {
        let mut branches = Vec::new();
        loop {
            let test = self.tuple(false, &[])?;
            let body = self.body(&["elif", "else", "endif"])?;
            branches.push((test, body));
            if self.skip_name("elif") {
                continue;
            }
            let mut otherwise = Vec::new();
            if self.skip_name("else") {
                otherwise = self.whole_body("endif")?;
            } else {
                self.expect_word("endif")?;
            }
            return Ok(StatementKind::If { branches, otherwise });
        }
    }

    fn for_tag(&mut self) -> Result<StatementKind> {
        let target = self.target(&["in"], false)?;
        let loop_name = self.symbol("loop");
        if target.names(loop_name) {
            return self.fail("can't assign to special loop variable in for-loop target");
        }
        self.expect_word("in")?;
        let items = self.tuple(false, &["recursive"])?;
        let test = if self.skip_name("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive");
        self.loop_depth += 1;
        let scope = Scope::new(self.body(&["endfor", "else"])?);
        self.loop_depth -= 1;
        let mut otherwise = Scope::default();
        if self.skip_name("else") {
            otherwise = self.scope("endfor")?;
        } else {
            self.expect_word("endfor")?;
        }
        let made = For { target, items, test, recursive, scope, otherwise, loop_name };
        Ok(StatementKind::For(Arc::new(made)))
    }

    fn set_tag(&mut self) -> Result<StatementKind> {
        let target = self.target(&[], true)?;
        if self.skip_operator("=") {
            let value = self.tuple(true, &[])?;
            return Ok(StatementKind::Set { target, value });
        }
        let filter = self.filters(None)?;
        let scope = self.conditional(false, |parser| parser.scope("endset"))?;
        Ok(StatementKind::SetBlock { target, filter, scope })
    }

    fn with_tag(&mut self) -> Result<StatementKind> {
        let mut bindings = Vec::new();
        while *self.token() != Token::BlockEnd {
            if !bindings.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.target(&[], false)?;
            self.expect_operator("=")?;
            bindings.push((target, self.expression()?));
        }
        let scope = self.scope("endwith")?;
        Ok(StatementKind::With { bindings, scope })
    }

    fn macro_tag(&mut self) -> Result<StatementKind> {
        let name = self.expect_name()?;
        let parameters = self.signature()?;
        Ok(StatementKind::Macro(Arc::new(self.macro_body(name, parameters, "endmacro")?)))
    }

    fn call_tag(&mut self, line: usize) -> Result<StatementKind> {
        let parameters = if self.is_operator("(") { self.signature()? } else { Vec::new() };
        let call = self.expression()?;
        if !matches!(call.kind, Kind::Call(..)) {
            return Err(Error::at(line, "expected call"));
        }
        let caller = self.macro_body(String::new(), parameters, "endcall")?;
        Ok(StatementKind::CallBlock { call, caller: Arc::new(caller) })
    }

    fn signature(&mut self) -> Result<Vec<(Symbol, Option<Expression>)>> {
        let mut parameters: Vec<(Symbol, Option<Expression>)> = Vec::new();
        self.expect_operator("(")?;
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
            }
            let name = self.expect_name()?;
            let symbol = self.symbol(&name);
            if self.skip_operator("=") {
                parameters.push((symbol, Some(self.expression()?)));
            } else if parameters.last().is_some_and(|(_, default)| default.is_some()) {
                return self.fail("non-default argument follows default argument");
            } else {
                parameters.push((symbol, None));
            }
        }
        self.expect_operator(")")?;
        Ok(parameters)
    }

    fn macro_body(
        &mut self,
        name: String,
        parameters: Vec<(Symbol, Option<Expression>)>,
        end: &str,
    ) -> Result<MacroBody> {
        let symbol = self.symbol(&name);
        let [caller, varargs, kwargs] =
            ["caller", "varargs", "kwargs"].map(|name| self.symbol(name));
        let uses_before = self.uses.len();
        let loops = std::mem::take(&mut self.loop_depth);
        let scope = self.scope(end)?;
        self.loop_depth = loops;
        let used = &self.uses[uses_before..];
        let own = |symbol: Symbol| {
            let is_parameter = parameters.iter().any(|(each, _)| *each == symbol);
            (!is_parameter && used.contains(&symbol)).then_some(symbol)
        };
        let (own_caller, own_varargs, own_kwargs) = (own(caller), own(varargs), own(kwargs));
        let explicit = parameters.iter().find(|(each, _)| *each == caller);
        if explicit.is_some_and(|(_, default)| default.is_none()) {
            return self.fail("the special \"caller\" argument must be omitted or have a default");
        }
        let explicit_caller = explicit.is_some();
        Ok(MacroBody {
            name,
            symbol,
            scope,
            caller: own_caller,
            varargs: own_varargs,
            kwargs: own_kwargs,
            explicit_caller,
            parameters,
        })
    }

    fn filter_tag(&mut self) -> Result<StatementKind> {
        let body = Expression { line: self.line(), kind: Kind::Body };
        let first = self.one_filter(body)?;
        let filter = match self.filters(Some(first))? {
            Some(filter) => filter,
            None => return self.unexpected("a filter"),
        };
        let scope = self.scope("endfilter")?;
        Ok(StatementKind::FilterBlock { filter, scope })
    }

    fn block_tag(&mut self) -> Result<StatementKind> {
        let name = self.expect_name()?;
        self.skip_name("scoped");
        if self.skip_name("required") {
            return self.fail("a required block needs a template that extends this one");
        }
        let scope = self.scope("endblock")?;
        self.skip_name(&name);
        Ok(StatementKind::Block(scope))
    }

    fn autoescape_tag(&mut self) -> Result<StatementKind> {
        let value = self.expression()?;
        if !matches!(value.kind, Kind::Constant(Constant::Bool(false))) {
            return self.fail("{% autoescape %} is supported with false only");
        }
        let scope = self.scope("endautoescape")?;
        Ok(StatementKind::With { bindings: Vec::new(), scope })
    }

    fn print_tag(&mut self) -> Result<StatementKind> {
        let mut values = Vec::new();
        while *self.token() != Token::BlockEnd {
            if !values.is_empty() {
                self.expect_operator(",")?;
            }
            values.push(self.expression()?);
        }
        Ok(StatementKind::Print(values))
    }

    /// Parses the target of an assignment: names, attributes of namespaces, and tuples of these.
    fn target(&mut self, ends: &[&str], with_attributes: bool) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        loop {
            if !targets.is_empty() {
                self.expect_operator(",")?;
            }
            if self.is_tuple_end(ends) {
                break;
            }
            targets.push(self.one_target(with_attributes)?);
            if !self.is_operator(",") {
                break;
            }
            is_tuple = true;
        }
        match targets.len() {
            0 => self.unexpected("a name to assign to"),
            1 if !is_tuple => Ok(targets.remove(0)),
            _ => Ok(Target::Tuple(targets)),
        }
    }

    fn one_target(&mut self, with_attributes: bool) -> Result<Target> {
        if self.skip_operator("(") {
            let target = self.nested(|parser| parser.target(&[], false))?;
            self.expect_operator(")")?;
            return Ok(target);
        }
        let name = self.expect_name()?;
        if matches!(name.as_str(), "true" | "false" | "none" | "True" | "False" | "None") {
            return self.fail(format!("can't assign to '{name}'"));
        }
        let symbol = self.symbol(&name);
        if with_attributes && self.skip_operator(".") {
            return Ok(Target::Attribute(symbol, self.expect_name()?));
        }
        Ok(Target::Name(symbol))
    }

    pub fn is_tuple_end(&self, ends: &[&str]) -> bool {
        matches!(self.token(), Token::VariableEnd | Token::BlockEnd)
            || self.is_operator(")")
            || ends.iter().any(|end| self.is_name(end))
    }

    /// An unknown filter or test fails when the template is compiled, unless it stands within `if`.
    pub fn check_known(&mut self, is_filter: bool, name: &str, line: usize) {
        let known = if is_filter { filters::is_known(name) } else { tests::is_known(name) };
        if !known && !self.is_conditional {
            let kind = if is_filter { "filter" } else { "test" };
            self.unknown.push(Error::at(line, format!("no {kind} named '{name}'")));
        }
    }
}

impl Target {
    fn names(&self, symbol: Symbol) -> bool {
        match self {
            Target::Name(name) => *name == symbol,
            Target::Attribute(..) => false,
            Target::Tuple(targets) => targets.iter().any(|target| target.names(symbol)),
        }
    }
}
