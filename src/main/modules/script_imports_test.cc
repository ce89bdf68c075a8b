#include "main/modules/script_imports.h"

#include <gtest/gtest.h>

#include <string>

namespace quire::modules {
namespace {

std::string found(std::string_view source) {
  std::string text;
  for (const ScriptImport& each : local_imports(source)) {
    constexpr const char* kKinds[] = {"", "type ", "call "};
    text += (text.empty() ? "" : "; ") + std::string(kKinds[static_cast<int>(each.kind)]) +
            std::string(each.specifier) + ":" + std::to_string(each.line);
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

TEST(ScriptImports, EndsOnWhatIsCutShort) {
  for (const char* text :
       {"import '", "import \"./a", "`${", "/[", "/*", "//", "'\\", "`\\", "}"}) {
    (void)local_imports(text);
  }
  EXPECT_EQ(found("import './a.js"), "./a.js:1");
}

}  // namespace
}  // namespace quire::modules
