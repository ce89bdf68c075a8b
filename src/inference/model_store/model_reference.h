#pragma once
// ModelReference: a model on a hub, as a user names it.
//
//   hf:USER/REPO                  the repository; one of its files is chosen (hub_choice.h)
//   hf:USER/REPO:QUANT            the GGUF file with this quantization, as in Q4_K_M
//   hf:USER/REPO/FOLDER/FILE      this file
//   hf:USER/REPO@REVISION         a branch, tag or commit, before ":" or "/"; "main" if it is not given
//
// "hf.co/" and "huggingface.co/", with or without "https://" before them, stand for "hf:". Addresses of
// pages are taken as well: USER/REPO/blob/REVISION/FILE, and the same with resolve and tree.
//
// Thread   any; a value.
// Errors   InvalidArgument says which part of the reference is wrong, and what it may be.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::inference {

struct ModelReference {
  std::string repository;  // USER/REPO.
  std::string revision = "main";
  std::string quant = {};  // Empty: the default one. In the letters of the user.
  std::string file = {};   // The path in the repository. Empty: chosen by the quantization.

  // Whether `text` means a hub, even if the reference is wrong.
  static bool names_hub(std::string_view text);
  static Result<ModelReference> parse(const std::string& text);

  std::string text() const;  // With "hf:". parse() gives the same reference back.
};

}  // namespace quire::inference
