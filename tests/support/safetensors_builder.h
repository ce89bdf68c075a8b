#pragma once
// Writes safetensors files for tests, well-formed or not.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace quire::test {

struct SafetensorsPart {
  std::string name;
  std::string dtype = "F32";
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
};

inline std::string safetensors_with_header(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + data;
}

inline std::string build_safetensors(const std::vector<SafetensorsPart>& parts) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::string data;
  for (const SafetensorsPart& part : parts) {
    header += ",\"" + part.name + "\":{\"dtype\":\"" + part.dtype + "\",\"shape\":[";
    for (const std::uint64_t each : part.shape) header += std::to_string(each) + ",";
    if (!part.shape.empty()) header.pop_back();
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    for (std::uint64_t index = 0; index < part.bytes; ++index) {
      data += static_cast<char>(data.size() % 61);
    }
    header += std::to_string(data.size()) + "]}";
  }
  return safetensors_with_header(header + "}", data);
}

}  // namespace quire::test
