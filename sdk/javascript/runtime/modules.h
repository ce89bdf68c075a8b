#pragma once
// Modules: what the engine asks for the sources of modules.
#include <string>
#include <string_view>

#include "quire/quire.h"

namespace quire::javascript {

// The interface that finds the sources of modules.
class Modules {
 public:
  virtual ~Modules() = default;
  // The full name of the module that `name` is in a module called `base`, or an Error.
  virtual Result<std::string> resolve(std::string_view base, std::string_view name) const = 0;
  // Null if there is none of that full name.
  virtual const std::string* source(const std::string& name) const = 0;
  // Whether that is the first module of the script.
  virtual bool is_entry(std::string_view name) const = 0;
  // What Engine::byte_code() gave for its source; null if there is none, and the source is read.
  virtual const std::string* byte_code(const std::string&) const { return nullptr; }
};

}  // namespace quire::javascript
