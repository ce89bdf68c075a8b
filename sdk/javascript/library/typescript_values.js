// Values of TypeScript that JavaScript does not have: enum, namespace and `import name = a.b`.
// withoutTypeScriptValues() rewrites them in the text of a module, line by line, so that only types
// are left to take away. What has no counterpart is refused by its name and place.
//
//   namespace Shapes { export const side = 4; }
//   var Shapes; (function (_Shapes) { (accessors of its exports) const side = 4; })(Shapes || (Shapes = {}));
//
// An exported variable is an accessor of the namespace, so that both sides see what is assigned. A
// name that another block of the same namespace exports is written as a member of it.
import { IdentifierRole, isDeclaration, isFunctionScopedDeclaration } from "quire:sucrase/parser/tokenizer/index.js";
import { ContextualKeyword } from "quire:sucrase/parser/tokenizer/keywords.js";
import { TokenType as tt } from "quire:sucrase/parser/tokenizer/types.js";
import isIdentifier from "quire:sucrase/util/isIdentifier.js";

const opening = new Set([tt.braceL, tt.dollarBraceL, tt.parenL, tt.bracketL]);
const closing = new Set([tt.braceR, tt.parenR, tt.bracketR]);
const accesses = new Set([IdentifierRole.Access, IdentifierRole.ObjectShorthand, IdentifierRole.ExportAccess]);
const noDecorators = "decorators are not supported: call the function with the class or the member instead";
const unnameable = new Set(["arguments", "eval"]);

// An error of a place in the source, as the parser's.
export function refused(source, at, message) {
  const before = source.slice(0, at);
  const line = before.split("\n").length;
  const error = new SyntaxError(message);
  error.loc = { line, column: at - before.lastIndexOf("\n") };
  return error;
}

// The brackets of the tokens: the index of the closing one for each opening one.
function pairsOf(tokens) {
  const pairs = new Map();
  const open = [];
  tokens.forEach(({ type }, index) => {
    if (opening.has(type)) open.push(index);
    if (closing.has(type)) pairs.set(open.pop(), index);
  });
  return pairs;
}

class Lowering {
  #source;
  #tokens;
  #scopes;
  #pairs;
  #edits = [];  // Texts that replace the range [at, end).
  #names;       // All that the source has, and those that were made.
  #aliases = [];  // Of `import name = a.b`: {name, root, isUsed}.
  #groups = new Map();  // Enums and namespaces by their scope and name: blocks of one name are one.

  constructor(source, { tokens, scopes }) {
    this.#source = source;
    this.#tokens = tokens;
    this.#scopes = scopes;
  }

  // The text without those statements; the source itself if it has none.
  text() {
    if (!this.#check()) return this.#source;
    this.#pairs = pairsOf(this.#tokens);
    this.#names = new Set(this.#tokens.filter(({ type }) => type === tt.name).map((each) => this.#textOf(each)));
    this.#findAliases();
    this.#walk(0, this.#tokens.length, { id: "", param: null, exports: null });
    // A name of an inner namespace hides that of an outer one.
    const joined = new Set();
    for (const group of [...this.#groups.values()].reverse()) this.#joinBlocks(group, joined);
    return this.#edited();
  }

  // Whether there is anything to rewrite. Throws for what is refused.
  #check() {
    let found = false;
    this.#tokens.forEach((token, i) => {
      if (token.isType) return;
      const next = this.#tokens[i + 1];
      if (token.isNamespace || token.type === tt._enum || this.#isAlias(i)) found = true;
      if (token.type === tt.at) {
        this.#refuse(token, noDecorators);
      }
      if (token.contextualKeyword === ContextualKeyword._accessor && this.#isModifier(token, next)) {
        this.#refuse(token, "accessor fields are not supported: write a field, or a getter and a setter");
      }
      if (token.type === tt._export && next.type === tt.eq) {
        this.#refuse(token, "export = is of CommonJS: write export default");
      }
      if (token.type === tt._export && next.contextualKeyword === ContextualKeyword._as) {
        this.#refuse(token, "export as namespace belongs in a declaration file (.d.ts)");
      }
    });
    return found;
  }
  // Whether `token` stands before the name of a member of a class.
  #isModifier(token, next) {
    return token.contextId !== null && next.contextId === token.contextId && next.type !== tt.braceR
      && !this.#source.slice(token.end, next.start).includes("\n");
  }
  #refuse(token, message) {
    throw refused(this.#source, token.start, message);
  }

