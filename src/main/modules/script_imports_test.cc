#include "main/modules/script_imports.h"

#include <gtest/gtest.h>

#include <string>

namespace quire::modules {
namespace {

// The specifiers with their lines, and the names that are imported from them.
std::string found(std::string_view source) {
  std::string text;
  for (const script::Import& each : local_imports(source)) {
    constexpr const char* kKinds[] = {"", "type ", "call "};
    text += (text.empty() ? "" : "; ") + std::string(kKinds[static_cast<int>(each.kind)]) +
            std::string(each.specifier) + ":" + std::to_string(each.line);
  }
  return text;
}

std::string names(std::string_view source) {
  std::string text;
  for (const script::Import& each : script::imports_of(source)) {
    for (const script::ImportedName& name : each.names) {
      text += (text.empty() ? "" : " ") + std::string(name.name) + ":" + std::to_string(name.line);
    }
  }
  return text;
}

TEST(ScriptImports, FindsEveryFormOfAnImport) {
  EXPECT_EQ(found("import a from './a.js';"), "./a.js:1");
  EXPECT_EQ(found("import { a,\n  b as c } from \"./a.ts\"\nimport * as x from '../x.ts'"),
            "./a.ts:2; ../x.ts:3");
  EXPECT_EQ(found("import './effect.js'; export * from './b.js'; export { c } from './c.js'"),
            "./effect.js:1; ./b.js:1; ./c.js:1");
  EXPECT_EQ(found("const m = await import('./later.js');"), "call ./later.js:1");
  EXPECT_EQ(found("import data from './d.json' with { type: 'json' };"), "./d.json:1");
  EXPECT_EQ(found("import{a}from'./a.js'"), "./a.js:1");
}

TEST(ScriptImports, KnowsThoseOfTypesAlone) {
  EXPECT_EQ(found("import type { A } from './a.ts'; import b from './b.ts';"),
            "type ./a.ts:1; ./b.ts:1");
  EXPECT_EQ(found("export type { A } from './a.ts'"), "type ./a.ts:1");
  EXPECT_EQ(found("import type from './type.ts'"), "./type.ts:1");
  EXPECT_EQ(found("import type, { a } from './type.ts'"), "./type.ts:1");
}

TEST(ScriptImports, KnowsAnImportWhoseNamesAreAllTypes) {
  EXPECT_EQ(found("import { type A } from './a'"), "type ./a:1");
  EXPECT_EQ(found("import { type A, type B as C, } from './a'"), "type ./a:1");
  EXPECT_EQ(found("import { type A, b } from './a'"), "./a:1");
  EXPECT_EQ(found("import d, { type A } from './a'"), "./a:1");
  EXPECT_EQ(found("import { type } from './a'"), "./a:1");
  EXPECT_EQ(found("import { type as b } from './a'"), "./a:1");
  EXPECT_EQ(found("import { type as as b } from './a'"), "type ./a:1");
  EXPECT_EQ(found("import { type as } from './a'"), "type ./a:1");
  EXPECT_EQ(found("import type from from './a'"), "type ./a:1");
  EXPECT_EQ(found("import type * as t from './a'"), "type ./a:1");
  EXPECT_EQ(found("export { type A } from './a'"), "type ./a:1");
  EXPECT_EQ(found("export type * from './a'; export type * as t from './b'"),
            "type ./a:1; type ./b:1");
  EXPECT_EQ(found("import {} from './a'; export {} from './b'"), "./a:1; ./b:1");
}

TEST(ScriptImports, KnowsTheNamesThatAreImported) {
  EXPECT_EQ(names("import a, { b as c,\n type D, 'e f' as g } from 'x'; import * as h from 'y'"),
            "default:1 b:1 e f:2");
  EXPECT_EQ(names("export { i, default as j } from 'z'; export * from 'q'; import 'r'"),
            "i:1 default:1");
}

TEST(ScriptImports, FindsAnImportAfterABlankOfUnicodeAndBetweenComments) {
  EXPECT_EQ(found("\xef\xbb\xbfimport './a.js'"), "./a.js:1");
  EXPECT_EQ(found("\xef\xbb\xbf#!/usr/bin/env quire 'x\r\nimport './a.js'"), "./a.js:2");
  EXPECT_EQ(found("import\xc2\xa0'./a.js'\xe2\x80\xa8"), "./a.js:1");
  EXPECT_EQ(found("// a\r\n/* b\r\n */import/**/{a}/* ' */from// \"\r\n'./a.js'"), "./a.js:4");
  EXPECT_EQ(found("// a\rimport './a.js'"), "./a.js:2");
}

TEST(ScriptImports, FollowsACallOfImportWithATextAlone) {
  EXPECT_EQ(found("import(`./a.js`); import('./b.js', { with: { type: 'json' } })"),
            "call ./a.js:1; call ./b.js:1");
  EXPECT_EQ(found("import('./a' + x); import(`./${x}.js`); import.meta.url; x = import.meta"), "");
}

TEST(ScriptImports, LeavesPackagesAlone) {
  EXPECT_EQ(found("import { Context } from 'quire'; import x from 'https://a/b.js';"), "");
}

TEST(ScriptImports, IsNotMisledByTextsCommentsAndExpressions) {
  EXPECT_EQ(found("// import a from './a.js'\n/* import './b.js'\n */ import './c.js'"),
            "./c.js:3");
  EXPECT_EQ(found("const s = \"import './a.js'\"; const from = './b.js'; f('./c.js');"), "");
  EXPECT_EQ(found("const t = `import './a.js' ${g(`x ${'./y'} `)} from './b.js'`; import './z.js'"),
            "./z.js:1");
  EXPECT_EQ(found("const r = /from '/; import './a.js'; const q = a / b; import './b.js' // '"),
            "./a.js:1; ./b.js:1");
  EXPECT_EQ(found("const r = x.replace(/[/'\"]/g, ''); import './a.js'"), "./a.js:1");
  EXPECT_EQ(found("x.import('./a.js'); x.from ('./b.js'); Array.from './c.js'"), "");
  EXPECT_EQ(found("#!/usr/bin/env -S quire run 'x\nimport './a.js'"), "./a.js:2");
}

// After each text an import is found, so that no quote, slash or backtick in it hid the rest.
TEST(ScriptImports, KnowsWhereASlashBeginsARegularExpression) {
  for (const std::string text : {
           "if (a) /`/.test(b);",
           "while (a) /'/.exec(b);",
           "for (const x of /[`]/y[Symbol.split](s)) ;",
           "for await (const x of /`/.y) ;",
           "if (a) {}\n/`/.test(b);",
           "function f() {}\n/`/.test(b);",
           "class A { m() {} }\n/`/.test(b);",
           "label: {}\n/`/.test(b);",
           "switch (a) { case 1: {} /`/.test(b); default: {} /'/.test(b); }",
           "const f = () => {}\n/`/.test(b);",
           "const f = () => /`/;",
           "else /`/.test(b);",
           "x = a ? /`/ : /'/;",
           "x = [/`/, /[/`]/, /\\/`/];",
           "x = { a: /`/, return: /'/ };",
           "return /`/; typeof /`/; await /`/; yield /`/; throw /`/;",
           "x = !/`/.test(a); x = a && /`/.test(b);",
           "x = `${/`/.test(a)}`;",
       }) {
    EXPECT_EQ(found(text + "\nimport './z.js'").substr(0, 6), "./z.js") << text;
  }
}

TEST(ScriptImports, KnowsWhereASlashDivides) {
  for (const std::string text : {
           "x = a / b; y = '/';",
           "x = f(a) / b; y = '/`';",
           "x = a[0] / b; y = '/`';",
           "x = { a: 1 } / b; y = '/`';",
           "x = (function () {} / b); y = '/`';",
           "x = (class {} / b); y = '/`';",
           "x = i++ / 2; y = '/`'; x = i-- / 2; y = '/`';",
           "x = a! / 2; y = '/`'; x = a![0]! / 2; y = '/`';",
           "x = a.return / 2; y = '/`'; x = a?.typeof / 2; y = '/`';",
           "x = 1. / 2; y = '/`'; x = .5 / 2; y = '/`'; x = 1e3 / 2; y = '/`';",
           "x = `a` / 2; y = '/`'; x = 'a' / 2; y = '/`';",
           "x = `${a}${{}}` / 2; y = '/`';",
           "x = this / 2; y = '/`'; x = of / 2; y = '/`';",
           "x = a ? { b: 1 } / 2 : { c: 2 } / 3; y = '/`';",
           "x = #p in a / 2; y = '/`';",
       }) {
    EXPECT_EQ(found(text + "\nimport './z.js'"), "./z.js:2") << text;
  }
}

TEST(ScriptImports, EndsOnWhatIsCutShort) {
  for (const char* text :
       {"import '", "import \"./a", "`${", "/[", "/*", "//", "'\\", "`\\", "}"}) {
    (void)local_imports(text);
  }
  EXPECT_EQ(found("import './a.js"), "./a.js:1");
}

}  // namespace
}  // namespace quire::modules
