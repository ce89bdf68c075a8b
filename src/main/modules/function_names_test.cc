#include "main/modules/function_names.h"

#include <gtest/gtest.h>

#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

TEST(FunctionNames, AreWithoutParametersAndTemplateArguments) {
  const std::pair<const char*, const char*> cases[] = {
      {"run", "run"},
      {"__wasm_call_ctors", "__wasm_call_ctors"},
      {"_ZN5quire9Generator4nextEv.resume", "quire::Generator::next"},
      {"_ZN5quire9Generator4nextEv.destroy", "quire::Generator::next (destroy)"},
      {"_ZN5quire9Generator4nextEv.cleanup", "quire::Generator::next (destroy)"},
      // quire::Context::append_text(std::__2::basic_string<char, ...>)
      {"_ZN5quire7Context11append_textENSt3__212basic_stringIcNS1_11char_traitsIcEENS1_"
       "9allocatorIcEEEE",
       "quire::Context::append_text"},
      // (anonymous namespace)::program(int) const
      {"_ZNK12_GLOBAL__N_17programEi", "program"},
      // void std::__2::sort[abi:x]<int*>(int*, int*)
      {"_ZNSt3__24sortB1xIPiEEvT_S2_", "std::sort"},
      // std::__2::vector<int>::operator[](unsigned long) const
      {"_ZNKSt3__26vectorIiNS_9allocatorIiEEEixEm", "std::vector::operator[]"},
      {"_ZlsRSoi", "operator<<"},
      {"_ZN1AcvbEv", "A::operator bool"},
      {"_ZNK1AclEi", "A::operator()"},
      {"_ZN1AssERKS_", "A::operator<=>"},
      {"_ZN1AptEv", "A::operator->"},
      {"_Znwm", "operator new"},
      {"_ZdaPv", "operator delete[]"},
      // f(int)::{lambda(int)#1}::operator()(int) const
      {"_ZZ1fiENKUliE_clEi", "f::lambda::operator()"},
      // A::g() &&::{lambda()#1}::operator()() const
      {"_ZZNO1A1gEvENKUlvE_clEv", "A::g::lambda::operator()"},
      // As wasm-ld writes them.
      {"quire::Generator::next() (.resume)", "quire::Generator::next"},
      {"quire::Generator::next() (.cleanup)", "quire::Generator::next (destroy)"},
      {"program(Options) (.resume)", "program"},
      {"(anonymous namespace)::program(Options)", "program"},
      {"void std::__2::sort[abi:x]<int*, quire::f(int)::'lambda'(int, int)&>(int*, int*)",
       "std::sort"},
      {"quire::Generator::collect() &&::'lambda'(std::__2::string_view)::operator()(int) const",
       "quire::Generator::collect::lambda::operator()"},
      {"auto quire::f<int (*)(char)>(int (*)(char)) (.destroy)", "quire::f (destroy)"},
      {"quire::A::operator bool() const", "quire::A::operator bool"},
      {"operator new(unsigned long)", "operator new"},
      {"void std::__2::__variant_detail::__base<true>::__dispatch<0>(int)", "std::__dispatch"},
      {"std::__2::__optional_base<int>::~__optional_base()", "std::~__optional_base"},
      {"_Znonsense", "_Znonsense"},
      {"", ""},
  };
  for (const auto& [symbol, name] : cases) EXPECT_EQ(readable_name(symbol), name) << symbol;
}

TEST(FunctionNames, OfAnyLengthAreShort) {
  EXPECT_EQ(readable_name(std::string(200, 'a')), std::string(93, 'a') + "...");
  EXPECT_EQ(readable_name("_Z" + std::to_string(1000) + std::string(1000, 'b') + "v").size(),
            kReadableNameBytesMax);
  EXPECT_EQ(readable_name("_ZN" + std::string(100'000, 'S')).size(), kReadableNameBytesMax);
  std::string characters;  // Of two bytes each: none is cut in two.
  for (int i = 0; i < 100; ++i) characters += "é";
  EXPECT_EQ(readable_name(characters), characters.substr(0, 92) + "...");
}

TEST(FunctionNames, ASectionKeepsThoseOfFunctionsAlone) {
  // Subsection 0 names the module, 1 the functions, 7 the globals.
  const std::string symbol = "_ZN5quire9Generator4nextEv.resume";
  std::string functions;
  append_count(functions, 2);
  append_count(functions, 5);
  append_name(functions, symbol);
  append_count(functions, 300);
  append_name(functions, "run");
  std::string content = std::string("\x00\x02\x01m", 4) + "\x01";
  append_name(content, functions);
  content += std::string("\x07\x03\x01\x00\x00", 5);
  std::string expected_functions;
  append_count(expected_functions, 2);
  append_count(expected_functions, 5);
  append_name(expected_functions, "quire::Generator::next");
  append_count(expected_functions, 300);
  append_name(expected_functions, "run");
  std::string expected = "\x01";
  append_name(expected, expected_functions);
  const Result<std::string> names = readable_names(content);
  ASSERT_TRUE(names.ok()) << names.error().message();
  EXPECT_EQ(names.value(), expected);
  EXPECT_EQ(readable_names(names.value()).value(), expected) << "a second time changes nothing";
}

TEST(FunctionNames, ASectionThatIsCutShortIsAnError) {
  for (const std::string& content :
       {std::string("\x01"), std::string("\x01\x09\x01"), std::string("\x01\x02\x01\x00", 4),
        std::string("\x01\x03\x01\x00\x05", 5), std::string("\x01\x05\xff\xff\xff\xff\x0f")}) {
    EXPECT_EQ(readable_names(content).error().code(), ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace quire::modules
