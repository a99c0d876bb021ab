// Tests of the config.json of a Hugging Face model.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/options.hpp"
#include "models/attention/kinds.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {

// The activations of GPT-2 and MarianMT, and the name under which each is written.
inline const std::vector<std::pair<FeedForwardKind, std::string>> kWrittenActivations = {
    {FeedForwardKind::relu, "relu"},
    {FeedForwardKind::swish, "swish"},
    {FeedForwardKind::gelu, "gelu"},
    {FeedForwardKind::gelu_tanh, "gelu_new"}};

// Sets an option that is given as messages name it: "norm = pre".
template <class Options>
void set_form(Options& options, const std::string& form) {
  const std::size_t equals = form.find(" = ");
  BoundOptions bound = bind(options);
  OptionOrigins origins;
  apply_words(bound, form.substr(0, equals), {form.substr(equals + 3)}, origins);
}

// kRead: the function that reads the file.
template <auto kRead>
class HfConfigTest : public testing::Test {
 protected:
  auto read(const nlohmann::json& json) const {
    write_file_atomic(directory_ / "config.json", json.dump());
    return kRead(directory_ / "config.json");
  }
  // The error for a file that is refused; else empty.
  std::string refusal(const nlohmann::json& json) const {
    return user_error_of([&] { read(json); });
  }
  // Each of these values is refused, naming its field, in a file that is otherwise `usual`.
  void expect_refused(const nlohmann::json& usual,
                      const std::vector<std::pair<std::string, nlohmann::json>>& values) const {
    for (const auto& [key, value] : values) {
      nlohmann::json json = usual;
      json[key] = value;
      const std::string said = refusal(json);
      EXPECT_NE(said.find("\"" + key + "\""), std::string::npos) << key << " = " << value << ": " << said;
    }
    EXPECT_NE(refusal(nlohmann::json::array()), "");
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace attend
