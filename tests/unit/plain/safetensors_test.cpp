// safetensors: what is written reads back, and every way in which a file can lie is refused.
#include "core/safetensors.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstring>

#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string with_length(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(data);
}

TEST(Safetensors, ReadsBackWhatWasWrittenAlignedToItsType) {
  const TemporaryDirectory directory;
  const std::vector<double> wide = {1.5, -2};
  const std::vector<TensorView> tensors = {
      {"flags", DType::boolean, {3}, bytes_of_text(std::string_view("\1\0\1", 3))},
      {"wide", DType::f64, {2, 1}, std::as_bytes(std::span(wide))},
      {"scalar \"quoted\"", DType::bf16, {}, bytes_of_text("ab")},
      {"empty", DType::f32, {0, 7}, {}},
  };
  write_safetensors(directory / "a", tensors, {{"format", "pt"}});
  const SafetensorsFile file(directory / "a");
  EXPECT_EQ(file.metadata(), (TensorMetadata{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const TensorView& tensor : tensors) {
    const TensorView* read = file.find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, tensor.bytes)) << tensor.name;
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(read->bytes.data()) % bytes_of(tensor.dtype), 0) << tensor.name;
  }
  EXPECT_EQ(file.find("other"), nullptr);
}

TEST(Safetensors, EveryLieIsRefusedByName) {
  const TemporaryDirectory directory;
  const auto complaint = [&](const std::string& content) {
    const std::string file = directory.write("a", content);
    return without_place(user_error_of([&] { SafetensorsFile{file}; }), file + ": ");
  };
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return R"({"x":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) + R"(,"data_offsets":)" +
           std::string(offsets) + "}}";
  };
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,4]") + "   ", "abcd")), "");
  EXPECT_EQ(complaint(with_length("{}", "")), "");

  EXPECT_EQ(complaint(""), "the file has only 0 bytes");
  EXPECT_EQ(complaint(std::string(8, '\xff')), "a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_EQ(complaint(std::string("\3\0\0\0\0\0\0\0{}", 10)), "a header of 3 bytes in a file of 10");
  EXPECT_EQ(complaint(with_length(" {}", "")), "the header is not a JSON object");
  EXPECT_EQ(complaint(with_length("{\"a\":}", "")), "not valid JSON at byte 6");
  EXPECT_EQ(complaint(with_length("{\"\xff\":{}}", "")), "not valid JSON at byte 3");
  EXPECT_EQ(complaint(with_length(R"({"x":[[[[1]]]]})", "")), "nested deeper than 3 levels");
  const std::string braced = one("U8", "[1]", "[0,1]");
  const std::string x = braced.substr(1, braced.size() - 2);
  EXPECT_EQ(complaint(with_length("{" + x + "," + x + "}", "a")), "duplicate key \"x\" in one object");
  EXPECT_EQ(complaint(with_length(R"({"x":{"dtype":"U8"}})", "")),
            "tensor \"x\": expected exactly dtype, shape and data_offsets");
  EXPECT_EQ(complaint(with_length(one("F99", "[1]", "[0,4]"), "abcd")), "tensor \"x\": unknown dtype \"F99\"");
  for (const std::string_view shape : {"[-1]", "[1.0]", "1", "[18446744073709551615]", "[\"1\"]", "[null]"}) {
    EXPECT_EQ(complaint(with_length(one("F32", shape, "[0,4]"), "abcd")),
              "tensor \"x\": the shape must be at most 64 non-negative integers");
  }
  for (const std::string_view offsets : {"[0]", "[0,4,4]", "[-1,4]", "{}", "[0,4.0]"}) {
    EXPECT_EQ(complaint(with_length(one("F32", "[1]", offsets), "abcd")),
              "tensor \"x\": data_offsets must be two non-negative integers");
  }
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,8]"), "abcd")), "tensor \"x\": bytes 0 to 8 of 4");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[4,0]"), "abcd")), "tensor \"x\": bytes 4 to 0 of 4");
  EXPECT_EQ(complaint(with_length(one("F32", "[2]", "[0,4]"), "abcd")),
            "tensor \"x\": shape [2] of F32 does not match its 4 bytes");
  EXPECT_EQ(complaint(with_length(one("F32", "[4611686018427387904,4]", "[0,0]"), "")),
            "tensor \"x\": shape [4611686018427387904,4] of F32 does not match its 0 bytes");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[1,5]"), "abcde")), "a hole or an overlap before tensor \"x\"");
  EXPECT_EQ(complaint(with_length(one("F32", "[1]", "[0,4]"), "abcde")), "bytes after the last tensor");
  EXPECT_EQ(complaint(with_length("{" + x + R"(,"y":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab")),
            "a hole or an overlap before tensor \"y\"");
  EXPECT_EQ(complaint(with_length(R"({"__metadata__":{"a":1}})", "")), "__metadata__ holds something other than text");
  EXPECT_EQ(complaint(with_length(R"({"__metadata__":1})", "")), "__metadata__ is not an object");
}

RC_GTEST_PROP(SafetensorsProperty, AnyTensorsReadBack, ()) {
  const TemporaryDirectory directory;
  const auto names =
      *rc::gen::unique<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::inRange('!', '~')));
  std::vector<std::string> contents(names.size());
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto dtype = static_cast<DType>(*rc::gen::inRange(0, 15));
    const auto shape =
        *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange(0, 4), rc::gen::inRange<std::int64_t>(0, 5));
    std::size_t size = bytes_of(dtype);
    for (const std::int64_t length : shape) size *= static_cast<std::size_t>(length);
    contents[i].assign(size, static_cast<char>(i));
    tensors.push_back({names[i], dtype, shape, bytes_of_text(contents[i])});
  }
  write_safetensors(directory / "a", tensors);
  const SafetensorsFile file(directory / "a");
  RC_ASSERT(file.tensors().size() == tensors.size());
  for (const TensorView& tensor : tensors) {
    const TensorView* read = file.find(tensor.name);
    RC_ASSERT(read != nullptr);
    RC_ASSERT(read->dtype == tensor.dtype);
    RC_ASSERT(read->shape == tensor.shape);
    RC_ASSERT(std::ranges::equal(read->bytes, tensor.bytes));
  }
}

}  // namespace
}  // namespace attend