  #textOf(token) {
    return this.#source.slice(token.start, token.end);
  }
  #replace(index, text) {
    const { start, end } = this.#tokens[index];
    this.#edits.push({ at: start, end, text });
  }
  // Texts at one place come in the order of the calls.
  #insertAfter(index, text) {
    const { end } = this.#tokens[index];
    this.#edits.push({ at: end, end, text });
  }
  #edited() {
    let text = "";
    let at = 0;
    for (const edit of this.#edits.sort((one, other) => one.at - other.at)) {
      text += this.#source.slice(at, edit.at) + edit.text;
      at = edit.end;
    }
    return text + this.#source.slice(at);
  }
  #freshName(name) {
    let fresh = `_${name}`;
    while (this.#names.has(fresh)) fresh = `_${fresh}`;
    this.#names.add(fresh);
    return fresh;
  }

  // The index of the innermost scope that has the token; inner scopes come before outer ones.
  #scopeOf(index, isOfFunction = false) {
    return this.#scopes.findIndex(({ startTokenIndex, endTokenIndex, isFunctionScope }) =>
      startTokenIndex <= index && index < endTokenIndex && (isFunctionScope || !isOfFunction));
  }
  // Whether a variable, a function or a class before the token has its name in its scope.
  #isDeclaredBefore(index) {
    const name = this.#textOf(this.#tokens[index]);
    const scope = this.#scopeOf(index);
    return this.#tokens.some((token, i) => i < index && !token.isType && isDeclaration(token) && this.#textOf(token) === name
      && !this.#tokens[i - 1]?.isNamespace && this.#tokens[i - 1]?.type !== tt.dot && this.#scopeOf(i) === scope);
  }

  // Aliases -----------------------------------------------------------------------------------------

  // `import name = ...`, and not `import type name = ...`, which is a type.
  #isAlias(index) {
    return this.#tokens[index].type === tt._import && this.#tokens[index + 1].type === tt.name
      && this.#tokens[index + 2].type === tt.eq;
  }
  #findAliases() {
    this.#tokens.forEach((token, i) => {
      if (token.isType || !this.#isAlias(i)) return;
      const name = this.#textOf(this.#tokens[i + 1]);
      if (this.#tokens[i + 4].type === tt.parenL) {
        const path = this.#textOf(this.#tokens[i + 5]);
        this.#refuse(token, `import ${name} = require(${path}) is of CommonJS: write import * as ${name} from ${path}`);
      }
      const isExported = this.#tokens[i - 1]?.type === tt._export;
      this.#aliases.push({ name, root: this.#textOf(this.#tokens[i + 3]), isUsed: isExported });
    });
    const used = new Set(this.#tokens.filter((token) => token.type === tt.name && !token.isType && accesses.has(token.identifierRole))
      .map((token) => this.#textOf(token)));
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (const alias of this.#aliases) {
        if (alias.isUsed) used.add(alias.root);
        if (alias.isUsed || !used.has(alias.name)) continue;
        alias.isUsed = isChanged = true;
      }
    }
  }
  #alias(index, isExported, container) {
    const name = this.#textOf(this.#tokens[index + 1]);
    const isUsed = this.#aliases.some((each) => each.name === name && each.isUsed);
    let end = index + 3;
    while (this.#tokens[end + 1].type === tt.dot) end += 2;
    if (isUsed) {
      this.#replace(index, "const");
      if (isExported) container.exports?.set(name, "const");
    } else {
      for (let i = index; i <= end; ++i) this.#replace(i, "");
    }
    return end;
  }

  // Enums and namespaces ----------------------------------------------------------------------------

  #walk(from, to, container) {
    for (let i = from; i < to; ++i) {
      const token = this.#tokens[i];
      if (token.isType) continue;
      if (token.type === tt._export && container.exports !== null) {
        i = this.#exported(i, container);
      } else if (token.isNamespace) {
        i = this.#namespace(i, this.#tokens[i - 1]?.type === tt._export, container);
      } else if (token.type === tt._enum) {
        i = this.#enum(i, this.#isExportedEnum(i), container);
      } else if (this.#isAlias(i)) {
        i = this.#alias(i, this.#tokens[i - 1]?.type === tt._export, container);
      }
    }
  }
  #isExportedEnum(index) {
    const before = this.#tokens[index - 1]?.type === tt._const ? index - 2 : index - 1;
    return this.#tokens[before]?.type === tt._export;
  }

  // `export` within a namespace. Returns the index of the last token that was dealt with.
  #exported(index, container) {
    this.#replace(index, "");
    const next = this.#tokens[index + 1];
    const isConstEnum = next.type === tt._const && this.#tokens[index + 2].type === tt._enum;
    if (next.isNamespace) return this.#namespace(index + 1, true, container);
    if (next.type === tt._enum || isConstEnum) return this.#enum(index + (isConstEnum ? 2 : 1), true, container);
    if (this.#isAlias(index + 1)) return this.#alias(index + 1, true, container);
    if (next.type === tt._const || next.type === tt._let || next.type === tt._var) {
      const kind = next.type === tt._const ? "const" : "let";
      for (const name of this.#bindings(index + 2)) container.exports.set(name, kind);
      return index + 1;
    }
    let at = index + 1;
    while ([tt._abstract, tt._async].includes(this.#tokens[at].type) || this.#textOf(this.#tokens[at]) === "async") ++at;
    const { type } = this.#tokens[at];
    if (type !== tt._function && type !== tt._class) {
      this.#refuse(this.#tokens[index], "a namespace exports declarations: variables, functions, classes, enums and namespaces");
    }
    const name = this.#tokens[at + 1].type === tt.star ? at + 2 : at + 1;
    container.exports.set(this.#textOf(this.#tokens[name]), type === tt._function ? "function" : "class");
    return at;
  }

  // The names that a declaration of variables makes, whose first binding is at `index`.
  #bindings(index) {
    const names = [];
    const scope = this.#scopeOf(index);
    const take = (i) => {
      if (isDeclaration(this.#tokens[i]) && this.#scopeOf(i) === scope) names.push(this.#textOf(this.#tokens[i]));
    };
    for (let i = index; ;) {
      const isPattern = opening.has(this.#tokens[i].type);
      if (!isPattern && !isDeclaration(this.#tokens[i])) return names;
      const end = isPattern ? this.#pairs.get(i) : i;
      for (; i <= end; ++i) take(i);
      // To the comma before the next binding; without one the declaration has ended.
      for (; ; ++i) {
        const { type, isType } = this.#tokens[i];
        if (opening.has(type)) {
          i = this.#pairs.get(i);
        } else if (type === tt.eof || type === tt.semi || closing.has(type)) {
          return names;
        } else if (!isType && [tt._const, tt._let, tt._var, tt._export, tt._import].includes(type)) {
          return names;
        } else if (type === tt.comma && !isType) {
          ++i;
          break;
        }
      }
    }
  }

  // The group of a name in a container: blocks of one name there are one object.
  #group(index, name, isExported, container) {
    const scope = this.#scopeOf(index);
    const id = isExported && container.param !== null ? `${container.id}.${name}` : `${scope}:${name}`;
    if (!this.#groups.has(id)) this.#groups.set(id, { id, name, members: new Set(), blocks: [], isWritten: false });
    return this.#groups.get(id);
  }
  // Writes the words before a body, whose keyword and name are at `keyword` and `name`. Returns the
  // group, the parameter that the body is a function of, and what follows it.
  #begin(keyword, name, isExported, container) {
    const text = this.#textOf(this.#tokens[name]);
    const group = this.#group(name, text, isExported, container);
    const param = this.#freshName(text);
    const isInner = container.param !== null && isExported;
    const isDotted = this.#tokens[keyword].type === tt.dot;
    const isFirst = !(isInner ? container.written.has(text) : group.isWritten) && (isDotted || !this.#isDeclaredBefore(name));
    group.isWritten = true;
    if (isInner) container.written.add(text);
    if (!isFirst && isExported && container.param === null) {
      const before = this.#tokens[keyword - 1].type === tt._const ? keyword - 2 : keyword - 1;
      this.#replace(before, "");
    }
    if (this.#tokens[keyword - 1]?.type === tt._const) this.#replace(keyword - 1, "");
    this.#replace(keyword, isFirst ? "var " : ";");
    this.#replace(name, isFirst ? `${text}; (function (${param})` : `(function (${param})`);
    const outer = isInner ? `${container.param}.${text}` : text;
    const value = isInner ? `${text} = ${outer} || (${outer} = ${isFirst ? "{}" : text})` : `${text} || (${text} = {})`;
    return { group, param, after: `)(${value});` };
  }

  #enum(keyword, isExported, container) {
    const name = keyword + 1;
    const open = name + 1;
    const close = this.#pairs.get(open);
    const { group, param, after } = this.#begin(keyword, name, isExported, container);
    const own = new Set();
    let previous = null;
    for (let i = open + 1; i < close;) {
      const end = this.#enumMember(i, { param, own, group, previous });
      previous = this.#memberCode(i, param);
      const member = this.#memberName(i);
      own.add(member);
      i = end;
      if (this.#tokens[i].type === tt.comma) this.#replace(i++, "");
    }
    for (const each of own) group.members.add(each);
    this.#insertAfter(close, after);
    return close;
  }
  // The name of a member, without the quotes that it may have.
  #memberName(index) {
    const text = this.#textOf(this.#tokens[index]);
    return this.#tokens[index].type === tt.string ? text.slice(1, -1) : text;
  }
  #memberKey(index) {
    const text = this.#textOf(this.#tokens[index]);
    return this.#tokens[index].type === tt.string ? text : `"${text}"`;
  }
  // How later members name it.
  #memberCode(index, param) {
    const name = this.#memberName(index);
    return isIdentifier(name) && !unnameable.has(name) ? name : `${param}[${this.#memberKey(index)}]`;
  }
  // Rewrites a member. Returns the index of the token after it.
  #enumMember(index, { param, own, group, previous }) {
    const key = this.#memberKey(index);
    const code = this.#memberCode(index, param);
    const isVariable = !code.startsWith(`${param}[`);
    const member = `${param}[${key}]`;
    const declared = isVariable ? `const ${code}` : code;
    const kept = isVariable ? `${member} = ${code}` : member;
    if (this.#tokens[index + 1].type !== tt.eq) {
      const value = previous === null ? "0" : `${previous} + 1`;
      this.#replace(index, `${declared} = ${value}; ${param}[${kept}] = ${key};`);
      return index + 1;
    }
    const end = this.#tokens[index + 1].rhsEndIndex;
    for (let i = index + 2; i < end; ++i) {
      const text = this.#textOf(this.#tokens[i]);
      const isEarlier = group.members.has(text) && !own.has(text) && !this.#tokens[i].isType
        && this.#tokens[i].identifierRole === IdentifierRole.Access;
      if (isEarlier) this.#replace(i, `${param}.${text}`);
    }
    this.#replace(index, declared);
    // A member that is a text has no name by its value.
    this.#insertAfter(end - 1, `; if (typeof (${kept}) !== "string") ${param}[${member}] = ${key};`);
    return end;
  }

  #hasValues(open, close) {
    for (let i = open + 1; i < close; ++i) {
      const token = this.#tokens[i];
      if (token.isType || token.type === tt.semi) continue;
      const inner = token.type === tt._export ? i + 1 : i;
      if (this.#tokens[inner].isNamespace) {
        const begin = this.#bodyOf(inner);
        if (this.#hasValues(begin, this.#pairs.get(begin))) return true;
        i = this.#pairs.get(begin);
      } else if (this.#isAlias(i)) {
        i += 3;
        while (this.#tokens[i + 1].type === tt.dot) i += 2;
      } else {
        return true;
      }
    }
    return false;
  }
  // The index of the brace of a namespace's body.
  #bodyOf(keyword) {
    let at = keyword + 2;
    while (this.#tokens[at].type === tt.dot) at += 2;
    return at;
  }

  #namespace(keyword, isExported, container) {
    const open = this.#bodyOf(keyword);
    const close = this.#pairs.get(open);
    if (!this.#hasValues(open, close)) {
      const { start } = this.#tokens[keyword];
      const isInner = container.param !== null && isExported;
      this.#edits.push({ at: start, end: start, text: isInner ? "" : "declare " });
      if (isInner) for (let i = keyword; i <= close; ++i) this.#replace(i, "");
      return close;
    }
    let begun = this.#begin(keyword, keyword + 1, isExported, container);
    const ends = [begun.after];
    let inner = this.#containerOf(begun);
    const blocks = [{ group: begun.group, container: inner }];
    for (let dot = keyword + 2; dot < open; dot += 2) {
      this.#insertAfter(dot - 1, " {");
      begun = this.#begin(dot, dot + 1, true, inner);
      ends.unshift(`${begun.after}}`);
      inner = this.#containerOf(begun);
      blocks.push({ group: begun.group, container: inner });
    }
    const place = this.#edits.length;
    this.#walk(open + 1, close, inner);
    const { end } = this.#tokens[open];
    this.#edits.splice(place, 0, { at: end, end, text: this.#exportsCode(inner) });
    this.#insertAfter(close, ends.join(""));
    for (const { group, container: each } of blocks) group.blocks.push({ open, close, ...each });
    return close;
  }
  #containerOf({ group, param }) {
    return { id: group.id, param, exports: new Map(), written: new Set() };
  }
  // Functions are there at once. Variables and classes are what they are when they are asked for.
  #exportsCode({ param, exports }) {
    let functions = "";
    let accessors = "";
    for (const [name, kind] of exports) {
      if (kind === "function") {
        functions += ` ${param}.${name} = ${name};`;
      } else {
        const given = this.#freshName("value");
        const setter = kind === "let" ? `set(${given}) { ${name} = ${given}; }, ` : "";
        accessors += `${name}: { get: () => ${name}, ${setter}enumerable: true, configurable: true }, `;
      }
    }
    // `Object` may be a name of the namespace.
    return functions + (accessors === "" ? "" : ` ({}).constructor.defineProperties(${param}, { ${accessors}});`);
  }

  // In each block of a namespace, names that other blocks export become members.
  #joinBlocks({ blocks }, joined) {
    if (blocks.length < 2) return;
    for (const block of blocks) {
      const others = new Set(blocks.filter((each) => each !== block).flatMap((each) => [...each.exports.keys(), ...each.written]));
      const hidden = this.#declarationsWithin(block);
      for (let i = block.open + 1; i < block.close; ++i) {
        const token = this.#tokens[i];
        const name = this.#textOf(token);
        if (token.isType || token.type !== tt.name || !others.has(name) || !accesses.has(token.identifierRole)) continue;
        if (joined.has(i)) continue;
        if (hidden.some((each) => each.name === name && each.from <= i && i < each.to)) continue;
        joined.add(i);
        const member = `${block.param}.${name}`;
        this.#replace(i, token.identifierRole === IdentifierRole.ObjectShorthand ? `${name}: ${member}` : member);
      }
    }
  }
  // The names that the block declares itself, and where each is in force.
  #declarationsWithin({ open, close }) {
    const found = [];
    for (let i = open + 1; i < close; ++i) {
      const token = this.#tokens[i];
      if (token.isType || !isDeclaration(token)) continue;
      const scope = this.#scopeOf(i, isFunctionScopedDeclaration(token));
      const { startTokenIndex, endTokenIndex } = this.#scopes[scope];
      found.push({ name: this.#textOf(token), from: startTokenIndex, to: endTokenIndex });
    }
    return found;
  }
}

// What to say of a source that the parser refuses at a place.
export function refusalOf(source, error, parseElements) {
  const lines = source.split("\n").slice(0, error.loc.line - 1);
  const at = lines.reduce((sum, each) => sum + each.length + 1, 0) + error.loc.column - 1;
  if (source[at] === "@") return refused(source, at, noDecorators);
  let tokens;
  try {
    ({ tokens } = parseElements());
  } catch {
    return error;
  }
  const element = tokens.find(({ type }) => type === tt.jsxTagStart);
  if (element === undefined) return error;
  return refused(source, element.start, "JSX is not supported: a script has no elements to make");
}

// `file` is what the parser made of the source.
export function withoutTypeScriptValues(source, file) {
  return new Lowering(source, file).text();
}
